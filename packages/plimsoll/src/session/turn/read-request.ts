/** Reads a client's request: its messages with their sizes and identities. Messages that were read before are not read again. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { sha256 } from "../../store/body.ts";
import { type BodySlices, readSlices } from "../../wire/format/slices.ts";
import type { WireRequest } from "../../wire/format/wire.ts";
import type { Draft } from "../draft/draft.ts";
import type { PrefixMemory, RecalledPrefix } from "../identify/last-request.ts";
import { messagesPerStep } from "../log/append.ts";
import { extendLinks, type Link, type LogMessage } from "../log/log.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import type { Preamble, PreambleReader } from "../measure/preamble.ts";
import type { PreambleCounts } from "../measure/preamble-counts.ts";
import type { Target, Targets } from "../measure/target.ts";
import type { Incoming } from "./context.ts";

export interface ReaderWorld {
  readonly prefixes: PrefixMemory;
  readonly targets: Targets;
  readonly facts: FactsReader;
  readonly heads: PreambleReader;
  readonly preambleCounts: PreambleCounts;
}

export interface ReadRequest {
  /** The request, including the session that its body names, if it names one. */
  readonly incoming: Incoming;
  readonly request: WireRequest;
  readonly slices: BodySlices;
  readonly targets: Draft["targets"];
  readonly bytes: readonly Uint8Array[];
  readonly messages: readonly LogMessage[];
  readonly links: readonly Link[];
  readonly head: Preamble;
  /**
   * The provider's token count of the preamble, divided by Plimsoll's count. 1 if the provider was not asked or gave no count.
   */
  readonly preambleRatio: number;
}

const largeBytes = 1024 * 1024;

export async function readRequest(world: ReaderWorld, given: Incoming): Promise<ReadRequest> {
  const { wire, body } = given;
  const recalled = world.prefixes.recall(memoryKeyOf(given), body, wire.fields.messages);
  const { slices } = recalled;
  const request = { ...wire.body.read(body, slices), ...(given.model && { model: given.model }) };
  // Splitting the body took a while, so let other work run before the messages are read.
  if (body.length > largeBytes) await nextTurn();
  const incoming = withOwnSession(given, request);
  const targets = targetsFor(world, incoming, request);
  const [target] = targets;
  const bytes = request.messages.map((slice) => body.subarray(slice.start, slice.end));
  const learned = await learnMessages(world, { incoming: given, bytes, target, recalled });
  const head = await world.heads.read(body, request, target);
  const asked = { target, request, body, slices, count: incoming.countTokens };
  const preambleRatio = await world.preambleCounts.ratio(head, asked);
  return { incoming, request, slices, targets, bytes, ...learned, head, preambleRatio };
}

/** Like `readRequest`, but only for looking at a request. It does not use or remember earlier results, and asks no provider. */
export function readAlone(
  world: Pick<ReaderWorld, "targets" | "facts" | "heads">,
  incoming: Incoming,
): Promise<ReadRequest> {
  const prefixes: PrefixMemory = {
    recall: (_key, body) => ({ slices: readSlices(body), messages: [], links: [], rulerKey: "" }),
    remember: () => undefined,
    bytes: 0,
  };
  const preambleCounts: PreambleCounts = { ratio: () => Promise.resolve(1) };
  return readRequest({ ...world, prefixes, preambleCounts }, incoming);
}

/** A client may name its session in the body. A name in a header takes precedence. */
function withOwnSession(incoming: Incoming, { clientSession }: WireRequest): Incoming {
  if (!clientSession) return incoming;
  return { ...incoming, hints: { clientKey: clientSession, ...incoming.hints } };
}

interface Learning {
  readonly incoming: Incoming;
  readonly bytes: readonly Uint8Array[];
  readonly target: Target;
  readonly recalled: RecalledPrefix;
}

/** Counts and hashes only new messages. If the size of a message is only a guess, it is counted again with the next request. */
async function learnMessages(
  { facts, prefixes }: ReaderWorld,
  { incoming, bytes, target: { ruler }, recalled }: Learning,
): Promise<Pick<ReadRequest, "messages" | "links">> {
  const { wire, body } = incoming;
  const known = recalled.rulerKey === ruler.key ? recalled.messages : [];
  const messages = [...known, ...(await facts.learn(wire, bytes.slice(known.length), ruler))];
  let links: readonly Link[] = recalled.links.slice(0, known.length);
  while (links.length < messages.length) {
    links = extendLinks(wire.name, links, messages.slice(0, links.length + messagesPerStep));
    if (links.length < messages.length) await nextTurn();
  }
  const read = { body, slices: recalled.slices, rulerKey: ruler.key, messages, links };
  if (!isGuessed(messages)) prefixes.remember(memoryKeyOf(incoming), read);
  return { messages, links };
}

/** Whether the tokens of any message could not be counted. */
export function isGuessed(messages: readonly LogMessage[]): boolean {
  return messages.some(({ isGuess }) => isGuess === true);
}

function targetsFor(
  { targets }: ReaderWorld,
  { provider, wire, headers, tenant, hints: { agent } }: Incoming,
  request: WireRequest,
): Draft["targets"] {
  const facts = wire.body.modelByHeaders(request.model, headers ?? {});
  const named = facts === undefined ? {} : { facts };
  return targets.candidates(provider, wire, {
    ...request,
    ...named,
    tenant,
    ...(agent === undefined ? {} : { agent }),
  });
}

/**
 * The key under which a read request is remembered. Requests of one conversation should have the same key. If they do not,
 * reading takes longer, but nothing breaks.
 */
function memoryKeyOf({ tenant, wire, hints, body }: Incoming): string {
  const name = hints.clientKey ?? hints.sessionId ?? sha256(body.subarray(0, 1024));
  return [tenant, wire.name, name, hints.agent ?? ""].join("\0");
}
