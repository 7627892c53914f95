/** The commands `plimsoll tasks` and `plimsoll tickets`, and what each of them accepts. */

import { type Command, InvalidArgumentError } from "commander";
import { taskStatuses } from "../work/task.ts";
import { ticketStatuses, ticketTypes } from "../work/ticket.ts";
import type { AddFlags, ListFlags, ReportFlags, ShowFlags } from "./commands/tasks.ts";
import type { AddTicketFlags } from "./commands/tickets.ts";
import { countOf, example, withData } from "./options.ts";

const loadTasks = () => import("./commands/tasks.ts");
const loadTickets = () => import("./commands/tickets.ts");

/** A reader for an option that accepts only these words. */
function oneOf<T extends string>(words: readonly T[]): (text: string) => T {
  return (text) => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`give one of ${words.join(", ")}.`);
  };
}

function percentOf(text: string): number {
  const percent = text.trim() === "" ? Number.NaN : Number(text.replace(/ ?%$/, ""));
  if (percent >= 0 && percent <= 100) return percent;
  throw new InvalidArgumentError("give a percentage, from 0 to 100.");
}

function priorityOf(text: string): 1 | 2 | 3 {
  const found = ([1, 2, 3] as const).find((priority) => String(priority) === text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError("give 1, 2 or 3.");
}

function printing(command: Command): Command {
  return withData(command).option("--json", "as JSON");
}

export function addTasks(root: Command): void {
  const tasks = example(printing(root.command("tasks")), "plimsoll tasks --status in_progress")
    .description("list the tasks that agents and people work on, newest first")
    .option("--status <status>", taskStatuses.join(", "), oneOf(taskStatuses))
    .option("--limit <n>", "maximum number of tasks", countOf, 100)
    .action(async (flags: ListFlags<(typeof taskStatuses)[number]>) =>
      (await loadTasks()).runTasks(flags),
    );

  example(printing(tasks.command("show")), "plimsoll tasks show T-3")
    .description("show a task with everything that was said about it")
    .argument("<task>", "its id: T-3, or only 3")
    .action(async (id: string, flags: ShowFlags) => (await loadTasks()).showTask(id, flags));

  example(printing(tasks.command("add")), 'plimsoll tasks add "Grease the crane" --priority 1')
    .description("add a task")
    .argument("<title>", "one line that says what it is about")
    .option("--description <text>", "everything that whoever works on it must know")
    .option("--priority <n>", "1 (highest), 2 or 3 (default: 2)", priorityOf)
    .option("--parent <task>", "the task that this one continues or belongs to")
    .action(async (title: string, flags: AddFlags) => (await loadTasks()).addTask(title, flags));

  example(printing(tasks.command("report")), "plimsoll tasks report T-3 in_progress --progress 40")
    .description("report on a task: its status, and how far it is")
    .argument("<task>", "its id: T-3, or only 3")
    .argument("<status>", taskStatuses.join(", "), oneOf(taskStatuses))
    .option("--note <text>", "what there is to say about it")
    .option("--progress <percent>", "how much is done, from 0 to 100", percentOf)
    .action(async (id: string, status: (typeof taskStatuses)[number], flags: ReportFlags) =>
      (await loadTasks()).reportTask(id, status, flags),
    );
}

export function addTickets(root: Command): void {
  const tickets = example(printing(root.command("tickets")), "plimsoll tickets --status open")
    .description("list the questions and other requests of agents, newest first")
    .option("--status <status>", ticketStatuses.join(", "), oneOf(ticketStatuses))
    .option("--limit <n>", "maximum number of tickets", countOf, 100)
    .action(async (flags: ListFlags<(typeof ticketStatuses)[number]>) =>
      (await loadTickets()).runTickets(flags),
    );

  example(printing(tickets.command("show")), "plimsoll tickets show TK-3")
    .description("show a ticket with its answers")
    .argument("<ticket>", "its id: TK-3, or only 3")
    .action(async (id: string, flags: ShowFlags) => (await loadTickets()).showTicket(id, flags));

  example(printing(tickets.command("add")), 'plimsoll tickets add "The crane rusts" --task T-3')
    .description("add a ticket")
    .argument("<title>", "one line that says what it is about")
    .option("--type <type>", `${ticketTypes.join(", ")} (default: issue)`, oneOf(ticketTypes))
    .option("--description <text>", "everything that whoever works on it must know")
    .option("--task <task>", "the task to which it belongs")
    .option("--assignee <name>", "who has to act: user, or the name of an agent (default: user)")
    .action(async (title: string, flags: AddTicketFlags) =>
      (await loadTickets()).addTicket(title, flags),
    );

  example(printing(tickets.command("answer")), 'plimsoll tickets answer TK-3 "Use port 8080."')
    .description("answer a ticket; an agent that waits for the answer gets it within a second")
    .argument("<ticket>", "its id: TK-3, or only 3")
    .argument("<text>", "the answer")
    .action(async (id: string, text: string, flags: ShowFlags) =>
      (await loadTickets()).answerTicket(id, text, flags),
    );

  example(printing(tickets.command("resolve")), "plimsoll tickets resolve TK-3")
    .description("resolve a ticket without an answer")
    .argument("<ticket>", "its id: TK-3, or only 3")
    .action(async (id: string, flags: ShowFlags) => (await loadTickets()).resolveTicket(id, flags));
}
