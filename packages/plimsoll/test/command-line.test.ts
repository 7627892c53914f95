/** The program as its users type it: what it prints, what it refuses, and with which exit code. */

import { execFile } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "plimsoll-cli-"));
/** Window title, clipboard, 8-bit CSI, right-to-left override, tag character. */
const hostile =
  "ok\u001b]0;owned\u0007\u001b]52;c;ZXZpbA==\u0007\u009b31mred\u202egnp.exe\u{e0041} end";
let upstream: Upstream;
let service: Service;
let session: string;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(...words: string[]): Promise<Ran> {
  const env = childEnvironment({ HOME: folder });
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...words],
      { env, timeout: 20_000 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

/** Control characters but tab and line feed, bidirectional overrides, tag characters. */
function isHarmful(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f);
  if (isControl) return character !== "\n" && character !== "\t";
  return (code >= 0x202a && code <= 0x202e) || (code >= 0xe0000 && code <= 0xe007f);
}

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text(hostile)) });
  service = await startService({ upstreams: { anthropic: upstream.url } });
  const messages = [{ role: "user", content: hostile }];
  ({ sessionId: session } = await ask(service.url, {
    wire: "anthropic",
    body: bodyOf("anthropic", messages),
  }));
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  rmSync(folder, { recursive: true });
});

describe("what was recorded", () => {
  test("sessions lists it", async () => {
    const { code, stdout } = await run("sessions", "--data", service.data);
    expect(code).toBe(0);
    expect(stdout).toContain(session);
    const json = JSON.parse((await run("sessions", "--json", "--data", service.data)).stdout) as {
      items: unknown[];
    };
    expect(json.items).toMatchObject([{ id: session, messages: 2, turns: 1 }]);
  });

  test.each([
    ["log", []],
    ["log", ["--full"]],
    ["inspect", []],
  ])("%s %j shows it, with every escape made harmless", async (command, flags) => {
    const { code, stdout } = await run(command, session, ...flags, "--data", service.data);
    expect(code).toBe(0);
    expect(stdout).toContain("\\x1b]0;owned\\x07");
    expect([...stdout].filter(isHarmful)).toEqual([]);
  });

  test("inspect gives the window by component and unit, for a session and for a file", async () => {
    const inspected = JSON.parse(
      (await run("inspect", session, "--json", "--data", service.data)).stdout,
    ) as { units: unknown[]; used: number; components: Record<string, number> };
    expect(inspected.units).toHaveLength(2);
    expect(Object.values(inspected.components).reduce((sum, tokens) => sum + tokens, 0)).toBe(
      inspected.used,
    );
    const file = join(folder, "request.json");
    writeFileSync(
      file,
      JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: "hello world" }] }),
    );
    const { stdout } = await run("inspect", file);
    expect(stdout).toContain("gpt-4o: 6 of 103,424 tokens (exact");
  });

  test("inspect shows which units touch an area of the user's", async () => {
    const config = join(folder, "areas.yaml");
    writeFileSync(
      config,
      'priority_areas: [{ name: "To Do List", priority: 1, patterns: ["TODO"] }]',
    );
    const file = join(folder, "areas.json");
    const messages = ["see the todo list", "hello"].map((content) => ({ role: "user", content }));
    writeFileSync(file, JSON.stringify({ model: "gpt-4o", messages }));
    const { stdout } = await run("inspect", file, "--config", config);
    expect(stdout).toMatch(/P1\s+\d+\s+see the todo list/);
    expect(stdout).toMatch(/P2\s+\d+\s+hello/);
  });

  test("doctor finds the running service, and says what to do without one", async () => {
    const good = await run("doctor", "--data", service.data);
    expect([good.code, good.stdout]).toEqual([0, expect.stringMatching(/ok\s+service/)]);
    const none = await run("doctor", "--data", join(folder, "nobody"));
    expect([none.code, none.stdout]).toEqual([
      0,
      expect.stringContaining("`plimsoll run` or `plimsoll serve` starts it"),
    ]);
  });

  test("a second service on the same folder is refused", async () => {
    const { code, stderr } = await run("serve", "--port", "0", "--data", service.data);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`at ${service.url}`)]);
  });
});

