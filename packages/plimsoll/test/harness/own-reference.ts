/**
 * The answer that a client must see for a turn with inner rounds, made from the script alone: the answer that a provider
 * would have given in one round, read by the client's own SDK.
 */

import { renderEvents, renderJson } from "./answer.ts";
import { signatureOf } from "./answer-gemini.ts";
import type { Frame, Reply, Usage } from "./answer-parts.ts";
import { itemId } from "./answer-responses.ts";
import { isObject, isString, type JsonObject, type Wire } from "./json.ts";
import { askSdk } from "./own-sdk.ts";

/** A round with its answer. */
export interface SaidRound {
  /** The number of the request upstream. */
  readonly number: number;
  readonly reply: Reply;
  readonly usage: Usage;
}

export type SaidRounds = readonly [SaidRound, ...SaidRound[]];

export interface ReferenceOf {
  readonly wire: Wire;
  /** The client's request. */
  readonly body: JsonObject;
  readonly isStreamed: boolean;
  readonly rounds: SaidRounds;
  readonly isOwn: (name: string) => boolean;
}

/** Input and cache figures of the last round, and the sum of the output. */
function mergedUsage(rounds: SaidRounds): Usage {
  const last = rounds.at(-1)?.usage ?? rounds[0].usage;
  const sum = (figure: "output" | "reasoning"): number =>
    rounds.reduce((all, { usage }) => all + (usage[figure] ?? 0), 0);
  return { ...last, output: sum("output"), reasoning: sum("reasoning") };
}

/** The parts of all rounds, in order, without Plimsoll's calls. Each part keeps its id and its signature. */
function mergedReply({ wire, body, rounds, isOwn }: ReferenceOf): Reply {
  const parts = rounds.flatMap(({ number, reply }) => {
    const frame = frameOf(wire, body, number);
    return reply.parts.flatMap((part, index) => {
      if (part.kind === "call" && isOwn(part.name)) return [];
      const thoughtSignature = signatureOf(reply, index, frame) ?? null;
      return [{ ...part, itemId: itemId(part, index, frame), thoughtSignature }];
    });
  });
  const { stopReason } = rounds.at(-1)?.reply ?? rounds[0].reply;
  return {
    kind: "reply",
    parts,
    usage: mergedUsage(rounds),
    ...(stopReason === undefined ? {} : { stopReason }),
  };
}

function frameOf(wire: Wire, body: JsonObject, requestNumber: number): Frame {
  const { model, stream_options: streamOptions } = body;
  const isAsked = isObject(streamOptions) && "include_usage" in streamOptions;
  const includeUsage = isAsked || wire === "gemini";
  return { wire, body, model: isString(model) ? model : "", requestNumber, includeUsage };
}

/** The object that the SDK would have assembled. */
export function referenceOf(reference: ReferenceOf): Promise<JsonObject> {
  const { wire, body, isStreamed, rounds } = reference;
  const merged = mergedReply(reference);
  const frame = frameOf(wire, body, rounds[0].number);
  const answer = isStreamed ? renderEvents(merged, frame).join("") : renderJson(merged, frame);
  const type = isStreamed ? "text/event-stream" : "application/json";
  const fetch = async (): Promise<Response> =>
    new Response(answer, { status: 200, headers: { "content-type": type } });
  return askSdk(
    { baseUrl: "http://nowhere.invalid", apiKey: "nobody", fetch },
    { wire, body, isStreamed },
  );
}
