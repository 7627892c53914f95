/** Opens a handle or a message number as text that can be paged and searched. */

import { isUtf8 } from "node:buffer";
import { isObject, type JsonValue } from "../../message/json.ts";
import type { Message, Part } from "../../message/message.ts";
import type { ArchiveRecord, ArchiveSource, SessionRecord, Store } from "../../store/store.ts";
import { grouped } from "../../text/digits.ts";
import { answerTexts, readableTexts } from "../../text/for-models.ts";
import { parseJson } from "../../wire/format/slices.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wireNamed } from "../../wire/wires.ts";
import { partContent } from "../log/archive.ts";
import {
  callsOf,
  mediaKind,
  readableText,
  resultText,
  speakerOf,
  type ToolNames,
  titleOf,
} from "./readable-message.ts";

export type ArchivedText =
  | { readonly kind: "text"; readonly what: string; readonly bytes: Uint8Array }
  /** Content that is not text. `what` describes its kind and size. */
  | { readonly kind: "other"; readonly what: string }
  | { readonly kind: "absent" };

type Bodies = Pick<Store, "bodies" | "clientSpellings">;

/** Maximum number of bytes that one handle opens. Messages beyond that can be read by their numbers. */
const readableBytesMax = 64 * 1024 * 1024;
const messagesPerStep = 64;
/** Number of messages before a result that are searched for its call. A result comes soon after its call. */
const callsBack = 8;

export async function openArchived(
  store: Bodies,
  { id, wire }: Pick<SessionRecord, "id" | "wire">,
  { source }: Pick<ArchiveRecord, "source">,
  bytesMax: number = readableBytesMax,
): Promise<ArchivedText> {
  const place = { store, session: id, wire: wireNamed(wire) };
  return source.kind === "part" ? openPart(place, source) : openRuns(place, source.runs, bytesMax);
}

export async function openMessage(
  store: Bodies,
  { id, wire }: Pick<SessionRecord, "id" | "wire">,
  number: number,
  isVisible: (seq: number) => boolean = () => true,
): Promise<ArchivedText> {
  const place = { store, session: id, wire: wireNamed(wire), isVisible };
  const body = (await bodiesOf(place, [number])).get(number);
  if (body === undefined) return { kind: "absent" };
  const message = decode(place.wire, body);
  if (message === undefined) return textOf(`message ${number}`, body);
  const tools = await toolsBefore(place, number, message);
  const what = titleOf(message, tools);
  return textOf(what, encoded(readableText(message, tools)));
}

/** The message in a stored body. Undefined if the body cannot be a message of this wire. */
export function decode(wire: Wire | undefined, body: Uint8Array): Message | undefined {
  let json: JsonValue;
  try {
    json = parseJson(body, { start: 0, end: body.length });
  } catch {
    return undefined;
  }
  const message = isObject(json) ? json : wire?.messages.asMessage(json);
  return message === undefined ? undefined : wire?.messages.decode(message);
}

interface Where {
  readonly store: Bodies;
  readonly session: string;
  readonly wire: Wire | undefined;
  /** Whether the asker may see a message. If not, the asker learns nothing about it, not even which tools it called. */
  readonly isVisible?: (seq: number) => boolean;
}

/**
 * If the client spells a message differently, returns the client's spelling, because that is the text that Plimsoll cut from the
 * request.
 */
async function bodiesOf(
  { store, session }: Where,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  const [bodies, clientSpellings] = [
    await store.bodies(session, seqs),
    await store.clientSpellings(session, seqs),
  ];
  return clientSpellings.size === 0 ? bodies : new Map([...bodies, ...clientSpellings]);
}

/** The tool names for the results in a message, found in the calls shortly before it. The nearest messages are searched first. */
async function toolsBefore(where: Where, number: number, message: Message): Promise<ToolNames> {
  const wanted = new Set(
    message.parts.flatMap((part) => (part.kind === "tool-result" ? [part.callId] : [])),
  );
  const tools = new Map<string, string>();
  const first = Math.max(1, number - callsBack);
  for (let before = number - 1; before >= first && wanted.size > 0; before--) {
    if (where.isVisible?.(before) === false) continue;
    const body = (await bodiesOf(where, [before])).get(before);
    const decoded = body === undefined ? undefined : decode(where.wire, body);
    for (const [id, name] of decoded === undefined ? [] : callsOf(decoded))
      if (wanted.delete(id)) tools.set(id, name);
  }
  return tools;
}

