/** `plimsoll top` in a real pseudo-terminal, in front of the real service, as a user sees it. */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import type { JsonObject } from "./harness/json.ts";
import {
  type PseudoTerminal,
  runInTerminal,
  type TerminalOptions,
} from "./harness/pseudo-terminal.ts";
import { type Asked, ask, bodyOf } from "./harness/raw-client.ts";
import {
  makeDataFolder,
  OWNER_TOKEN,
  readEdits,
  type Service,
  startService,
} from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const model = {
  contextWindow: 8_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
/** What a terminal could obey, and what could push its columns apart. */
const hostile =
  "\u001b[2J\u001b[1;1H\u009b31m\u001b]0;title\u0007\u202e\u200d👩‍👩‍👧 日本語 \r\n evil ";
/** Headers hold no more than this: a control sequence in one byte, and a name that is far too long. */
const hostileName = `\u009b2J\u009b31mevil${"x".repeat(150)}`;

let upstream: Upstream;
let service: Service;
let data: string;
const open: PseudoTerminal[] = [];

function start(): Promise<Service> {
  const models = { "claude-sonnet-4-6": model };
  const anthropic = { baseUrl: upstream.url, models };
  return startService({ upstreams: {}, data, config: { providers: { anthropic } } });
}

function top(options: TerminalOptions = {}, ...flags: readonly string[]): PseudoTerminal {
  const terminal = runInTerminal(["top", "--data", data, ...flags], options);
  open.push(terminal);
  return terminal;
}

/** A conversation that grows by about so many tokens with each turn. */
class Talk {
  readonly #history: JsonObject[] = [];
  readonly #name: string;
  readonly #agent: string;
  readonly #random: ReturnType<typeof diceOf>;
  session = "";

  constructor(agent: string, seed: number) {
    this.#name = `talk-${seed}`;
    this.#agent = agent;
    this.#random = diceOf(seed);
  }

  async say(tokens = 300, prefix = ""): Promise<Asked> {
    // The user's first words are the title of the session, so the list shows the agent's name.
    const isNamed = this.#history.length === 0 && /^\w+$/.test(this.#agent);
    const name = isNamed ? `${this.#agent} ` : "";
    this.#history.push({ role: "user", content: name + prefix + prose(this.#random, tokens) });
    const system = "You are a careful shipwright. ".repeat(40);
    const asked = await ask(service.url, {
      wire: "anthropic",
      body: { ...bodyOf("anthropic", [...this.#history]), system, max_tokens: 500 },
      headers: { "x-plimsoll-session": this.#name, "x-plimsoll-agent": this.#agent },
    });
    expect(asked.status, asked.answer).toBe(200);
    this.session = asked.sessionId;
    this.#history.push(asked.message);
    return asked;
  }

  async sayTimes(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn++) await this.say();
  }
}

/** The first line of a screen of 80 columns. */
function header(): string {
  return `${` ⊖ Plimsoll  ${service.url}`.padEnd(73)}● live`;
}

function lineWith(screen: readonly string[], words: string): string {
  return screen.find((line) => line.includes(words)) ?? "";
}

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted, and on to the next.")) });
  data = await makeDataFolder();
  service = await start();
});
afterEach(async () => {
  for (const terminal of open.splice(0)) {
    terminal.kill("SIGKILL");
    await terminal.exited;
  }
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
  await rm(data, { recursive: true, force: true });
});

describe("a terminal of 80 by 24 in front of a service that works", () => {
  test("shows the sessions, follows a turn, compacts, undoes, pins and releases, and gives the terminal back", async () => {
    const builder = new Talk("builder", 1);
    await builder.sayTimes(11);
    const terminal = top();
    await terminal.shows("● live");
    const first = await terminal.shows(/S██+U██/);
    expect(terminal.buffer()).toBe("alternate");
    expect(first[0]).toBe(header());
    expect(lineWith(first, "► ")).toMatch(
      /^ ► {2}■{7}·+│╱+ +5\d % {2}normal +11 {2}claude-sonnet-4-6 +builder \S.*$/,
    );
    expect(lineWith(first, "conversation")).toMatch(
      /^ system 281 · tools 0 · conversation 3,\d{3}/,
    );
    expect(first.join("\n")).toContain("Nothing was edited");

    await builder.say();
    const grown = await terminal.shows(/normal +12 /);
    expect(lineWith(grown, "builder")).toMatch(/58 % {2}normal +12/);

    terminal.press("c");
    const compacted = await terminal.shows(
      /√ Compacted: 4,\d{3} → \d,\d{3} tokens, \d+ → \d+ messages, by \w+/,
    );
    expect(lineWith(compacted, "Context reduced")).toMatch(
      /^ √ Context reduced to \d,\d{3} \/ 7,000 tokens +■+·+ +3\d %$/,
    );
    const edited = await terminal.shows(/#1–\d+ {2}\w+ ×\d+ {2}\d,\d{3} → \d,\d{3}/);
    expect(lineWith(edited, "builder")).toMatch(/3\d % {2}normal/);
    const made = (await readEdits(service, builder.session)).length;
    expect(made).toBeGreaterThan(0);

    terminal.press("u");
    await terminal.shows(/√ Undone: the window holds 4,\d{3} tokens now\./);
    const undone = await terminal.shows("undone");
    expect(undone.join("\n")).toContain(`undoes #1–${made}`);
    expect((await readEdits(service, builder.session)).length).toBeGreaterThan(made);

    terminal.press("p");
    await terminal.shows("Which unit should stay as it is? Unit 24 of 24");
    terminal.press("k");
    await terminal.shows(/Unit 23 of 24[\s\S]+► +23 +U user/);
    terminal.press("\r");
    await terminal.shows("√ Pinned: message 23 stays unchanged until released.");
    const pins = (await readEdits(service, builder.session)).filter(
      ({ strategy, action }) => strategy === "pin" && action.kind === "pin",
    );
    expect(pins).toHaveLength(1);
    // Both keys at once, as over a slow line.
    terminal.press("pk");
    await terminal.shows(/► +23 +U user +\d+ +pinned/);
    terminal.press("P");
    await terminal.shows(`√ Released: the next compaction may remove it (pin ${pins[0]?.seq}).`);

    // What is pasted is no command, though it holds the letters of some.
    const edits = (await readEdits(service, builder.session)).length;
    terminal.press("\u001b[200~quick cucumber\u001b[201~");
    terminal.press("?");
    await terminal.shows("Display");
    expect(await readEdits(service, builder.session)).toHaveLength(edits);

    terminal.press("q");
    expect(await terminal.exited).toEqual({ code: 0, signal: 0 });
    expect(terminal.buffer()).toBe("normal");
    expect(terminal.screen().join("").trim()).toBe("");
    // Cursor shown, pastes as before, the alternate screen left: after everything else.
    for (const [on, off] of [
      ["\u001b[?25l", "\u001b[?25h"],
      ["\u001b[?2004h", "\u001b[?2004l"],
      ["\u001b[?1049h", "\u001b[?1049l"],
    ] as const)
      expect(terminal.written.lastIndexOf(off)).toBeGreaterThan(terminal.written.lastIndexOf(on));
  });

  test("shows a compaction that a turn needs, and says why the service refuses one", async () => {
    const full = new Talk("full", 2);
    await full.sayTimes(17);
    const terminal = top();
    await terminal.shows(/► .* full \S.*$/m);
    for (let turn = 0; turn < 10; turn++) {
      const asked = await full.say();
      if (asked.headers.get("x-plimsoll-action") === "compacted") break;
    }
    await terminal.shows(/√ Context reduced to \d,\d{3} \/ 7,000 tokens/);
    await terminal.shows(/►√? .* full \S.*$/m);
    terminal.press("c");
    // The service's own sentence, on as many lines as it takes.
    const refused = await terminal.shows("! There is nothing to take out");
    expect(refused.join(" ").replaceAll(/\s+/g, " ")).toContain(
      "the conversation is short, or all of it must stay.",
    );
  });

  test("is not moved by whatever agents and messages hold", async () => {
    const evil = new Talk(hostileName, 3);
    await evil.say(100, hostile.repeat(20));
    await evil.say(100, hostile);
    const terminal = top();
    const first = await terminal.shows(/S██+U/);
    // The agent's name, and the title without what nobody sees.
    expect(lineWith(first, "── ses_")).toContain("\\x9b2J");
    terminal.press("p");
    const screen = await terminal.shows("Which unit should stay as it is? Unit 4 of 4");
    expect(screen[0]).toBe(header());
    expect(lineWith(screen, " ► ")).toMatch(/^ ► .* normal +2 {2}claude-sonnet-4-6 +\[2J/);
    expect(lineWith(screen, "  U user")).toMatch(/\\x1b\[2J\\x1b\[1;1H\\x9b/);
    expect(screen[23]).toBe(" ↑↓ choose  enter pin  P release  esc back  q quit");
    // Not one byte of it was written as it came.
    for (const piece of [
      "\u009b",
      "\u001b[2J",
      "\u001b[1;1H",
      "\u001b]",
      "\u0007",
      "\u202e",
      "\u200d",
    ])
      expect(terminal.written).not.toContain(piece);
  });

  test("writes no colours with NO_COLOR or --no-color, and some without", async () => {
    await new Talk("plain", 4).say();
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    const colours = /\u001b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[\d;]*)?m/;
    const coloured = top();
    await coloured.shows(/S██+U/);
    expect(coloured.written).toMatch(colours);
    for (const plain of [top({ env: { NO_COLOR: "1" } }), top({}, "--no-color")]) {
      const screen = await plain.shows(/S██+U/);
      expect(plain.written).not.toMatch(colours);
      expect(screen).toEqual(coloured.screen());
    }
  });

  test("follows the size of the terminal, down to where it says that it is too small", async () => {
    const terminal = top();
    await terminal.shows("TURNS  MODEL");
    terminal.resize(120, 40);
    const large = await terminal.shows("TOKENS / LIMIT");
    expect(large[39]).toContain("q quit");
    terminal.resize(50, 10);
    await terminal.shows("it needs 60×12,");
    terminal.resize(80, 24);
    const again = await terminal.shows("TURNS  MODEL");
    expect(again[23]).toContain("q quit");
    expect(again.join("\n")).not.toContain("Too small");
  });

  test("gives the terminal back when it is ended from outside, and by ctrl-c", async () => {
    for (const [end, code] of [
      [(terminal: PseudoTerminal) => terminal.kill("SIGTERM"), 143],
      [(terminal: PseudoTerminal) => terminal.kill("SIGINT"), 130],
      [(terminal: PseudoTerminal) => terminal.kill("SIGHUP"), 129],
      [(terminal: PseudoTerminal) => terminal.press("\u0003"), 0],
    ] as const) {
      const terminal = top();
      await terminal.shows("● live");
      end(terminal);
      expect(await terminal.exited).toEqual({ code, signal: 0 });
      expect(terminal.buffer()).toBe("normal");
      expect(terminal.written.lastIndexOf("\u001b[?25h")).toBeGreaterThan(
        terminal.written.lastIndexOf("\u001b[?25l"),
      );
    }
  });
});

describe("a service that goes away", () => {
  test("is waited for, and found again where it comes back, with what happened since", async () => {
    const sailor = new Talk("sailor", 5);
    await sailor.say();
    const terminal = top();
    await terminal.shows(/► .* 1 {2}claude-sonnet-4-6 +sailor/);
    await service.kill("SIGKILL");
    const waiting = await terminal.shows("○ reconnecting in ");
    expect(lineWith(waiting, "sailor")).toContain("normal");
    terminal.press("c");
    await terminal.shows("! The service could not be reached");
    const before = service.url;
    service = await start();
    expect(service.url).not.toBe(before);
    await sailor.say();
    const back = await terminal.shows("● live");
    expect(back[0]).toContain(service.url);
    await terminal.shows(/► .* 2 {2}claude-sonnet-4-6 +sailor/);
    await sailor.say();
    await terminal.shows(/► .* 3 {2}claude-sonnet-4-6 +sailor/);
  });
});

describe("a service of another kind", () => {
  /** Its process is ours, and it answers what it is told to. */
  async function pretend(
    answers: Readonly<Record<string, { readonly status?: number; readonly body: unknown }>>,
  ): Promise<PseudoTerminal> {
    const folder = await makeDataFolder();
    const server = createServer((request, response) => {
      const path = request.url?.split("?")[0] ?? "";
      if (path === "/events") {
        response.writeHead(200, { "content-type": "text/event-stream" }).write(": here\n\n");
        return;
      }
      const { status = 200, body } = answers[path] ?? { status: 500, body: {} };
      response.writeHead(status).end(JSON.stringify(body));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await writeFile(join(folder, "service.json"), JSON.stringify({ pid: process.pid, url }));
    const terminal = runInTerminal(["top", "--data", folder]);
    open.push(terminal);
    void terminal.exited.then(async () => {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    });
    return terminal;
  }

  const row = (id: string): JsonObject => {
    const counts = { branches: 1, messages: 0, turns: 0 };
    return {
      id,
      tenant: "",
      wire: "w",
      agent: `agent of ${id}`,
      createdAt: 1,
      updatedAt: 1,
      ...counts,
    };
  };
  const healthy = { "/healthz": { body: { status: "ok" } } };

  test("that has lost a session is shown without it", async () => {
    const unknown = { error: { code: "SESSION_UNKNOWN", message: "There is no such session." } };
    const terminal = await pretend({
      ...healthy,
      "/api/sessions": { body: { items: [row("ses_a")] } },
      "/api/sessions/ses_a/window": { status: 404, body: unknown },
      "/api/sessions/ses_a/edits": { status: 404, body: unknown },
    });
    await terminal.shows("No session yet");
  });

  test("that answers nonsense ends it, with the terminal given back and a sentence", async () => {
    const terminal = await pretend({
      ...healthy,
      "/api/sessions": { body: { items: [row("ses_a")] } },
      "/api/sessions/ses_a/window": { body: { tokens: "many", units: 7 } },
      "/api/sessions/ses_a/edits": { body: { items: [] } },
    });
    expect(await terminal.exited).toMatchObject({ code: 1 });
    expect(terminal.buffer()).toBe("normal");
    expect(terminal.screen().join("\n")).toContain("plimsoll: ");
  });
});

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(words: readonly string[], token = OWNER_TOKEN): Promise<Ran> {
  const env = childEnvironment({ PLIMSOLL_TOKEN: token });
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, "top", ...words],
      { env, timeout: 20_000 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

describe("without a terminal", () => {
  test("one frame is printed as plain text, with or without --once", async () => {
    await new Talk("scripted", 6).say();
    for (const flags of [[], ["--once"]]) {
      const { code, stdout, stderr } = await run([...flags, "--data", data]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^ ⊖ Plimsoll/);
      expect(stdout).toMatch(/normal +1 {2}claude-sonnet-4-6 +scripted/);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
      for (const line of stdout.split("\n")) expect([...line].length).toBeLessThanOrEqual(80);
    }
  });

  test("where no service runs, one sentence says what to do", async () => {
    const nowhere = await makeDataFolder();
    const { code, stdout, stderr } = await run(["--data", nowhere]);
    await rm(nowhere, { recursive: true, force: true });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(
      `plimsoll: No service is running on ${nowhere}. Start \`plimsoll serve\`, or use --data to name the folder of a running service.\n`,
    );
  });

  test("a wrong token is told in the service's own words", async () => {
    const { code, stdout, stderr } = await run(["--once", "--data", data], "wrong".repeat(9));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^plimsoll: .+\n$/);
  });
});
