/** Every text that a model reads only over MCP. Pure. */

export const mcpTexts = {
  instructions:
    "Plimsoll keeps conversations inside their model's window, and stores everything that it moves out. Use read_result to read a handle (pl_…) or a message number (#12) from the conversation, recall to search everything that was said, session_status to see how full the window is, and compact_context to make room. Plimsoll also keeps tasks and questions to people. Use reportTaskStatus to say what you work on and how far you are, askQuestion if you cannot go on without a person, createTicket for requests that you need not wait for, and listTasks and getTask to see what there is to do.",
  stillWorking: "Still working on it.",
  sessionStatus:
    "Describes a conversation: its model, how many tokens of the limit are used and by what, the edits in force, the handles of content that left the window, and the last compaction.",
  session: "The id of the session (ses_…). Default: the newest session.",
  severalSessions:
    "Several conversations are recorded under this token. Say in `session` which one you mean: each answer of the proxy names it in the header x-plimsoll-session.",
  noSession: "No session is recorded yet. Point an agent at Plimsoll first.",
  unknownSession: "There is no such session. Leave `session` out to get the newest one.",
} as const;

/** What MCP clients read about tasks, tickets and questions. */
export const workTexts = {
  reportTaskStatus:
    "Says what you work on and how far you are. People and other agents see it. Without `taskId`, it creates a task with your `title` and `status`; use the taskId of the answer in your next reports. Report in_progress when you begin, done when you have finished, partial if a part is missing, and failed if you give up. verified means that somebody has checked a finished task.",
  taskId: "The id of the task, such as T-3.",
  newTitle: "One line that says what the new task is about. Only without `taskId`.",
  status: "The new status of the task.",
  progress: "How much is done, in percent.",
  note: "What there is to say about it, in one or two sentences.",
  createTicket:
    "Creates a ticket: a request to a person or to another agent, for which you do not wait. If you cannot go on without an answer, use askQuestion instead.",
  ticketType:
    "question: somebody has to answer. investigation: somebody has to find out something. issue: something is wrong.",
  ticketTitle: "One line that says what the ticket is about.",
  description: "Everything that whoever works on it must know.",
  taskOfTicket: "The id of the task to which the ticket belongs.",
  assignee: "Who has to act: user, or the name of an agent. Default: user.",
  askQuestion:
    "Asks the user a question, and waits for the answer. Use it only if you cannot go on without the answer. If nobody answers in time, the question stays open, and you can look again later with `ticket`.",
  waitsForPeople:
    "A question waits for an answer. `plimsoll tickets --status open` shows it, and `plimsoll tickets answer` answers it.",
  question: "The question, in one line that a person understands without the conversation.",
  details: "More about the question: what you tried, and which choices there are.",
  taskOfQuestion: "The id of the task that cannot go on without an answer.",
  ticket: "The id of a question that you asked before, such as TK-3. Then nothing is asked again.",
  listTasks: "Lists the tasks, newest first. getTask shows one of them in full.",
  onlyStatus: "Only tasks with this status.",
  limit: "Maximum number of tasks. Default: 20.",
  after: "The `next` of the previous answer, for the tasks after those.",
  getTask: "Shows a task: its description, its status, and what the last report said.",
  answered: (ticket: string, { by, text }: { readonly by: string; readonly text: string }) =>
    `${by} answered ${ticket}: ${text}`,
  resolved: (ticket: string) =>
    `Somebody closed ${ticket} without an answer. Decide yourself, or ask in other words.`,
  waiting: (ticket: string, task: string | undefined) =>
    `Nobody has answered yet. Your question is ${ticket}, and it stays open.${task === undefined ? "" : ` ${task} is blocked until somebody answers.`} Go on with other work if there is any. To look again, call askQuestion with {"ticket": "${ticket}"}.`,
  taskOrTitle: "Say in `taskId` which task you mean, or give a `title` to create a task.",
  noTask: "Say in `taskId` which task you mean. listTasks lists them.",
  noQuestion: "Write your `question`, or give the `ticket` of a question that you asked before.",
  notText: (name: string) => `\`${name}\` must be text.`,
  notANumber: (name: string) => `\`${name}\` must be a number.`,
  oneOf: (name: string, words: readonly string[]) =>
    `\`${name}\` must be one of ${words.join(", ")}.`,
} as const;
