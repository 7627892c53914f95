/**
 * Runs the real program as a child process and uses it like its users: over HTTP and on the command line. This file has its
 * own copy of the API's types, from the interface page, so that tests notice a change on either side.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "./child-environment.ts";
import type { Json, JsonObject } from "./json.ts";
import { within } from "./waiting.ts";

/** The owner's token of every service under test: 43 characters, like the program's own tokens. */
export const OWNER_TOKEN = "plimsoll-test-owner-token-0123456789abcdefg";

export interface ServiceOptions {
  /** Base URLs of the scripted providers, without /v1. */
  readonly upstreams: {
    readonly anthropic?: string;
    readonly openai?: string;
    readonly gemini?: string;
  };
  /** The data folder. By default a new one, which stop() removes. */
  readonly data?: string;
  /** More top-level keys for the config file. */
  readonly config?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
  readonly port?: number;
}

export interface Service {
  /** Address without a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly data: string;
  readonly pid: number;
  /** The program's output so far. */
  readonly stdout: string;
  readonly stderr: string;
  /** GET with the owner's token. Throws if the status is not 200. */
  api<T>(path: string): Promise<T>;
  /** Sends the signal and waits until the process has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Sends SIGTERM, then SIGKILL after 5 s. Removes a data folder that it created. */
  stop(): Promise<void>;
}

interface Page<T> {
  readonly items: readonly T[];
  /** Value of `after` for the next page. */
  readonly next?: string | number;
}
export interface SessionSummary {
  readonly id: string;
  readonly tenant: string;
  readonly wire: string;
  readonly agent?: string;
  readonly clientKey?: string;
  readonly branches: number;
  readonly messages: number;
  readonly turns: number;
  readonly createdAt: string | number;
  readonly updatedAt: string | number;
}
interface Branch {
  readonly id: string;
  readonly agent?: string;
  readonly relation: string;
  /** Number of its last message. */
  readonly tip: number;
  readonly messages: number;
}
export interface SessionDetail extends Omit<SessionSummary, "branches"> {
  readonly branches: readonly Branch[];
}
export interface LogEntry {
  readonly seq: number;
  readonly parent: number | null;
  readonly role: string;
  readonly source: "request" | "answer" | "inner" | "echo";
  readonly identity: string;
  readonly hash: string;
  readonly bytes: number;
  readonly tokens: number;
  readonly at: string | number;
  readonly turn: string | number;
  readonly message: Json;
  /** True for an answer that was cut off. */
  readonly incomplete?: boolean;
}
export interface View {
  readonly messages: readonly Json[];
  readonly tokens: number;
  readonly limit: number;
}

/** The fields of an edit that tests use. */
export interface Edit {
  readonly seq: number;
  readonly at: string | number;
  readonly branch: string;
  readonly action: { readonly kind: string; readonly handle?: string };
  readonly strategy: string;
  readonly reason: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}
interface ArchivePage {
  readonly handle: string;
  /** Size of the whole content. */
  readonly bytes: number;
  readonly offset: number;
  readonly content: string;
  readonly nextOffset?: number;
}

const READY_LIMIT_MS = 20_000;
const STOP_LIMIT_MS = 5_000;
const READY_LINE = /^plimsoll ready on http:\/\/127\.0\.0\.1:(\d+)$/m;
/** Tests can run another build instead, such as an installed package. */
const PROGRAM =
  process.env["PLIMSOLL_PROGRAM"] ??
  fileURLToPath(new URL("../../bin/plimsoll.mjs", import.meta.url));

/** Creates a data folder for one test. */
export function makeDataFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "plimsoll-test-"));
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const data = options.data ?? (await makeDataFolder());
  const child = await startProgram(data, options);
  const output = collectOutput(child);
  try {
    const port = await within(READY_LIMIT_MS, "the ready line", readyPort(child, output));
    return serviceOf({ child, output, data, port, isFresh: options.data === undefined });
  } catch (error) {
    child.kill("SIGKILL");
    if (options.data === undefined) await rm(data, { recursive: true, force: true });
    const said = `stdout: ${output.stdout}\nstderr: ${output.stderr}`;
    throw new Error(`The service did not start.\n${said}`, { cause: error });
  }
}

async function startProgram(data: string, options: ServiceOptions): Promise<ChildProcess> {
  const config = join(data, "test-config.yaml");
  await writeFile(config, configText(options));
  const port = String(options.port ?? 0);
  const argv = [PROGRAM, "serve", "--port", port, "--data", data, "--config", config];
  const child = spawn(process.execPath, argv, {
    stdio: ["ignore", "pipe", "pipe"],
    env: childEnvironment({ HOME: data, PLIMSOLL_TOKEN: OWNER_TOKEN, ...options.env }),
  });
  // Kill the service if the test run is interrupted.
  const killChild = (): void => void child.kill("SIGKILL");
  process.once("exit", killChild);
  child.once("exit", () => process.off("exit", killChild));
  return child;
}

