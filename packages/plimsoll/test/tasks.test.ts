/**
 * Tasks and tickets of a running service, as agents (MCP), people (the command line) and programs (HTTP, the library) use them:
 * no change is lost, nobody sees what belongs to others, and an answer reaches whoever waits for it.
 */

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { openPlimsoll } from "plimsoll";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import { effort, seedOr } from "./harness/effort.ts";
import type { JsonObject } from "./harness/json.ts";
import { connectMcp, GENERATIONS, type McpClient, PROGRAM } from "./harness/mcp-clients.ts";
import { figure } from "./harness/metrics-page.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { makeDataFolder, OWNER_TOKEN, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { eventually, within } from "./harness/waiting.ts";

const TOKENS = {
  alice: "plimsoll-test-token-of-alice-0123456789abcd",
  bob: "plimsoll-test-token-of-bob-0123456789abcdef",
};
/** Longer than any test, so that a question ends only by its answer, or when its client leaves. */
const PATIENT = { max_attempts: 2, backoff_base_seconds: 300, max_delay_seconds: 300 };

/** Which status may follow which, as the decision page says it. */
const FOLLOWING: Readonly<Record<string, readonly string[]>> = {
  pending: ["in_progress", "partial", "blocked_awaiting_feedback", "done", "failed"],
  in_progress: ["pending", "partial", "blocked_awaiting_feedback", "done", "failed"],
  partial: ["in_progress", "blocked_awaiting_feedback", "done", "verified", "failed"],
  blocked_awaiting_feedback: ["pending", "in_progress", "partial", "done", "failed"],
  done: ["in_progress", "verified", "failed"],
  verified: [],
  failed: ["pending", "in_progress"],
};

let service: Service;
let upstream: Upstream;
/** Resolved when the model may answer. Until then, its turn runs. */
const mayAnswer = Promise.withResolvers<void>();

