/** Runs the program in a real pseudo-terminal (node-pty), and shows the screen that a user would see (xterm). */
import { fileURLToPath } from "node:url";
import { spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";
import { childEnvironment } from "./child-environment.ts";
import { OWNER_TOKEN } from "./service.ts";
import { eventually, within } from "./waiting.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/plimsoll.mjs", import.meta.url));
const SHOWN_LIMIT_MS = 20_000;

export interface PseudoTerminal {
  readonly pid: number;
  /** Every byte that the program has written. */
  readonly written: string;
  /** The lines of the screen, without the spaces at their ends. */
  screen(): readonly string[];
  /** "alternate" while a program uses the full screen. */
  buffer(): "normal" | "alternate";
  press(keys: string): void;
  resize(columns: number, rows: number): void;
  /** Waits until the screen meets the condition. Throws an error with the last screen if that takes too long. */
  shows(what: string | RegExp | ((text: string) => boolean)): Promise<readonly string[]>;
  kill(signal: NodeJS.Signals): void;
  readonly exited: Promise<{ readonly code: number; readonly signal: number | undefined }>;
}

export interface TerminalOptions {
  /** The command to run; absent: the program itself. */
  readonly command?: readonly [string, ...string[]];
  readonly cwd?: string;
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
}

export function runInTerminal(
  words: readonly string[],
  options: TerminalOptions = {},
): PseudoTerminal {
  const { columns = 80, rows = 24, env = {}, cwd } = options;
  const [file, ...first] = options.command ?? [process.execPath, PROGRAM];
  // xterm executes every escape sequence that it knows, like a user's terminal.
  const screen = new headless.Terminal({ cols: columns, rows, allowProposedApi: true });
  const child = spawn(file, [...first, ...words], {
    name: "xterm-256color",
    cols: columns,
    rows,
    ...(cwd === undefined ? {} : { cwd }),
    env: childEnvironment({ PLIMSOLL_TOKEN: OWNER_TOKEN, ...env }),
  });
  let written = "";
  child.onData((data) => {
    written += data;
    screen.write(data);
  });
  const exited = new Promise<{ code: number; signal: number | undefined }>((resolve) => {
    // Wait until the screen has read the last output.
    child.onExit(({ exitCode, signal }) =>
      screen.write("", () => resolve({ code: exitCode, signal })),
    );
  });
  // Kill the program if the test run is interrupted.
  const killChild = (): void => child.kill("SIGKILL");
  process.once("exit", killChild);
  void exited.then(() => process.off("exit", killChild));

  const lines = (): readonly string[] => {
    const { active } = screen.buffer;
    return Array.from(
      { length: screen.rows },
      (_, row) =>
        active
          .getLine(active.baseY + row)
          ?.translateToString(true, 0, screen.cols)
          .trimEnd() ?? "",
    );
  };
  const isShown = (what: string | RegExp | ((text: string) => boolean)): boolean => {
    const text = lines().join("\n");
    if (typeof what === "string") return text.includes(what);
    return typeof what === "function" ? what(text) : what.test(text);
  };
  return {
    pid: child.pid,
    get written() {
      return written;
    },
    screen: lines,
    buffer: () => screen.buffer.active.type,
    press: (keys) => child.write(keys),
    resize: (toColumns, toRows) => {
      screen.resize(toColumns, toRows);
      child.resize(toColumns, toRows);
    },
    shows: async (what) => {
      const shown = eventually(SHOWN_LIMIT_MS, `a screen with ${what}`, async () =>
        isShown(what) ? lines() : undefined,
      );
      return shown.catch((cause: unknown) => {
        throw new Error(`${String(cause)}\n${lines().join("\n")}`);
      });
    },
    kill: (signal) => child.kill(signal),
    exited: within(120_000, "the end of the program", exited),
  };
}