/** Writes JSON, because JSON is also valid YAML. */
function configText({ upstreams, config = {} }: ServiceOptions): string {
  const { anthropic, openai, gemini } = upstreams;
  const providers = {
    ...(anthropic === undefined ? {} : { anthropic: { baseUrl: anthropic } }),
    ...(openai === undefined ? {} : { openai: { baseUrl: `${openai}/v1` } }),
    ...(gemini === undefined ? {} : { gemini: { baseUrl: gemini } }),
  };
  return `${JSON.stringify({ providers, ...config }, null, 2)}\n`;
}

interface Output {
  stdout: string;
  stderr: string;
}

function collectOutput(child: ChildProcess): Output {
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  return output;
}

/** Contract: call it after `collectOutput`. Listeners run in order, so `output` is complete here. */
function readyPort(child: ChildProcess, output: Output): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`It ended with ${code ?? signal}.`)));
    child.stdout?.on("data", () => {
      const port = READY_LINE.exec(output.stdout)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });
}

interface Running {
  readonly child: ChildProcess;
  readonly output: Output;
  readonly data: string;
  readonly port: number;
  readonly isFresh: boolean;
}

function serviceOf({ child, output, data, port, isFresh }: Running): Service {
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    data,
    pid: child.pid ?? 0,
    get stdout() {
      return output.stdout;
    },
    get stderr() {
      return output.stderr;
    },
    api: (path) => getApi(url, path),
    kill: (signal) => endProcess(child, signal),
    stop: async () => {
      await endProcess(child, "SIGTERM");
      if (isFresh) await rm(data, { recursive: true, force: true });
    },
  };
}

async function getApi<T>(url: string, path: string): Promise<T> {
  const response = await fetch(`${url}${path}`, {
    headers: { authorization: `Bearer ${OWNER_TOKEN}` },
  });
  if (response.status === 200) return (await response.json()) as T;
  throw new Error(`GET ${path} answered ${response.status}: ${await response.text()}`);
}

async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  await gone;
  clearTimeout(timer);
}

/* What the API says */

const PAGES_MAX = 10_000;

type Reading = Pick<Service, "api">;

async function allPages<T>(service: Reading, path: string, limit: number): Promise<T[]> {
  const items: T[] = [];
  let after = "";
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page = await service.api<Page<T>>(`${path}?limit=${limit}${after}`);
    items.push(...page.items);
    if (page.next === undefined) return items;
    after = `&after=${encodeURIComponent(page.next)}`;
  }
  throw new Error(`${path} has more than ${PAGES_MAX} pages.`);
}

export function readSessions(service: Service): Promise<SessionSummary[]> {
  return allPages(service, "/api/sessions", 100);
}

export function readSession(service: Service, id: string): Promise<SessionDetail> {
  return service.api(`/api/sessions/${id}`);
}

/** The whole log of a session, read in pages of `limit`. */
export function readLog(service: Service, id: string, limit = 100): Promise<LogEntry[]> {
  return allPages(service, `/api/sessions/${id}/log`, limit);
}

/** Every edit of a session, in the order in which they were made: the list has no pages. */
export async function readEdits(service: Reading, id: string): Promise<Edit[]> {
  const { items } = await service.api<Page<Edit>>(`/api/sessions/${id}/edits`);
  return [...items];
}

/** The whole content of a handle, read in pages of `limit` bytes. Throws if the pages do not fit together. */
export async function readArchive(
  service: Reading,
  handle: string,
  limit: number,
): Promise<string> {
  const pages: string[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined && pages.length < PAGES_MAX) {
    const path = `/api/archive/${handle}?offset=${offset}&limit=${limit}`;
    const page: ArchivePage = await service.api(path);
    const end = offset + Buffer.byteLength(page.content);
    if (
      page.handle !== handle ||
      page.offset !== offset ||
      end !== (page.nextOffset ?? page.bytes)
    ) {
      throw new Error(`${path} does not fit: ${JSON.stringify({ ...page, content: end })}`);
    }
    pages.push(page.content);
    offset = page.nextOffset;
  }
  return pages.join("");
}

/** The entries from the root to this one, found by their parents. */
export function chainTo(log: readonly LogEntry[], tip: number): LogEntry[] {
  const bySeq = new Map(log.map((entry) => [entry.seq, entry]));
  const chain: LogEntry[] = [];
  for (let entry = bySeq.get(tip); entry !== undefined; entry = parentOf(bySeq, entry)) {
    chain.unshift(entry);
    if (chain.length > log.length) throw new Error(`The parents of ${tip} form a circle.`);
  }
  return chain;
}

function parentOf(
  bySeq: ReadonlyMap<number, LogEntry>,
  { seq, parent }: LogEntry,
): LogEntry | undefined {
  if (parent === null) return undefined;
  const found = bySeq.get(parent);
  if (found === undefined && parent !== 0) {
    throw new Error(`Message ${seq} has the parent ${parent}, which is not in the log.`);
  }
  return found;
}
