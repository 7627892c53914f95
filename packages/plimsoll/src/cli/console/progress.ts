/** A bar on standard error for what takes longer than a second. Where nobody sits before a terminal, nothing is printed. */

import { grouped } from "../../text/digits.ts";
import { bar, oneLine } from "./terminal.ts";

export interface Progress {
  /** So much of it is done by now. */
  step(done: number): void;
  /** What is being done. */
  note(text: string): void;
  /** Takes the line away. May be called twice. */
  end(): void;
}

export interface ProgressOptions {
  /** How many steps there are; without it, or before the first, the bar runs to and fro. */
  readonly total?: number;
  /** The command prints data for programs. */
  readonly json?: boolean | undefined;
  /** The command prints as it goes: on a terminal that is progress enough, and a bar would stand in its lines. */
  readonly isStreaming?: boolean;
  /** The command reads standard input: a bar would stand in what somebody types. */
  readonly readsInput?: boolean;
}

/** Where a bar is drawn, and by which clock. */
export interface ProgressScreen {
  readonly columns: () => number;
  readonly write: (text: string) => void;
  /** Milliseconds that only ever grow. */
  readonly now: () => number;
  /** Calls again and again, until the answer is called. */
  readonly every: (milliseconds: number, call: () => void) => () => void;
  /** Calls when the process ends, until the answer is called. */
  readonly atExit: (call: () => void) => () => void;
}

/** What is shown of it at one moment. */
export interface ProgressState {
  readonly label: string;
  readonly total?: number | undefined;
  readonly done: number;
  readonly note: string;
  readonly elapsedMs: number;
}

const appearsAfterMs = 1000;
const redrawMs = 100;
const widestBar = 30;
const narrowestBar = 8;
/** From one end to the other. */
const pulseMs = 2000;
/** A beginning says little of the rest. */
const guessFromShare = 0.02;
const usualColumns = 80;
const clearLine = "\r\u001b[2K";

/** Contract: `end` is called whatever `work` does. */
export async function withProgress<T>(
  label: string,
  options: ProgressOptions,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const { stdin, stdout, stderr, env } = process;
  const isShown = mayShow(options, { stdin, stdout, stderr, env });
  const progress = startProgress(isShown ? terminalScreen : undefined, label, options.total);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}

/** What of a process decides. */
export interface Surroundings {
  readonly stdin: { readonly isTTY?: boolean };
  readonly stdout: { readonly isTTY?: boolean };
  readonly stderr: { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function mayShow(
  { json, isStreaming, readsInput }: ProgressOptions,
  { stdin, stdout, stderr, env }: Surroundings,
): boolean {
  if (json === true || stderr.isTTY !== true) return false;
  if (env["TERM"] === "dumb" || (env["CI"] ?? "") !== "") return false;
  if (isStreaming === true && stdout.isTTY === true) return false;
  return readsInput !== true || stdin.isTTY !== true;
}

/** Without a screen nothing is ever written. */
export function startProgress(
  screen: ProgressScreen | undefined,
  label: string,
  total?: number,
): Progress {
  if (screen === undefined) return silent;
  const begun = screen.now();
  let done = 0;
  let note = "";
  let drawnAt: number | undefined;
  const draw = (): void => {
    const now = screen.now();
    const elapsedMs = now - begun;
    if (elapsedMs < appearsAfterMs || now - (drawnAt ?? 0) < redrawMs) return;
    drawnAt = now;
    const line = progressLine({ label, total, done, note, elapsedMs }, screen.columns());
    screen.write(clearLine + line);
  };
  const clear = (): void => {
    if (drawnAt !== undefined) screen.write(clearLine);
    drawnAt = undefined;
  };
  const stopTimer = screen.every(redrawMs, draw);
  const stopWatching = screen.atExit(clear);
  let isOver = false;
  return {
    step: (by) => {
      done = by;
      if (!isOver) draw();
    },
    note: (text) => {
      note = text;
      if (!isOver) draw();
    },
    end: () => {
      if (isOver) return;
      isOver = true;
      stopTimer();
      stopWatching();
      clear();
    },
  };
}

const silent: Progress = {
  step: () => undefined,
  note: () => undefined,
  end: () => undefined,
};

/** One line, one column narrower than the terminal: it never wraps. */
export function progressLine(state: ProgressState, columns: number): string {
  const { label, note } = state;
  const words = [figuresOf(state), note].filter((word) => word !== "").join(" · ");
  const room = columns - 1 - label.length - words.length - 2;
  const width = Math.min(widestBar, room);
  const drawn = width < narrowestBar ? [] : [drawing(state, width)];
  return oneLine([label, ...drawn, words].join(" "), Math.max(1, columns - 1));
}

function drawing(state: ProgressState, width: number): string {
  const share = shareOf(state);
  return share === undefined ? pulse(state.elapsedMs, width) : bar(share, width);
}

/** Undefined: nobody knows. */
function shareOf({ total, done }: ProgressState): number | undefined {
  if (total === undefined || total <= 0 || done <= 0) return undefined;
  return Math.min(1, done / total);
}

/** A short block that runs to and fro. */
function pulse(elapsedMs: number, width: number): string {
  const block = Math.max(2, Math.round(width / 5));
  const phase = (elapsedMs % (2 * pulseMs)) / pulseMs;
  const along = phase <= 1 ? phase : 2 - phase;
  const before = Math.round(along * (width - block));
  return "░".repeat(before) + "█".repeat(block) + "░".repeat(width - block - before);
}

function figuresOf(state: ProgressState): string {
  const { done, total, elapsedMs } = state;
  const share = shareOf(state);
  if (share !== undefined) {
    const counted = `${Math.floor(share * 100)} % · ${grouped(done)} of ${grouped(total ?? 0)}`;
    const leftMs = (elapsedMs / share) * (1 - share);
    return share < guessFromShare ? counted : `${counted} · ${duration(leftMs)} left`;
  }
  const counted = done > 0 ? [`${grouped(done)} done`] : [];
  return [...counted, duration(elapsedMs)].join(" · ");
}

function duration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(seconds % 60).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

const terminalScreen: ProgressScreen = {
  columns: () => process.stderr.columns ?? usualColumns,
  write: (text) => void process.stderr.write(text),
  now: () => performance.now(),
  every: (milliseconds, call) => {
    // A bar alone keeps no process alive.
    const timer = setInterval(call, milliseconds).unref();
    return () => clearInterval(timer);
  },
  atExit: (call) => {
    const signals = ["SIGINT", "SIGTERM"] as const;
    const handlers = signals.map((signal) => {
      const handler = (): void => {
        call();
        // With its handler gone, the signal does what it always did.
        process.off(signal, handler);
        process.kill(process.pid, signal);
      };
      process.once(signal, handler);
      return { signal, handler };
    });
    process.once("exit", call);
    return () => {
      process.off("exit", call);
      for (const { signal, handler } of handlers) process.off(signal, handler);
    };
  },
};
