/** What `plimsoll top` does to the terminal it runs in: keys, sizes, and what is left behind. */

import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import {
  type PseudoTerminal,
  runInTerminal,
  type TerminalOptions,
} from "./harness/pseudo-terminal.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { makeDataFolder, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const names = Array.from({ length: 14 }, (_, index) => `talk-${String(index).padStart(2, "0")}`);

let upstream: Upstream;
let service: Service;
let data: string;
const open: PseudoTerminal[] = [];

function top(options: TerminalOptions = {}, words = ["top", "--data", data]): PseudoTerminal {
  const terminal = runInTerminal(words, options);
  open.push(terminal);
  return terminal;
}

/** The name of the session that is selected. */
function selected(screen: readonly string[]): string {
  return /talk-\d\d/.exec(screen.find((line) => line.includes("►")) ?? "")?.[0] ?? "";
}

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted.")) });
  data = await makeDataFolder();
  service = await startService({
    upstreams: {},
    data,
    config: { providers: { anthropic: { baseUrl: upstream.url } } },
  });
  for (const name of names) {
    const body = bodyOf("anthropic", [{ role: "user", content: `${name} says hello.` }]);
    const headers = { "x-plimsoll-session": name, "x-plimsoll-agent": name };
    expect((await ask(service.url, { wire: "anthropic", body, headers })).status).toBe(200);
  }
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

test("arrows, pages, enter and escape do what they say, in either form of their sequences", async () => {
  const terminal = top({ rows: 40 });
  const at = async (press: string, expected: RegExp): Promise<string> => {
    terminal.press(press);
    const isAt = (screen: string): boolean => expected.test(selected(screen.split("\n")));
    return selected(await terminal.shows(isAt));
  };
  const first = selected(await terminal.shows("►"));
  const second = await at("\u001b[B", new RegExp(`^talk-(?!${first.slice(5)})`));
  expect(await at("\u001b[A", new RegExp(first))).toBe(first);
  expect(await at("\u001bOB", new RegExp(second))).toBe(second);
  expect(await at("\u001bOA", new RegExp(first))).toBe(first);
  const last = await at(
    "\u001b[6~\u001b[6~",
    new RegExp(`^talk-(?!${first.slice(5)}|${second.slice(5)})`),
  );
  expect([first, last].sort()).toEqual([names[0], names.at(-1)]);
  expect(await at("\u001b[5~\u001b[5~", new RegExp(first))).toBe(first);
  // Units can be pinned only after the window of the newly selected session was read.
  await terminal.shows("Nothing was edited");
  terminal.press("p");
  await terminal.shows("Which unit should stay as it is?");
  terminal.press("\u001b");
  await terminal.shows((screen) => !screen.includes("Which unit should stay as it is?"));
});

test("what no hand could type is no command: a long paste without marks, and half of one with them", async () => {
  const terminal = top();
  const first = selected(await terminal.shows("►"));
  terminal.press("a quick brown fox that says ? and q");
  // A key that comes in the same piece is part of the paste: so it is pressed until it is one of its own.
  const moved = await terminal.shows((screen) => {
    terminal.press("j");
    return selected(screen.split("\n")) !== first;
  });
  expect(moved.join("\n")).not.toContain("Display");
  terminal.press("\u001b[200~q?");
  terminal.press("q");
  terminal.press("\u001b[201~?");
  await terminal.shows("Display");
});

test("only rows that change are written again, and after a change of size all of them", async () => {
  const terminal = top();
  const before = await terminal.shows("Nothing was edited");
  const start = terminal.written.length;
  terminal.press("?");
  await terminal.shows("Display");
  terminal.press("x");
  const back = await terminal.shows((screen) => !screen.includes("Display"));
  expect(back).toEqual(before);
  expect(terminal.written.slice(start)).not.toContain("⊖ Plimsoll");
  const resized = terminal.written.length;
  terminal.resize(100, 30);
  const large = await terminal.shows(
    (screen) => screen.split("\n")[29]?.includes("q quit") === true,
  );
  expect(large).toHaveLength(30);
  expect(terminal.written.slice(resized)).toContain("⊖ Plimsoll");
  terminal.resize(80, 24);
  await terminal.shows((screen) => screen === before.join("\n"));
});

test("a program that was stopped draws everything again when it goes on", async () => {
  const terminal = top();
  const before = await terminal.shows("Nothing was edited");
  terminal.kill("SIGSTOP");
  const stopped = terminal.written.length;
  terminal.kill("SIGCONT");
  await terminal.shows(() => terminal.written.slice(stopped).includes("quit"));
  expect(terminal.written.slice(stopped)).toContain("⊖ Plimsoll");
  await terminal.shows((screen) => screen === before.join("\n"));
});

test.each([
  ["ctrl-c", (terminal: PseudoTerminal) => terminal.press("\u0003")],
  ["q", (terminal: PseudoTerminal) => terminal.press("q")],
])("after %s the shell has its terminal as it was: lines, echo and signals", async (_, end) => {
  const script = `before=$(stty -g); "$0" "$1" top --data "$2"; [ "$before" = "$(stty -g)" ] && echo "as it ""was"`;
  const terminal = top({ command: ["/bin/sh", "-c", script] }, [process.execPath, program, data]);
  await terminal.shows("● live");
  end(terminal);
  await terminal.shows("as it was");
  expect((await terminal.exited).code).toBe(0);
  expect(terminal.buffer()).toBe("normal");
});
