/** The data for dashboard tests: the real service with turns that a test makes one by one, or the demo as users run it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { diceOf } from "../../demo/dice.ts";
import { reply, text } from "./answer.ts";
import type { Json, JsonObject } from "./json.ts";
import { type Asked, ask, bodyOf } from "./raw-client.ts";
import { makeDataFolder, OWNER_TOKEN, type Service, startService } from "./service.ts";
import { startUpstream, type UpstreamOptions } from "./upstream.ts";
import { eventually, within } from "./waiting.ts";
import { prose } from "./words.ts";

/** The window is small, so that a few turns fill it: the limit is 7,000 tokens. */
const MODEL = {
  contextWindow: 8_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};

export interface StageOptions {
  readonly upstream?: UpstreamOptions;
  /** More keys for the configuration. */
  readonly config?: JsonObject;
}

export interface Stage {
  readonly url: string;
  readonly token: string;
  readonly data: string;
  /** Sends a GET, or a POST if there is a body. */
  api<T>(path: string): Promise<T>;
  post(path: string, body: Json): Promise<{ readonly status: number; readonly body: JsonObject }>;
  talk(who: Speaker): Talk;
  /** Stops the service, and keeps its port and data. */
  stop(): Promise<void>;
  /** Starts it again on the same port and data. */
  start(): Promise<void>;
  close(): Promise<void>;
}

interface Speaker {
  /** The client's own name for the conversation. */
  readonly name: string;
  readonly agent?: string;
  readonly priority?: Priority;
}
type Priority = 1 | 2 | 3;

/** A client that sends its whole conversation with every turn. */
export interface Talk {
  /** The service's session id; empty before the first turn. */
  readonly id: string;
  /** Makes one turn, with the given priority instead of the usual one. */
  say(words: string, priority?: Priority): Promise<Asked>;
  /** Makes one turn with this many tokens of prose. */
  prose(tokens: number, priority?: Priority): Promise<Asked>;
  /** Makes turns until x-plimsoll-action has this value. */
  until(action: string): Promise<void>;
}

const TURNS_MOST = 60;
const TURN_TOKENS = 400;

export async function startStage(options: StageOptions = {}): Promise<Stage> {
  const upstream = await startUpstream(
    options.upstream ?? { script: () => reply(text("Noted, and on to the next.")) },
  );
  const data = await makeDataFolder();
  const config = {
    providers: { anthropic: { baseUrl: upstream.url, models: { "claude-sonnet-4-6": MODEL } } },
    ...options.config,
  };
  let service = await startService({ upstreams: {}, data, config });
  const { url, port } = service;
  let seed = 0;
  return {
    url,
    token: OWNER_TOKEN,
    data,
    api: (path) => service.api(path),
    post: (path, body) => postTo(service, path, body),
    talk: (who) => {
      seed += 1;
      return talkWith(url, who, seed);
    },
    stop: () => service.kill("SIGTERM"),
    start: async () => {
      service = await startService({ upstreams: {}, data, config, port });
    },
    close: async () => {
      await service.stop();
      await upstream.close();
      await rm(data, { recursive: true, force: true });
    },
  };
}