describe("wrong use", () => {
  test.each([
    ["an unknown command", ["bogus"], 2, "unknown command 'bogus'"],
    ["an unknown flag", ["serve", "--prot", "1"], 2, "unknown option '--prot'"],
    ["a port that is none", ["serve", "--port", "99999"], 2, "0 to 65535"],
    ["an unknown client", ["env", "vim"], 2, "Choose one of claude"],
    ["a config that is not there", ["serve", "--config", "/nowhere/c.yaml"], 2, "Check the path"],
    [
      "a session that is not there",
      ["log", "ses_0000000000000000000000"],
      1,
      "Run `plimsoll serve`",
    ],
    ["a file that is no request", ["inspect", program], 2, "cannot be read as JSON"],
    ["neither file nor session", ["inspect", "nothing"], 2, "neither a file nor a session id"],
  ])("%s gets one sentence", async (_name, words, code, sentence) => {
    const ran = await run(...words);
    expect(ran.code).toBe(code);
    expect(ran.stderr).toContain(sentence);
    expect(ran.stderr).not.toContain("    at ");
  });

  test("a config with a misspelt key names the right one", async () => {
    const file = join(folder, "misspelt.yaml");
    writeFileSync(file, "provders: {}\n");
    const { code, stderr } = await run("serve", "--config", file, "--data", join(folder, "d1"));
    expect([code, stderr]).toEqual([2, expect.stringContaining('did you mean "providers"?')]);
  });

  test("a port in use is named, with what to do", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const port = String((taken.address() as AddressInfo).port);
    const { code, stderr } = await run("serve", "--port", port, "--data", join(folder, "d2"));
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`Port ${port} on 127.0.0.1 is already in use`),
    ]);
    taken.close();
  });

  test("a database that is none, and a folder that cannot be used, are refused and left alone", async () => {
    const data = join(folder, "d3");
    mkdirSync(data);
    writeFileSync(
      join(data, "plimsoll.db"),
      "not a database at all, and rather long for a header".repeat(50),
    );
    const broken = await run("serve", "--port", "0", "--data", data);
    expect([broken.code, broken.stderr]).toEqual([
      1,
      expect.stringContaining("is not a readable database"),
    ]);
    writeFileSync(join(folder, "a-file"), "");
    const noFolder = await run("serve", "--port", "0", "--data", join(folder, "a-file", "x"));
    expect([noFolder.code, noFolder.stderr]).toEqual([
      1,
      expect.stringContaining("Choose another folder"),
    ]);
    symlinkSync(data, join(folder, "link"));
    const link = await run("serve", "--port", "0", "--data", join(folder, "link"));
    expect([link.code, link.stderr]).toEqual([1, expect.stringContaining("symbolic link")]);
  });
});

test("every command explains itself with an example", async () => {
  for (const command of ["serve", "env", "inspect", "sessions", "log", "doctor"]) {
    const { code, stdout } = await run(command, "--help");
    expect([code, stdout]).toEqual([0, expect.stringContaining(`Example:\n  plimsoll ${command}`)]);
  }
});

test.each([
  ["claude-code", "export ANTHROPIC_BASE_URL=http://127.0.0.1:4141"],
  ["claude", "export ANTHROPIC_BASE_URL=http://127.0.0.1:4141"],
  ["pi", '"baseUrl": "http://127.0.0.1:4141/v1beta"'],
  ["openai", "export OPENAI_BASE_URL=http://127.0.0.1:4141/v1"],
  ["codex", 'openai_base_url = "http://127.0.0.1:4141/v1"'],
])("env %s prints what that client needs", async (client, line) => {
  expect((await run("env", client)).stdout).toContain(line);
});

test("env without a client lists each client on a line of its own", async () => {
  const { code, stdout } = await run("env");
  expect(code).toBe(0);
  const [, ...rows] = stdout.trim().split("\n");
  const names = rows.map((row) => row.split(" ")[0] ?? "");
  expect(names).toEqual([...new Set(names)]);
  expect(rows).toContainEqual(
    expect.stringMatching(/^claude +Claude Code +ANTHROPIC_BASE_URL +plimsoll run -- claude$/),
  );
  expect(rows).toContainEqual(expect.stringMatching(/^codex .*~\/\.codex\/config\.toml/));
});

test("env knows every agent that run starts", async () => {
  const { stderr } = await run("run", "--", "winamp");
  const agents = /It knows ([^.]*)\./.exec(stderr)?.[1]?.split(", ") ?? [];
  const { stdout } = await run("env", "--json");
  const { items } = JSON.parse(stdout) as {
    readonly items: readonly { readonly client: string; readonly run: boolean }[];
  };
  expect(agents).toContain("goose");
  expect(items.filter(({ run: starts }) => starts).map(({ client }) => client)).toEqual(agents);
});

test("the data folder is the user's alone", () => {
  expect(statSync(service.data).mode & 0o077).toBe(0);
  chmodSync(service.data, 0o700);
});
