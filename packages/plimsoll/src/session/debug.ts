/** What the guard thinks, topic by topic, for whoever asks with CONTEXT_DEBUG=true. */

import { inspect } from "node:util";

export type DebugTopic =
  | "context-guard/init-counters"
  | "context-guard/loop-init"
  | "context-guard/schema-estimate"
  | "context-guard/evaluate"
  | "context-guard/evaluate-target"
  | "context-guard/provider-eval"
  | "context-guard/build-metrics"
  | "context-guard/enforce";

/** Fields are made only when somebody listens. */
export type Debug = (topic: DebugTopic, fields: () => Readonly<Record<string, unknown>>) => void;

export function createDebug(isOn: boolean, write: (line: string) => void): Debug {
  if (!isOn) return () => undefined;
  return (topic, fields) =>
    write(`${topic} ${inspect(fields(), { depth: 4, breakLength: 100 })}\n`);
}
