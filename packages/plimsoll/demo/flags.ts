/** The flags of the demo. */

import { parseArgs } from "node:util";

export interface Flags {
  readonly port: number | undefined;
  readonly data: string | undefined;
  readonly isKept: boolean;
  readonly isFast: boolean;
  readonly isHeld: boolean;
  readonly turns: number;
  readonly sessions: number;
  readonly seed: number;
  readonly paceMs: number;
}

export const usage = `npm run demo -- [flags]

  --fast          without pauses, and ends by itself
  --hold          stays up after the report until Ctrl-C (usual on a terminal, unless --fast)
  --turns N       turns of the first session; the others take a third of it (default: 300)
  --sessions N    sessions side by side, 1 to 40 (default: 4)
  --pace MS       from one turn to the next (default: 250)
  --seed N        another seed, another conversation (default: 1)
  --port N        port of the service (default: 4141 if it is free, else any)
  --data FOLDER   keep the data in this folder, which must be new or empty
  --keep          keep the data where it is`;

const options = {
  fast: { type: "boolean", default: false },
  hold: { type: "boolean", default: false },
  keep: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
  turns: { type: "string", default: "300" },
  sessions: { type: "string", default: "4" },
  pace: { type: "string", default: "250" },
  seed: { type: "string", default: "1" },
  port: { type: "string" },
  data: { type: "string" },
} as const;

type ReadFlags =
  | { readonly kind: "flags"; readonly flags: Flags }
  | { readonly kind: "help" }
  | { readonly kind: "wrong"; readonly sentence: string };

/** Contract: never throws. */
export function readFlags(words: readonly string[], isTerminal: boolean): ReadFlags {
  try {
    const { values } = parseArgs({ args: [...words], options });
    return values.help ? { kind: "help" } : { kind: "flags", flags: flagsOf(values, isTerminal) };
  } catch (error) {
    return { kind: "wrong", sentence: error instanceof Error ? error.message : String(error) };
  }
}

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>["values"];

function flagsOf(values: Values, isTerminal: boolean): Flags {
  return {
    port: values.port === undefined ? undefined : numberOf("port", values.port, [0, 65_535]),
    data: values.data,
    isKept: values.keep || values.data !== undefined,
    isFast: values.fast,
    isHeld: values.hold || (isTerminal && !values.fast),
    turns: numberOf("turns", values.turns, [1, 5_000]),
    sessions: numberOf("sessions", values.sessions, [1, 40]),
    seed: numberOf("seed", values.seed, [0, 1_000_000]),
    paceMs: values.fast ? 0 : numberOf("pace", values.pace, [0, 60_000]),
  };
}

function numberOf(name: string, text: string, [least, most]: readonly [number, number]): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most)
    return value;
  throw new Error(`--${name} must be a whole number from ${least} to ${most}.`);
}