function textOf(what: string, bytes: Uint8Array): ArchivedText {
  return isUtf8(bytes)
    ? { kind: "text", what, bytes }
    : { kind: "other", what: readableTexts.binary(grouped(bytes.length)) };
}

/** UTF-8 cannot encode half of a surrogate pair, so it becomes �. The size in the reference was counted in the same way. */
function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

type PartSource = Extract<ArchiveSource, { readonly kind: "part" }>;

async function openPart(where: Where, source: PartSource): Promise<ArchivedText> {
  const { seq, part, inner } = source;
  const body = (await bodiesOf(where, [seq])).get(seq);
  if (body === undefined) return { kind: "absent" };
  const message = decode(where.wire, body);
  const outer = message?.parts[part];
  const found = outer?.kind === "tool-result" && inner !== undefined ? outer.content[inner] : outer;
  if (found?.kind === "image" || found?.kind === "document")
    return { kind: "other", what: mediaKind(found.kind, found.media) };
  const what =
    message === undefined
      ? `part of message ${seq}`
      : partTitle(message, outer, await toolsBefore(where, seq, message));
  const text = textIn(found);
  if (text !== undefined) return textOf(what, encoded(text));
  const place = { part, ...(inner === undefined ? {} : { inner }) };
  return textOf(what, (where.wire && partContent(where.wire, body, place)) ?? body);
}

/**
 * The text of a part, with the size and the number of lines that the reference states. For a result with several blocks, this is
 * their texts without the JSON around them. Undefined if the part has to be read as its original bytes.
 */
function textIn(part: Part | undefined): string | undefined {
  switch (part?.kind) {
    case "text":
      return part.text;
    case "tool-result":
      return resultText({ ...part, isError: false });
    case "tool-call":
      return part.input.isWellFormed() ? undefined : part.input;
    default:
      return undefined;
  }
}

function partTitle(message: Message, part: Part | undefined, tools: ToolNames): string {
  switch (part?.kind) {
    case "tool-result": {
      const name = tools.get(part.callId);
      return name === undefined ? "tool result" : `result of ${name}`;
    }
    case "tool-call":
      return `arguments of ${part.name}`;
    default:
      return `text of the ${speakerOf(message)}`;
  }
}

type Runs = Extract<ArchiveSource, { readonly kind: "messages" }>["runs"];

async function openRuns(where: Where, runs: Runs, bytesMax: number): Promise<ArchivedText> {
  const numbers = numbersOf(runs);
  const pieces: Uint8Array[] = [];
  const tools = new Map<string, string>();
  let size = 0;
  for (let start = 0; start < numbers.length; start += messagesPerStep) {
    const step = numbers.slice(start, start + messagesPerStep);
    const bodies = await bodiesOf(where, step);
    for (const number of step) {
      const piece = Buffer.from(entryOf(where.wire, number, bodies.get(number), tools));
      size += piece.length;
      if (size > bytesMax) {
        pieces.push(Buffer.from(`${answerTexts.readOn(number)}\n`));
        return textOf(countedMessages(numbers), Buffer.concat(pieces));
      }
      pieces.push(piece);
    }
  }
  return textOf(countedMessages(numbers), Buffer.concat(pieces));
}

/** Maximum number of messages in a record. No session has more, so a record with more is damaged. */
const numbersMax = 1_000_000;

function numbersOf(runs: Runs): readonly number[] {
  const numbers: number[] = [];
  for (const [first, last] of runs)
    for (let number = first; number <= last && numbers.length < numbersMax; number++)
      numbers.push(number);
  return numbers;
}

function countedMessages(numbers: readonly number[]): string {
  const [first, last] = [numbers[0], numbers.at(-1)];
  if (first === last) return `message #${first ?? 0}`;
  return `${grouped(numbers.length)} messages, #${first} to #${last}`;
}

/** The text of a message, under its number and title. Also adds the calls of the message to `tools`. */
function entryOf(
  wire: Wire | undefined,
  number: number,
  body: Uint8Array | undefined,
  tools: Map<string, string>,
): string {
  if (body === undefined) return `#${number} is missing\n\n`;
  const message = decode(wire, body);
  if (message === undefined) return `#${number}\n${new TextDecoder().decode(body)}\n\n`;
  for (const [id, name] of callsOf(message)) tools.set(id, name);
  const text = readableText(message, tools).toWellFormed();
  return `#${number} ${titleOf(message, tools)}\n${text}\n\n`;
}