beforeAll(async () => {
  upstream = await startUpstream({
    script: async () => {
      await mayAnswer.promise;
      return reply(text("Aye."));
    },
  });
  service = await startService({
    upstreams: { anthropic: upstream.url },
    config: {
      tokens: TOKENS,
      context_config: { retry_policies: { per_tool: { askQuestion: PATIENT } } },
    },
  });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

interface Answered {
  readonly status: number;
  readonly body: JsonObject;
  /** The sentence of an error. */
  readonly sentence: string;
}

async function api(
  token: string,
  path: string,
  { method, body }: { readonly method?: string; readonly body?: JsonObject } = {},
): Promise<Answered> {
  const response = await fetch(`${service.url}${path}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as JsonObject;
  const error = (answer["error"] ?? {}) as JsonObject;
  return { status: response.status, body: answer, sentence: String(error["message"] ?? "") };
}

async function created(
  token: string,
  kind: "tasks" | "tickets",
  body: JsonObject,
): Promise<string> {
  const { status, body: item } = await api(token, `/api/${kind}`, { body });
  expect(status, JSON.stringify(item)).toBe(200);
  return String(item["id"]);
}

const statusOf = async (id: string): Promise<unknown> =>
  (await api(OWNER_TOKEN, `/api/tasks/${id}`)).body["status"];

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(data: string, ...words: string[]): Promise<Ran> {
  const env = childEnvironment({ HOME: data, PLIMSOLL_TOKEN: OWNER_TOKEN });
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [PROGRAM, ...words, "--data", data],
      { env, timeout: 20_000 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

interface SeenEvent extends JsonObject {
  readonly seq: number;
}

/** The stream of events that a caller hears. */
async function listen(
  token: string,
  after?: number,
): Promise<{ readonly seen: readonly SeenEvent[]; readonly close: () => void }> {
  const leaving = new AbortController();
  const response = await fetch(`${service.url}/events`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(after === undefined ? {} : { "last-event-id": String(after) }),
    },
    signal: leaving.signal,
  });
  const seen: SeenEvent[] = [];
  const read = async (): Promise<void> => {
    let rest = "";
    for await (const chunk of response.body ?? []) {
      const blocks = (rest + Buffer.from(chunk).toString()).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const [, seq] = /^id: (\d+)$/m.exec(block) ?? [];
        const [, data] = /^data: (.*)$/m.exec(block) ?? [];
        if (data !== undefined) seen.push({ ...JSON.parse(data), seq: Number(seq) });
      }
    }
  };
  void read().catch(() => undefined);
  return { seen, close: () => leaving.abort() };
}

/** The ticket whose question has this text, as soon as it is there. */
function ticketOf(question: string, token = OWNER_TOKEN): Promise<string> {
  return eventually(10_000, `the ticket of ${question}`, async () => {
    const { body } = await api(token, "/api/tickets?status=open&limit=1000");
    const items = body["items"] as readonly JsonObject[];
    const found = items.find(({ title }) => title === question);
    return found === undefined ? undefined : String(found["id"]);
  });
}

function statusesIn(seen: readonly SeenEvent[], id: string): readonly string[] {
  return seen.flatMap(({ taskId, newStatus }) => (taskId === id ? [String(newStatus)] : []));
}

/** The changes of status that the decision page does not allow. */
function cannotFollow(statuses: readonly string[]): readonly string[] {
  return statuses.flatMap((status, index) => {
    const before = statuses[index - 1] ?? status;
    const isAllowed = status === before || FOLLOWING[before]?.includes(status) === true;
    return isAllowed ? [] : [`${before} to ${status}`];
  });
}

describe("four clients at once", () => {
  test("lose no change, and everybody hears of the changes in the order of the store", async () => {
    const clients = await Promise.all(
      [...GENERATIONS, ...GENERATIONS].map((generation) =>
        connectMcp(generation, { url: service.url, token: TOKENS.alice }),
      ),
    );
    const live = await listen(TOKENS.alice);
    const random = diceOf(seedOr(24));
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const tasks = new Map<string, number>();
    for (let task = 0; task < 5; task++)
      tasks.set(await created(TOKENS.alice, "tasks", { title: `Task ${task}` }), 0);
    const asking = await created(TOKENS.alice, "tasks", { title: "Has questions" });
    const issues = await Promise.all(
      [1, 2, 3].map((issue) =>
        created(TOKENS.alice, "tickets", { type: "issue", title: `Issue ${issue}` }),
      ),
    );
    const stored: string[] = [];
    let questions = 0;

    const report = async (client: McpClient, note: string): Promise<void> => {
      const taskId = pick([...tasks.keys()]);
      const status = pick(Object.keys(FOLLOWING).filter((one) => one !== "verified"));
      const { isError, text: said } = await client.call("reportTaskStatus", {
        taskId,
        status,
        note,
      });
      if (isError) expect(said).toMatch(/^T-\d+ is \w+ and cannot become \w+\. From /);
      else tasks.set(taskId, (tasks.get(taskId) ?? 0) + 1);
    };
    const answer = async (_client: McpClient, note: string): Promise<void> => {
      const path = `/api/tickets/${pick(issues)}/answer`;
      const { status, sentence } = await api(TOKENS.alice, path, { body: { text: note } });
      if (status === 200) stored.push(note);
      else expect(sentence).toContain("has 100 answers, the maximum");
    };
    const askAndAnswer = async (client: McpClient, question: string): Promise<void> => {
      questions++;
      const asked = client.call("askQuestion", { question });
      const id = await ticketOf(question, TOKENS.alice);
      const both = await Promise.all(
        ["one", "other"].map((said) =>
          api(TOKENS.alice, `/api/tickets/${id}/answer`, { body: { text: `${said} ${question}` } }),
        ),
      );
      expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      const kept = both[0]?.status === 200 ? "one" : "other";
      expect((await asked).structured).toEqual({
        ticketId: id,
        isAnswered: true,
        text: `user answered ${id}: ${kept} ${question}`,
      });
    };
    const askAndLeave = async (client: McpClient, question: string): Promise<void> => {
      questions++;
      const left = new AbortController();
      const asked = client
        .call("askQuestion", { question, taskId: asking }, { signal: left.signal })
        .then(
          () => "answered",
          () => "left",
        );
      await ticketOf(question, TOKENS.alice);
      left.abort();
      expect(await asked).toBe("left");
    };
    const list = async (client: McpClient): Promise<void> => {
      const { structured } = await client.call("listTasks", { limit: 100 });
      expect(structured?.["tasks"]).toHaveLength(tasks.size + 1);
    };
    const operations = [report, report, report, report, answer, askAndAnswer, askAndLeave, list];
    const each = effort(40, 250);
    await Promise.all(
      clients.map(async (client, number) => {
        for (let round = 0; round < each; round++)
          await pick(operations)(client, `Note ${number}-${round}`);
      }),
    );

    for (const [id, reports] of tasks) {
      const { body: task } = await api(TOKENS.alice, `/api/tasks/${id}`);
      expect([id, task["revision"]]).toEqual([id, reports + 1]);
    }
    const answers = await Promise.all(
      issues.map(async (id) => (await api(TOKENS.alice, `/api/tickets/${id}`)).body["answers"]),
    );
    const texts = (answers.flat() as readonly JsonObject[]).map(({ text: said }) => String(said));
    expect(texts.toSorted()).toEqual(stored.toSorted());
    const { body: tickets } = await api(TOKENS.alice, "/api/tickets?limit=1000");
    expect(tickets["items"]).toHaveLength(issues.length + questions);

    const replayed = await listen(TOKENS.alice, 0);
    const last = await eventually(10_000, "the last event", async () => {
      const end = replayed.seen.at(-1)?.seq;
      return end !== undefined && live.seen.at(-1)?.seq === end ? end : undefined;
    });
    expect(last).toBeGreaterThan(0);
    expect(live.seen).toEqual(replayed.seen);
    const numbers = live.seen.map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    for (const [id, reports] of tasks) {
      const statuses = statusesIn(live.seen, id);
      expect(statuses).toHaveLength(reports + 1);
      expect(await statusOf(id)).toBe(statuses.at(-1));
      expect([id, cannotFollow(statuses)]).toEqual([id, []]);
    }
    live.close();
    replayed.close();
    for (const client of clients) await client.close();
  });
});

describe.concurrent("a question", () => {
  test.each([
    ["2025", "http"],
    ["2026-07-28", "http"],
    ["2026-07-28", "stdio"],
  ] as const)(
    "of a client of %s over %s gets the answer from the command line",
    async (generation, transport) => {
      const place =
        transport === "http"
          ? { url: service.url, token: OWNER_TOKEN }
          : { data: service.data, env: { PLIMSOLL_TOKEN: OWNER_TOKEN } };
      const client = await connectMcp(generation, place);
      const question = `Which port, ${generation} over ${transport}?`;
      let heard = 0;
      const asked = client.call(
        "askQuestion",
        { question },
        { timeout: 5000, onprogress: () => heard++ },
      );
      const id = await ticketOf(question);
      await eventually(10_000, "progress", async () => (heard > 0 ? heard : undefined));
      const ran = await run(service.data, "tickets", "answer", id.toLowerCase(), "Port 8080.");
      expect([ran.code, ran.stdout]).toEqual([0, `${id}  resolved  ${question}\n`]);
      const { structured } = await within(10_000, "the answer", asked);
      expect(structured).toMatchObject({
        isAnswered: true,
        text: `user answered ${id}: Port 8080.`,
      });
      await client.close();
    },
  );

  test("and its answer also work on a folder on which no service runs", async () => {
    const data = await makeDataFolder();
    const client = await connectMcp("2026-07-28", { data });
    const made = await client.call("reportTaskStatus", { title: "Moor", status: "in_progress" });
    expect(made.structured).toMatchObject({ taskId: "T-1" });
    const asked = client.call("askQuestion", { question: "Which quay?", taskId: "T-1" });
    const ticket = await eventually(10_000, "the ticket", async () => {
      const { stdout } = await run(data, "tickets", "--json");
      return stdout.includes("TK-1") ? "TK-1" : undefined;
    });
    expect((await run(data, "tickets", "answer", ticket, "Quay 7.")).code).toBe(0);
    const { structured } = await within(10_000, "the answer", asked);
    expect(structured).toMatchObject({ text: "user answered TK-1: Quay 7." });
    const { stdout } = await run(data, "tasks", "show", "1");
    expect(stdout).toMatch(/^T-1 {2}Moor\nstatus +in_progress\n/);
    await client.close();
    await rm(data, { recursive: true, force: true });
  });

  test.each(GENERATIONS)("of a client of %s that leaves blocks its task", async (generation) => {
    const client = await connectMcp(generation, { url: service.url, token: TOKENS.alice });
    const taskId = await created(TOKENS.alice, "tasks", { title: "Moor" });
    const question = `Which quay, ${generation}?`;
    const asked = client.call("askQuestion", { question, taskId });
    const ended = asked.catch(() => "left");
    const ticket = await ticketOf(question);
    await client.close();
    expect(await ended).toBe("left");
    await eventually(10_000, "the blocked task", async () =>
      (await statusOf(taskId)) === "blocked_awaiting_feedback" ? true : undefined,
    );
    await api(TOKENS.alice, `/api/tickets/${ticket}/answer`, { body: { text: "Quay 7." } });
    expect(await statusOf(taskId)).toBe("pending");
    const next = await connectMcp(generation, { url: service.url, token: TOKENS.alice });
    const again = await next.call("askQuestion", { ticket });
    expect(again.structured).toMatchObject({ text: `user answered ${ticket}: Quay 7.` });
    await next.close();
  });
});

test("tenants do not see each other's tasks and tickets, and the owner sees all", async () => {
  const bobHears = await listen(TOKENS.bob);
  const task = await created(TOKENS.alice, "tasks", { title: "Alice's task" });
  const ticket = await created(TOKENS.alice, "tickets", { type: "issue", title: "Rust", task });
  const own = await created(TOKENS.bob, "tasks", { title: "Bob's task" });
  const attempts: readonly (readonly [string, JsonObject?, "DELETE"?])[] = [
    [`/api/tasks/${task}`],
    [`/api/tasks/${task}`, { status: "done" }],
    [`/api/tickets/${ticket}`],
    [`/api/tickets/${ticket}`, { title: "Mine" }],
    [`/api/tickets/${ticket}/answer`, { text: "Mine" }],
    [`/api/tickets/${ticket}/resolve`, {}],
    [`/api/tickets/${ticket}`, {}, "DELETE"],
  ];
  for (const [path, body, method] of attempts) {
    const { status, sentence } = await api(TOKENS.bob, path, {
      ...(body === undefined ? {} : { body }),
      ...(method === undefined ? {} : { method }),
    });
    expect([path, status]).toEqual([path, 404]);
    expect(sentence).toMatch(/^There is no (task|ticket) "TK?-\d+"\./);
  }
  expect((await api(TOKENS.bob, "/api/tasks", { body: { title: "a", parent: task } })).status).toBe(
    404,
  );
  const client = await connectMcp("2025", { url: service.url, token: TOKENS.bob });
  expect(await client.call("getTask", { taskId: task })).toMatchObject({ isError: true });
  expect((await client.call("listTasks")).structured).toMatchObject({ tasks: [{ taskId: own }] });
  await client.close();
  const seenBy = async (token: string): Promise<readonly unknown[]> =>
    ((await api(token, "/api/tasks?limit=1000")).body["items"] as readonly JsonObject[]).map(
      ({ id }) => id,
    );
  expect(await seenBy(TOKENS.bob)).toEqual([own]);
  expect(await seenBy(OWNER_TOKEN)).toEqual(expect.arrayContaining([task, own]));
  await eventually(10_000, "bob's event", async () => bobHears.seen.at(-1));
  expect(bobHears.seen).toMatchObject([{ taskId: own, newStatus: "pending" }]);
  bobHears.close();
});

describe("bad input", () => {
  test("gets a sentence, and the service goes on", async () => {
    const id = await created(TOKENS.alice, "tasks", { title: "Grease the crane" });
    const asked = await created(TOKENS.alice, "tickets", { type: "question", title: "Which?" });
    await api(TOKENS.alice, `/api/tickets/${asked}/answer`, { body: { text: "This one." } });
    const huge = "x".repeat(10_000_000);
    const wrong: readonly (readonly [number, RegExp, string, JsonObject?])[] = [
      [404, /^There is no task "T-999999"\./, "/api/tasks/T-999999"],
      [404, /^There is no ticket "x'--"\./, "/api/tickets/x'--"],
      [404, /^There is no ticket /, "/api/tickets/TK-0/resolve", {}],
      [409, /is pending and cannot become verified\./, `/api/tasks/${id}`, { status: "verified" }],
      [400, /^`status` must be one of pending, /, `/api/tasks/${id}`, { status: "finished" }],
      [
        400,
        /^`progress` must be at most 100/,
        `/api/tasks/${id}`,
        { status: "done", progress: 101 },
      ],
      [
        409,
        /already resolved\. user answered: This one\./,
        `/api/tickets/${asked}/answer`,
        { text: "b" },
      ],
      [409, /already resolved\./, `/api/tickets/${asked}/resolve`, {}],
      [409, /already resolved\./, `/api/tickets/${asked}`, { title: "b" }],
      [
        400,
        /^`description` must be text of at most 65536/,
        "/api/tasks",
        { title: "a", description: huge },
      ],
      [400, /^The title is empty\./, "/api/tasks", { title: " " }],
      [400, /^`title` is missing\./, "/api/tickets", { type: "issue" }],
      [400, /^This route does not take `tittle`\./, "/api/tasks", { title: "a", tittle: "b" }],
      [400, /^"x" is not the id of a task\./, "/api/tasks?after=x"],
      [404, /^There is no such session/, "/api/tasks", { title: "a", session: "ses_nope" }],
    ];
    for (const [status, sentence, path, body] of wrong) {
      const said = await api(TOKENS.alice, path, body === undefined ? {} : { body });
      expect([path, said.status, said.sentence.slice(0, 200)]).toEqual([
        path,
        status,
        expect.stringMatching(sentence),
      ]);
    }
    const client = await connectMcp("2025", { url: service.url, token: TOKENS.alice });
    await expect(
      client.call("createTicket", { type: "issue", title: "a", description: huge }),
    ).rejects.toThrow("larger than");
    const long = { type: "issue", title: "a", description: huge.slice(0, 100_000) };
    expect(await client.call("createTicket", long)).toMatchObject({
      isError: true,
      text: "The description has 100000 characters, and at most 65536 are allowed. Put the rest into a file, and name the file in the description.",
    });
    await client.close();
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    expect(await statusOf(id)).toBe("pending");
  });

  test("on the command line gets one sentence and an exit code", async () => {
    for (const [code, sentence, ...words] of [
      [1, "There is no task", "tasks", "report", "T-999999", "done"],
      [1, "There is no ticket", "tickets", "answer", "../x", "a"],
      [2, "Allowed choices", "tasks", "--status", "finished"],
    ] as const) {
      const ran = await run(service.data, ...words);
      expect([words, ran.code, ran.stdout]).toEqual([words, code, ""]);
      expect(ran.stderr).toMatch(/^plimsoll: .+\.\n$/);
      if (code === 1) expect(ran.stderr).toContain(sentence);
    }
  });
});

test("the command line changes what the service has, and the metrics count it", async () => {
  const added = await run(service.data, "tasks", "add", "Paint the hull", "--priority", "1");
  const [, id = ""] = /^(T-\d+) {2}pending {2}Paint the hull\n$/.exec(added.stdout) ?? [];
  const report = ["tasks", "report", id, "in_progress", "--progress", "40", "--json"];
  expect(JSON.parse((await run(service.data, ...report)).stdout)).toMatchObject({
    id,
    status: "in_progress",
    progress: 40,
    priority: 1,
  });
  const refused = await run(service.data, "tasks", "report", id, "verified");
  expect([refused.code, refused.stderr]).toEqual([
    2,
    `plimsoll: ${id} is in_progress and cannot become verified. From in_progress it can become pending, partial, blocked_awaiting_feedback, done, failed.\n`,
  ]);
  const { stdout } = await run(service.data, "tasks", "--status", "in_progress");
  expect(stdout.split("\n")[1]).toMatch(new RegExp(`^${id} +in_progress +40 % +1 +Paint the hull`));
  const count = async (line: string): Promise<number> => {
    const headers = { authorization: `Bearer ${OWNER_TOKEN}` };
    return figure(await (await fetch(`${service.url}/metrics`, { headers })).text(), line);
  };
  const { body } = await api(OWNER_TOKEN, "/api/tasks?status=in_progress&limit=1000");
  expect(await count('plimsoll_tasks{status="in_progress"}')).toBe(
    (body["items"] as readonly unknown[]).length,
  );
  const before = await count("plimsoll_open_tickets");
  await run(service.data, "tickets", "add", "The hull rusts", "--task", id);
  expect(await count("plimsoll_open_tickets")).toBe(before + 1);
});

test("an agent is busy while its turn runs, and idle afterwards", async () => {
  const stateOf = async (): Promise<unknown> => {
    const { items } = await service.api<{ readonly items: readonly JsonObject[] }>("/api/agents");
    return items.find(({ agent }) => agent === "shipwright")?.["state"];
  };
  const turn = (content: string): ReturnType<typeof ask> =>
    ask(service.url, {
      wire: "anthropic",
      body: bodyOf("anthropic", [{ role: "user", content }]),
      headers: { "x-plimsoll-agent": "shipwright" },
    });
  const hears = await listen(OWNER_TOKEN);
  const states = (): readonly unknown[] =>
    hears.seen.flatMap(({ agentName, state }) => (agentName === "shipwright" ? [state] : []));
  const running = turn("Where is the keel?");
  await eventually(10_000, "the busy agent", async () => (states().length > 0 ? true : undefined));
  expect(states()).toEqual(["busy"]);
  mayAnswer.resolve();
  await running;
  await eventually(10_000, "the idle agent", async () => (states().length > 1 ? true : undefined));
  expect([states(), await stateOf()]).toEqual([["busy", "idle"], "idle"]);
  hears.close();
});

test("the library calls the handlers of the documents with their fields, until they are ended", async () => {
  const plimsoll = await openPlimsoll({ store: "memory" });
  const heard: unknown[] = [];
  const ends = [
    plimsoll.onTasksChanged((change) => heard.push(change)),
    plimsoll.onTicketsChanged((change) => heard.push(change)),
    plimsoll.onAgentStateChanged((change) => heard.push(change)),
  ];
  const { id } = await plimsoll.tasks.create({ title: "Moor", status: "in_progress" });
  const asked = plimsoll.ask({ question: "Which quay?", task: id });
  await eventually(5000, "the ticket", async () => (await plimsoll.tickets.list())[0]);
  await plimsoll.tickets.answer("TK-1", { text: "Quay 7.", by: "harbour-master" });
  expect(await asked).toMatchObject({
    kind: "answered",
    ticket: { answers: [{ text: "Quay 7.", by: "harbour-master" }] },
  });
  const session = await plimsoll.session({ agent: "shipwright" });
  await session.append({ role: "user", content: "Hello." });
  await session.prepare({ target: "anthropic/claude-sonnet-4-6" });
  expect(heard).toEqual([
    { taskId: "T-1", newStatus: "in_progress" },
    { ticketId: "TK-1", action: "create" },
    { ticketId: "TK-1", action: "resolve" },
    { agentName: "shipwright", state: "busy" },
  ]);
  for (const end of ends) end();
  await plimsoll.tasks.report(id, { status: "done" });
  expect(heard).toHaveLength(4);
  await expect(plimsoll.tasks.create({ title: "a", status: "finished" as "done" })).rejects.toThrow(
    "must be one of pending",
  );
  await plimsoll.close();
});
