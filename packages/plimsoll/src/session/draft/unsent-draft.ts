/** A draft without a request: a stored conversation that a person steers, or a list of messages that is compacted once. */

import { measurement } from "../../budget/measure.ts";
import type { Count } from "../../budget/tokenizer.ts";
import type { JsonObject } from "../../message/json.ts";
import type { LogMessage } from "../log/log.ts";
import { addMessage, nothing, type Path } from "../log/path.ts";
import type { Target } from "../measure/target.ts";
import type { Draft, DraftOrigin } from "./draft.ts";
import { decodeMessage, encodeMessage } from "./encode.ts";
import { patchList } from "./render.ts";

export interface Unsent extends Pick<Draft, "turn" | "log" | "branch" | "path" | "wire" | "head"> {
  readonly origin: Extract<DraftOrigin, "store" | "one-off">;
  readonly target: Target;
  readonly provider: string;
  readonly model: string;
  /** The messages of the path, with their token counts. */
  readonly learned: readonly LogMessage[];
  /** How certain these token counts are: exact, estimated, or an upper bound. */
  readonly certainty: Count["certainty"];
}

export function unsentDraft({
  target,
  provider,
  model,
  learned,
  certainty,
  ...draft
}: Unsent): Draft {
  const { wire, path, head } = draft;
  const sum = learned.reduce(addMessage, nothing);
  const { system, tools } = head;
  return {
    ...draft,
    targets: [target],
    who: { provider, model },
    measured: measurement({
      system,
      skills: { tokens: 0, certainty },
      tools,
      conversation: { tokens: sum.tokens, certainty },
    }),
    sum,
    tools: { kind: "unseen" },
    request: {
      compose: ({ patches }) => {
        const messages = patchList(messagesOf(path), patches, decodeMessage);
        const maxOutputTokens = target.limit.maxOutput;
        return encodeMessage(wire.body.compose({ model, tools: [], maxOutputTokens, messages }));
      },
    },
  };
}

export function messagesOf(path: Path): readonly JsonObject[] {
  return Array.from({ length: path.length }, (_, index) => decodeMessage(path.bytesAt(index)));
}
