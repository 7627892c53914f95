/** `plimsoll compact`: reduces a file, a session, or lines of JSON to a number of tokens. */

import { existsSync, fstatSync, writeFileSync } from "node:fs";
import type { Writable } from "node:stream";
import { type Flags, loadSettings } from "../../config/config.ts";
import { PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject, type JsonValue } from "../../message/json.ts";
import type { Message } from "../../message/message.ts";
import { openPlimsoll, type Plimsoll } from "../../plimsoll.ts";
import { searchableText } from "../../search/message-text.ts";
import { harmlessJson } from "../../text/unseen.ts";
import { readContextHistory, withContextHistory } from "../../wire/context-history.ts";
import { bodyOfMessages, wireOfBody } from "../../wire/detect.ts";
import type { WireName } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";
import { maxFileBytes, parseJson, readJsonFile, tooLarge } from "../console/json-file.ts";
import { badLine, type Input, jsonLines, writeLine } from "../console/json-lines.ts";
import { type Progress, withProgress } from "../console/progress.ts";
import { receiptText } from "./receipts.ts";
import { runCompactSession } from "./steer.ts";

export type CompactFlags = Flags & {
  readonly budget?: number;
  /** The branch of the session to compact. */
  readonly branch?: string;
  readonly format?: string;
  readonly jsonl?: boolean;
  /** A `context_history.json` of MarieCoder or Cline, which is applied first. */
  readonly history?: string;
  /** File to write the receipt to. */
  readonly receipt?: string;
  readonly json?: boolean;
};

export async function runCompact(what: string | undefined, flags: CompactFlags): Promise<void> {
  const isFile = flags.jsonl !== true && (what === undefined ? hasInput() : existsSync(what));
  if (flags.history !== undefined && !isFile)
    throw new PlimsollError(
      "USAGE",
      "--history belongs to a conversation in a file. Give that file too, such as api_conversation_history.json.",
    );
  if (flags.jsonl === true) {
    await withProgress("Compacting cases", { isStreaming: true, readsInput: true }, (progress) =>
      runCompactJsonl(process.stdin, process.stdout, { ...flags, progress }),
    );
    return;
  }
  if (what !== undefined && isFile) {
    await compactConversation({ name: what, value: readJsonFile(what) }, flags);
    return;
  }
  if (isFile) {
    const value = await readInput(process.stdin);
    await compactConversation({ name: "Standard input", value }, flags);
    return;
  }
  if (what !== undefined && !what.startsWith("ses_"))
    throw new PlimsollError(
      "USAGE",
      `${what} is neither a file nor a session id. Give a file with a transcript or a request, or an id from \`plimsoll sessions\`.`,
    );
  await runCompactSession(what, flags);
}

/**
 * Answers cases of the kinds `future` and `evidence`, and skips all other lines. Contract: answers in the order of the lines, and
 * each answer uses only its own line.
 */
export async function runCompactJsonl(
  input: Input,
  output: Writable,
  { progress, ...flags }: Flags & { readonly progress?: Progress },
): Promise<void> {
  const plimsoll = await openOnce(flags);
  let answered = 0;
  try {
    for await (const { item, number } of jsonLines(input)) {
      const { kind, id, messages, budgetTokens } = item;
      if (kind !== "future" && kind !== "evidence") continue;
      if (!Array.isArray(messages) || !messages.every(isObject))
        throw badLine(number, 'it needs "messages", a list of chat messages');
      if (typeof budgetTokens !== "number" || !(budgetTokens > 0))
        throw badLine(number, 'it needs "budgetTokens", a number above 0');
      await writeLine(output, { id, ...(await answer(plimsoll, messages, budgetTokens)) });
      answered += 1;
      progress?.step(answered);
    }
  } finally {
    await plimsoll.close();
  }
}

/**
 * The parts of a message that count in the token figures of a case: its text, and then its calls. A line feed comes before each
 * call, and the arguments are on separate lines.
 */
export function countedTexts(message: Message): readonly string[] {
  const isBareCall = message.parts[0]?.kind === "tool-call";
  return [`${isBareCall ? "\n" : ""}${searchableText(message)}`];
}