async function postTo(
  { url }: Pick<Service, "url">,
  path: string,
  body: Json,
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

function talkWith(url: string, { name, agent, priority: usual }: Speaker, seed: number): Talk {
  const random = diceOf(seed);
  const history: JsonObject[] = [];
  let id = "";
  const say = async (words: string, priority = usual): Promise<Asked> => {
    history.push({ role: "user", content: words });
    const asked = await ask(url, {
      wire: "anthropic",
      body: { ...bodyOf("anthropic", [...history]), max_tokens: 500 },
      headers: {
        "x-plimsoll-session": name,
        ...(agent === undefined ? {} : { "x-plimsoll-agent": agent }),
        ...(priority === undefined ? {} : { "x-plimsoll-priority": String(priority) }),
      },
    });
    if (asked.status !== 200) throw new Error(`The turn failed: ${asked.status} ${asked.answer}`);
    id = asked.sessionId;
    history.push(asked.message);
    return asked;
  };
  return {
    get id() {
      return id;
    },
    say,
    prose: (tokens, priority) => say(prose(random, tokens), priority),
    until: async (action) => {
      for (let turn = 0; turn < TURNS_MOST; turn++) {
        const { headers } = await say(prose(random, TURN_TOKENS));
        if (headers.get("x-plimsoll-action") === action) return;
      }
      throw new Error(`No turn of ${TURNS_MOST} was ${action}.`);
    },
  };
}

/** Collects every event of the service. */
export interface Listening {
  readonly events: readonly JsonObject[];
  close(): void;
}

/** Contract: resolves when the stream is open, so that no later event is missed. */
export async function listenTo(url: string, token: string): Promise<Listening> {
  const events: JsonObject[] = [];
  const closing = new AbortController();
  const response = await fetch(`${url}/events`, {
    headers: { authorization: `Bearer ${token}` },
    signal: closing.signal,
  });
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of response.body ?? []) {
      rest += decoder.decode(chunk, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const line = block.split("\n").find((one) => one.startsWith("data: "));
        if (line !== undefined) events.push(JSON.parse(line.slice(6)) as JsonObject);
      }
    }
  };
  read().catch(() => undefined);
  return { events, close: () => closing.abort() };
}

/** Removes a session from the database file. The service must not be running. */
export function deleteSession(data: string, id: string): void {
  const database = new DatabaseSync(`${data}/plimsoll.db`);
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  for (const { name } of tables) {
    const columns = database.prepare(`SELECT name FROM pragma_table_info('${name}')`).all();
    const hasSession = columns.some((column) => column["name"] === "session");
    if (hasSession) database.prepare(`DELETE FROM ${name} WHERE session = ?`).run(id);
  }
  database.prepare("DELETE FROM sessions WHERE id = ?").run(id);
  database.close();
}

/** Changes the size of each message of a session in the database file. The service must not be running. */
export function flipMessage(data: string, id: string): void {
  const database = new DatabaseSync(`${data}/plimsoll.db`);
  database.prepare("UPDATE messages SET bytes = bytes + 1 WHERE session = ?").run(id);
  database.close();
}

/* The demo */

export interface DemoOptions {
  readonly turns: number;
  readonly sessions: number;
  readonly seed: number;
  /** Milliseconds from one turn to the next; absent: as fast as possible. */
  readonly pace?: number;
}

export interface Demo {
  readonly url: string;
  readonly token: string;
  readonly data: string;
  /** Resolves when all turns have been played. The service keeps running. */
  readonly played: Promise<void>;
  close(): Promise<void>;
}

const DEMO = fileURLToPath(new URL("../../demo/main.ts", import.meta.url));
const DEMO_LIMIT_MS = 60_000;

/** Contract: resolves when its service is ready, before the first turns end. */
export async function startDemo(options: DemoOptions): Promise<Demo> {
  const data = await makeDataFolder();
  const { turns, sessions, seed, pace } = options;
  const words = ["--hold", "--port", "0", "--data", data]
    .concat(["--turns", `${turns}`, "--sessions", `${sessions}`, "--seed", `${seed}`])
    .concat(pace === undefined ? ["--fast"] : ["--pace", `${pace}`]);
  const child = spawn(process.execPath, [DEMO, ...words], { stdio: ["ignore", "pipe", "pipe"] });
  const killChild = (): void => void child.kill("SIGTERM");
  process.once("exit", killChild);
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      said += chunk;
    });
  const hasSaid = (pattern: RegExp): Promise<RegExpExecArray> =>
    eventually(DEMO_LIMIT_MS, `${pattern} from the demo`, async () => {
      if (child.exitCode !== null) throw new Error(`The demo ended: ${said}`);
      return pattern.exec(said) ?? undefined;
    });
  const [, url = "", token = ""] = await hasSaid(/^dashboard (http:\S+)\/#token=(\S+)$/m);
  const played = hasSaid(/^The service stays up/m).then(() => undefined);
  played.catch(() => undefined);
  return {
    url,
    token,
    data,
    played,
    close: async () => {
      process.off("exit", killChild);
      if (child.exitCode === null) {
        const gone = once(child, "exit");
        child.kill("SIGTERM");
        await within(DEMO_LIMIT_MS, "the end of the demo", gone);
      }
      await rm(data, { recursive: true, force: true });
    },
  };
}
