/**
 * A progress bar on standard error for work that takes longer than a
 * second. Nothing is printed unless standard error is a terminal.
 */

import { grouped } from "../../text/digits.ts";
import { bar, oneLine } from "./terminal.ts";

export interface Progress {
  /** `done`: the number of steps done so far. */
  step(done: number): void;
  /** Shows a short text about the current step. */
  note(text: string): void;
  /** Removes the progress bar from the screen. May be called twice. */
  end(): void;
}

export interface ProgressOptions {
  /** Total number of steps. If it is unknown, or before the first step, the bar moves back and forth. */
  readonly total?: number;
  /** True if the command prints data for programs. No bar is then shown. */
  readonly json?: boolean | undefined;
  /**
   * True if the command prints while it works. On a terminal, this output already shows the progress, and a bar would disturb its
   * lines.
   */
  readonly isStreaming?: boolean;
  /** True if the command reads standard input. A bar would disturb the user's typing. */
  readonly readsInput?: boolean;
}

/** The terminal on which a bar is drawn, and the clock that times its redraws. */
export interface ProgressScreen {
  readonly columns: () => number;
  readonly write: (text: string) => void;
  /** A clock in milliseconds that never goes backwards. */
  readonly now: () => number;
  /** Calls `call` repeatedly. Returns a function that stops these calls. */
  readonly every: (milliseconds: number, call: () => void) => () => void;
  /** Calls `call` when the process ends. Returns a function that cancels this. */
  readonly atExit: (call: () => void) => () => void;
}

/** The state of a bar at one moment. */
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
/** Time in which the moving block of a pulsing bar travels from one end to the other. */
const pulseMs = 2000;
/** The remaining time is estimated only from this share of the work on. */
const guessFromShare = 0.02;
const usualColumns = 80;
const clearLine = "\r\u001b[2K";

/** Contract: `end` is called even if `work` throws. */
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

/** The properties of the process that determine whether a bar is shown. */
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

/** Starts a bar on the screen. If `screen` is undefined, nothing is ever written. */
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

/** The bar as one line. It is one column narrower than the terminal, so that it never wraps. */
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

/** The share of the work that is done. Undefined if it is unknown. */
function shareOf({ total, done }: ProgressState): number | undefined {
  if (total === undefined || total <= 0 || done <= 0) return undefined;
  return Math.min(1, done / total);
}

/** Draws a short block that moves back and forth. */
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
    // The timer of a bar must not keep the process alive.
    const timer = setInterval(call, milliseconds).unref();
    return () => clearInterval(timer);
  },
  atExit: (call) => {
    const signals = ["SIGINT", "SIGTERM"] as const;
    const handlers = signals.map((signal) => {
      const handler = (): void => {
        call();
        // Once the handler is removed, the same signal ends the process.
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
