/** Signals that stop a program. The first signal starts an orderly stop. A second Ctrl-C stops the program immediately. */

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/**
 * What to do about a signal. stop: begin an orderly stop. same: the stop is already under way. at-once: stop without waiting any
 * longer.
 */
export type StopVerdict = "stop" | "same" | "at-once";

/** Exit codes as shells use them. */
export const signalCodes: Readonly<Record<StopSignal, number>> = {
  SIGINT: 130,
  SIGTERM: 143,
  SIGHUP: 129,
};

/**
 * Signals within this time are treated as one. A keystroke may arrive more than once: the terminal sends its signal to the whole
 * foreground group, and npm, which belongs to that group, forwards it to its child.
 */
const keystrokeMs = 250;

/**
 * Contract: only a second SIGINT stops the program immediately. SIGTERM does not, because supervisors and scripts/bootstrap.mjs
 * may send it several times, and together with the terminal's SIGINT.
 */
export function createStopDecider(): (signal: StopSignal, atMs: number) => StopVerdict {
  let isStopping = false;
  let interruptedAt: number | undefined;
  return (signal, atMs) => {
    if (signal === "SIGINT") {
      if (interruptedAt !== undefined && atMs - interruptedAt > keystrokeMs) return "at-once";
      interruptedAt ??= atMs;
    }
    if (isStopping) return "same";
    isStopping = true;
    return "stop";
  };
}

/** Calls `stop` once. `endAtOnce` must end the process. */
export function onStopSignals(
  stop: (signal: StopSignal) => void,
  endAtOnce: (signal: StopSignal) => void,
): void {
  const decide = createStopDecider();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => {
      const verdict = decide(signal, performance.now());
      if (verdict === "stop") stop(signal);
      else if (verdict === "at-once") endAtOnce(signal);
    });
}
