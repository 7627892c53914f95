/** Tokens of a request by component: the head (system prompt, tool schemas) and the conversation. */

import { addCounts, type Measurement, measurement } from "../budget/measure.ts";
import type { Count } from "../budget/tokenizer.ts";
import { sha256 } from "../store/body.ts";
import { parseJson, type Slice } from "../wire/slices.ts";
import type { WireRequest } from "../wire/wire.ts";
import type { LogMessage } from "./log.ts";
import type { FactsReader } from "./message-facts.ts";
import type { Target } from "./target.ts";

/** Everything before the conversation. It rarely changes, so it is stored once per content. */
export interface Head {
  /** Undefined when there is neither system prompt nor tool. */
  readonly hash?: string;
  readonly bytes: Uint8Array;
  readonly system: Count;
  readonly tools: Count;
}

const nothing: Count = { tokens: 0, certainty: "exact" };
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** From the slices of a body. */
export function readHead(
  facts: FactsReader,
  body: Uint8Array,
  request: WireRequest,
  target: Target,
): Promise<Head> {
  const system = request.system && decodeSlice(body, request.system);
  const tools = request.tools && decodeSlice(body, request.tools);
  return makeHead(facts, { system, tools }, target);
}

/** From the JSON text of system prompt and tools, as the wire has them. */
export async function makeHead(
  facts: FactsReader,
  { system, tools }: { readonly system?: string | undefined; readonly tools?: string | undefined },
  target: Target,
): Promise<Head> {
  if (system === undefined && tools === undefined)
    return { bytes: new Uint8Array(), system: nothing, tools: nothing };
  return {
    ...packHead(system, tools),
    system:
      system === undefined ? nothing : await facts.countSystem(target.wire, system, target.ruler),
    tools: tools === undefined ? nothing : await facts.countTools(tools, target.ruler),
  };
}

/** Kept as `{"system":…,"tools":…}`, the client's own text of both. */
function packHead(
  system: string | undefined,
  tools: string | undefined,
): { readonly hash: string; readonly bytes: Uint8Array } {
  const fields = [
    ...(system === undefined ? [] : [`"system":${system}`]),
    ...(tools === undefined ? [] : [`"tools":${tools}`]),
  ];
  const bytes = encoder.encode(`{${fields.join(",")}}`);
  return { hash: sha256(bytes), bytes };
}

function decodeSlice(body: Uint8Array, slice: Slice): string {
  parseJson(body, slice);
  return decoder.decode(body.subarray(slice.start, slice.end));
}

/** Running sums over a conversation, so that a turn adds what is new. */
export interface Totals {
  readonly system: Count;
  readonly conversation: Count;
  /** Only system messages so far: they belong to the system prompt, wherever the wire puts them. */
  readonly isLeading: boolean;
}

export const emptyTotals: Totals = { system: nothing, conversation: nothing, isLeading: true };

export function addMessages(totals: Totals, messages: readonly LogMessage[]): Totals {
  const leading = totals.isLeading ? messages.findIndex(({ role }) => role !== "system") : 0;
  const split = leading < 0 ? messages.length : leading;
  return {
    system: addCounts([totals.system, ...messages.slice(0, split)]),
    conversation: addCounts([totals.conversation, ...messages.slice(split)]),
    isLeading: totals.isLeading && split === messages.length,
  };
}

export function measureTurn(head: Head, totals: Totals): Measurement {
  return measurement({
    system: addCounts([head.system, totals.system]),
    skills: nothing,
    tools: head.tools,
    conversation: totals.conversation,
  });
}
