/** Signals that end a program: the first one in order, a second Ctrl-C at once. */

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** stop: begin to end in order. same: that is under way. at-once: do not wait for it any longer. */
export type StopVerdict = "stop" | "same" | "at-once";

/** Exit codes as shells count them. */
export const signalCodes: Readonly<Record<StopSignal, number>> = {
  SIGINT: 130,
  SIGTERM: 143,
  SIGHUP: 129,
};

/**
 * A keystroke may arrive more than once: the terminal sends it to the whole foreground group, and npm, which is part of
 * that, hands it on to its child. Nobody means two by what comes within this time.
 */
const keystrokeMs = 250;

/**
 * Contract: only a second SIGINT ends at once. Supervisors and scripts/bootstrap.mjs say SIGTERM, as often as they like, also
 * beside the SIGINT of the terminal.
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

/** Calls `stop` once; `endAtOnce` must end the process. */
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
