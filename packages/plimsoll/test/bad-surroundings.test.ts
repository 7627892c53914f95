/** Commands in surroundings that nobody wishes for: a folder of another user, a file instead of an argument. */

import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { makeDataFolder, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
/** A user without rights. Root may read and write everything, so a test that runs as root starts commands as this user. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
let upstream: Upstream;
let service: Service;
let data = "";
let session = "";

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command, as a user who is not root. */
function run(words: readonly string[], options: SpawnOptions = {}): Promise<Ran> {
  const user = isRoot ? { uid: nobody, gid: nobody } : {};
  const env = childEnvironment({ HOME: tmpdir() });
  const child = spawn(process.execPath, [program, ...words], {
    ...{ stdio: ["ignore", "pipe", "pipe"], env, ...user, ...options },
  });
  return ranOf(child);
}

function ranOf(child: ChildProcess): Promise<Ran> {
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (words: string) => (stdout += words));
  child.stderr?.setEncoding("utf8").on("data", (words: string) => (stderr += words));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** A copy of the recorded folder that the user may read, but not write to. */
async function readOnlyCopy(...without: readonly string[]): Promise<string> {
  const copy = join(await makeDataFolder(), "data");
  chmodSync(join(copy, ".."), 0o755);
  cpSync(data, copy, {
    recursive: true,
    filter: (file) => !without.some((end) => file.endsWith(end)),
  });
  for (const name of readdirSync(copy)) chmodSync(join(copy, name), 0o444);
  chmodSync(copy, 0o555);
  return copy;
}

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("The keel is oak.")) });
  data = await makeDataFolder();
  service = await startService({ upstreams: { anthropic: upstream.url }, data });
  const messages = [{ role: "user", content: "What is the keel made of?" }];
  const body = bodyOf("anthropic", messages);
  ({ sessionId: session } = await ask(service.url, { wire: "anthropic", body }));
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

describe("in a folder that the user may only read", () => {
  const commands = ["sessions", "log", "inspect", "edits", "receipts", "cost", "report"];
  let closed = "";
  beforeAll(async () => {
    await service.stop();
    closed = await readOnlyCopy();
  });

  test.each(commands)("%s reads what is recorded", async (command) => {
    const ran = await run([command, "--data", closed]);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).not.toBe("");
  });

  test("recall finds the words, and nothing of the copy stays", async () => {
    const temporary = join(await makeDataFolder(), "tmp");
    mkdirSync(temporary);
    for (const folder of [join(temporary, ".."), temporary]) chmodSync(folder, 0o777);
    const env = childEnvironment({ HOME: tmpdir(), TMPDIR: temporary });
    const ran = await run(["recall", "keel", "--data", closed], { env });
    expect(ran.stdout).toContain("The keel is oak.");
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("doctor counts what is recorded", async () => {
    const { stdout } = await run(["doctor", "--data", closed]);
    expect(stdout).toMatch(/ok\s+store\s+1 sessions, 2 messages/);
  });
});

describe("in a folder that the user may not read", () => {
  test.each([
    ["the folder", (folder: string) => chmodSync(folder, 0o000)],
    ["the store", (folder: string) => chmodSync(join(folder, "plimsoll.db"), 0o000)],
  ])("if it is %s, no command says that nothing is recorded", async (_name, close) => {
    const folder = await readOnlyCopy();
    if (isRoot) chownSync(folder, 0, 0);
    close(folder);
    const listed = await run(["sessions", "--data", folder]);
    expect([listed.code, listed.stderr]).toEqual([1, expect.stringContaining("may not read")]);
    const { stdout } = await run(["doctor", "--data", folder]);
    expect(stdout).toMatch(/FAIL\s+store\s+You may not read/);
    chmodSync(folder, 0o700);
  });

  test("a folder that is not there is empty, and doctor says so", async () => {
    const { stdout } = await run(["doctor", "--data", join(tmpdir(), "plimsoll-is-not-here")]);
    expect(stdout).toMatch(/ok\s+store\s+nothing recorded yet/);
  });
});

describe("compact", () => {
  const words = "The keel is oak, and the mast is fir. ".repeat(40);
  const messages = Array.from({ length: 20 }, (_, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: `${at}: ${words}`,
  }));
  const body = JSON.stringify({ model: "gpt-4o", messages });

  /** Runs a shell command, in which `FILE` has this content and `COMPACT` is the command. */
  async function shell(line: string, content: string): Promise<Ran> {
    const file = join(await makeDataFolder(), "input.json");
    writeFileSync(file, content);
    const compact = `"${process.execPath}" "${program}" compact --budget 4000 --data "${data}"`;
    const command = line.replace("FILE", `"${file}"`).replace("COMPACT", compact);
    return ranOf(spawn("sh", ["-c", command], { env: childEnvironment({ HOME: tmpdir() }) }));
  }

  test.each(["COMPACT < FILE", "cat FILE | COMPACT"])(
    "%s shortens the conversation in the file, and leaves the sessions alone",
    async (line) => {
      const { code, stdout } = await shell(line, body);
      expect(code).toBe(0);
      const shortened = JSON.parse(stdout) as { readonly messages: readonly unknown[] };
      expect(shortened).toMatchObject({ model: "gpt-4o", messages: expect.any(Array) });
      expect(stdout.length).toBeLessThan(body.length * 0.7);
      expect(stdout).toContain("0: The keel is oak");
      const owner = isRoot ? { uid: 0, gid: 0 } : {};
      const edits = await run(["edits", session, "--data", data], owner);
      expect(edits.stdout).toContain("Nothing was edited");
    },
  );

  test.each([
    ["nothing", "", "Standard input is empty"],
    ["no JSON", "{oops", "Standard input cannot be read as JSON"],
    ["no conversation", "17", "Standard input contains no conversation"],
  ])("of a file with %s it says so", async (_name, content, sentence) => {
    const { code, stdout, stderr } = await shell("COMPACT < FILE", content);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(sentence);
  });
});
