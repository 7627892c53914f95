/** Says how much the store has of some sessions, or how much was deleted. Pure. */

import type { HoldingSum } from "../message/api.ts";
import { grouped } from "../text/digits.ts";

/** For example `1 session, 42 messages, 3 archive entries, 1.2 MB`. */
export function holdingWords({ sessions, messages, archiveEntries, bytes }: HoldingSum): string {
  return [
    counted(sessions, "session", "sessions"),
    counted(messages, "message", "messages"),
    counted(archiveEntries, "archive entry", "archive entries"),
    byteWords(bytes),
  ].join(", ");
}

function counted(count: number, one: string, many: string): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

const steps = [
  { bytes: 1e9, unit: "GB" },
  { bytes: 1e6, unit: "MB" },
  { bytes: 1e3, unit: "kB" },
] as const;

function byteWords(bytes: number): string {
  const step = steps.find((one) => bytes >= one.bytes);
  return step === undefined ? `${bytes} bytes` : `${(bytes / step.bytes).toFixed(1)} ${step.unit}`;
}