/** If a case cannot be reduced to its budget, the command continues, and the answer to the case gives the reason. */
async function answer(
  plimsoll: Plimsoll,
  messages: readonly JsonObject[],
  budget: number,
): Promise<JsonObject> {
  try {
    const done = await plimsoll.compactMessages({
      wire: "openai-chat",
      messages,
      budget,
      count: { tokenizer: "tiktoken:o200k_base", textsOf: countedTexts },
    });
    return { messages: done.messages };
  } catch (error) {
    if (PlimsollError.is(error) && error.code === "BREAKER_FAILED") return { error: error.message };
    throw error;
  }
}

function openOnce(flags: Flags): Promise<Plimsoll> {
  return openPlimsoll({ store: "memory", config: loadSettings(flags, process.env).config });
}

/** Whether a file or a pipe is redirected to standard input. A terminal and /dev/null do not count. */
function hasInput(): boolean {
  try {
    const input = fstatSync(0);
    return input.isFile() || input.isFIFO() || input.isSocket();
  } catch {
    // Standard input is closed.
    return false;
  }
}

async function readInput(input: Input): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
    if (bytes > maxFileBytes) throw tooLarge("Standard input");
  }
  if (bytes === 0)
    throw new PlimsollError(
      "USAGE",
      "Standard input is empty. Give a file with a transcript or a request, or an id from `plimsoll sessions`.",
    );
  return parseJson("Standard input", () => Buffer.concat(chunks).toString("utf8"));
}

/** A conversation in JSON, and the words with which errors say where it came from. */
interface Given {
  readonly name: string;
  readonly value: unknown;
}

async function compactConversation(given: Given, flags: CompactFlags): Promise<void> {
  const { budget } = flags;
  if (budget === undefined)
    throw new PlimsollError(
      "USAGE",
      "Give the number of tokens to keep, for example --budget 20000.",
    );
  const { body, wire } = readTranscript(given, flags.format);
  const field = wires[wire].fields.messages;
  const messages = asEdited(messagesOf(body, field), flags.history);
  const plimsoll = await openOnce(flags);
  try {
    const model = typeof body["model"] === "string" ? { model: body["model"] } : {};
    const done = await withProgress("Compacting", { json: flags.json }, () =>
      plimsoll.compactMessages({ wire, messages, budget, ...model }),
    );
    const isList = Array.isArray(given.value);
    const result = isList ? done.messages : { ...body, [field]: done.messages };
    console.log(JSON.stringify(result));
    const receipt = await withProgress("Writing the receipt", { json: flags.json }, () =>
      done.receipt(),
    );
    if (flags.receipt !== undefined) writeFileSync(flags.receipt, `${harmlessJson(receipt)}\n`);
    console.error(flags.json === true ? harmlessJson(receipt) : receiptText(receipt));
  } finally {
    await plimsoll.close();
  }
}

/** The messages as a history of MarieCoder or Cline shows them. */
function asEdited(
  messages: readonly JsonObject[],
  history: string | undefined,
): readonly JsonObject[] {
  if (history === undefined) return messages;
  const updates = readContextHistory(readJsonFile(history));
  const { messages: edited, unknown } = withContextHistory(messages, updates);
  const [first] = unknown;
  if (first !== undefined)
    console.error(
      `plimsoll: ${unknown.length} of ${updates.length} changes in ${history} name messages or texts that the conversation does not have, such as block ${first.message}.${first.block}. They are left out.`,
    );
  return edited;
}

interface Transcript {
  readonly body: JsonObject;
  readonly wire: WireName;
}

function readTranscript({ name, value }: Given, format: string | undefined): Transcript {
  const wanted = format === undefined || format === "auto" ? undefined : format;
  if (wanted !== undefined && !Object.hasOwn(wires, wanted))
    throw new PlimsollError(
      "USAGE",
      `There is no format "${wanted}". Use auto, ${Object.keys(wires).join(", ")}.`,
    );
  const body = Array.isArray(value) ? bodyOfMessages(value as readonly JsonValue[]) : value;
  if (!isObject(body))
    throw new PlimsollError(
      "USAGE",
      `${name} contains no conversation. Give a JSON object with \`messages\`, or a list of messages.`,
    );
  return { body, wire: (wanted as WireName | undefined) ?? wireOfBody(body) };
}

function messagesOf(body: JsonObject, field: string): readonly JsonObject[] {
  const list = body[field];
  if (Array.isArray(list) && list.length > 0 && list.every(isObject)) return list;
  throw new PlimsollError(
    "USAGE",
    `The file has no messages. \`${field}\` must be a list of messages.`,
  );
}
