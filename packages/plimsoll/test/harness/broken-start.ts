/**
 * Starts that are broken off: the process is killed, or its disk fails, at one chosen call of those by which it changes its data
 * folder (faults/faultfs.c). Then a plain start must work by itself, and what was there must be there.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { signatureIn } from "../engine/read-folder.ts";
import type { Opened } from "../engine/store-opener.ts";
import { childEnvironment } from "./child-environment.ts";
import { makeOldFolder, OLD_KEY, oldRows, rowsOf } from "./old-store.ts";
import { within } from "./waiting.ts";

/** first: in a folder that is not there yet. upgrade: in one of the first version. */
export const scenes = ["first", "upgrade"] as const;
export const faultKinds = ["kill", "eio", "enospc"] as const;
/** library: opens and closes. serve: the whole service, until it is ready. */
export type Program = "library" | "serve";

export interface Break {
  readonly program: Program;
  readonly scene: (typeof scenes)[number];
  readonly kind: (typeof faultKinds)[number];
  /** The number of the call, from 1. */
  readonly at: number;
}

export interface FaultBench {
  /** The calls of a start that nothing happens to. */
  calls(program: Program, scene: Break["scene"]): Promise<readonly string[]>;
  /** What is wrong after the break and a plain start; none: all is well. */
  judge(wanted: Break): Promise<readonly string[]>;
  close(): void;
}

const OPENER = fileURLToPath(new URL("../engine/store-opener.ts", import.meta.url));
const PROGRAM = fileURLToPath(new URL("../../bin/plimsoll.mjs", import.meta.url));
const SOURCE = fileURLToPath(new URL("./faults/faultfs.c", import.meta.url));
const LIMIT_MS = 60_000;

export function openFaultBench(): FaultBench {
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-faults-"));
  const library = join(folder, "faultfs.so");
  execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"]);
  let count = 0;
  const prepare = (scene: Break["scene"]): string => {
    const data = join(folder, `data-${++count}`);
    if (scene === "upgrade") makeOldFolder(data);
    return data;
  };
  return {
    calls: async (program, scene) => {
      const data = prepare(scene);
      const trace = join(folder, `trace-${count}`);
      await runStart(program, data, { LD_PRELOAD: library, FAULT_TRACE: trace });
      return readFileSync(trace, "utf8").trimEnd().split("\n");
    },
    judge: async ({ program, scene, kind, at }) => {
      const data = prepare(scene);
      const faults = { LD_PRELOAD: library, FAULT_KIND: kind, FAULT_AT: `${at}` };
      const broken = await runStart(program, data, faults);
      const problems = [
        ...(program === "serve" ? await startPlainly(data) : []),
        ...(await inspect(data, scene, broken)),
      ];
      rmSync(data, { recursive: true, force: true });
      return problems;
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Ends when the program has; a service is killed as soon as it is ready. */
async function runStart(
  program: Program,
  data: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const words =
    program === "library" ? [OPENER, data] : [PROGRAM, "serve", "--port", "0", "--data", data];
  const child = spawn(process.execPath, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: childEnvironment({ HOME: tmpdir(), FAULT_FOLDER: data, ...env }),
  });
  let said = "";
  child.stderr.resume();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    if (said.includes("plimsoll ready")) child.kill("SIGKILL");
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  try {
    await within(LIMIT_MS, "the end of a start", ended);
  } finally {
    child.kill("SIGKILL");
  }
  return said;
}

async function startPlainly(data: string): Promise<readonly string[]> {
  const said = await runStart("serve", data, {});
  return said.includes("plimsoll ready") ? [] : ["the service does not start again"];
}

/** The second start, in this process, and what it finds and leaves. */
async function inspect(
  data: string,
  scene: Break["scene"],
  broken: string,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const expectSame = (what: string, found: unknown, wanted: unknown): void => {
    const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
    if (one !== other) problems.push(`${what}: ${one?.slice(0, 200)}`);
  };
  try {
    const signature = await signatureIn(data);
    // A start that came up has signed handles with its key.
    const before = broken.startsWith("{") ? (JSON.parse(broken) as Opened).signature : undefined;
    if (before !== undefined) expectSame("another key", signature, before);
  } catch (error) {
    problems.push(`it does not start again: ${error instanceof Error ? error.message : error}`);
    return problems;
  }
  const database = join(data, "plimsoll.db");
  const left = readdirSync(data).filter((name) => /\.tmp|-journal|-wal|-shm/.test(name));
  expectSame("files left behind", left, []);
  if (scene === "upgrade") {
    expectSame("rows", rowsIn(database), oldRows);
    expectSame("rows of the backup", rowsIn(`${database}.v1.bak`), oldRows);
    expectSame("key", readFileSync(join(data, "key"), "utf8"), OLD_KEY);
    expectSame("version", versionOf(database) > 1, true);
  }
  return problems;
}

function rowsIn(file: string): unknown {
  try {
    return rowsOf(file);
  } catch (error) {
    return String(error);
  }
}

function versionOf(file: string): number {
  const database = new Database(file, { readonly: true });
  const version = Number(database.pragma("user_version", { simple: true }));
  database.close();
  return version;
}
