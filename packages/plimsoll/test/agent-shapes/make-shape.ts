/**
 * Makes a shape from a folder that record.ts has filled: `node make-shape.ts <folder> <agent> <version> <date>`. Every text
 * that is not ours gets other words of the same length; names, keys and types stay; ids of machines and sessions go.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { gzipSync } from "node:zlib";
import { diceOf } from "../../demo/dice.ts";
import type { AnswerPart } from "../harness/answer-parts.ts";
import { conversationOf } from "../harness/counting.ts";
import {
  isObject,
  isString,
  type Json,
  type JsonObject,
  parseJson,
  type Wire,
} from "../harness/json.ts";
import { inOtherWords } from "./other-words.ts";
import type { AgentShape, RecordedTurn } from "./shape.ts";

interface Recording {
  readonly number: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly isAside?: boolean;
  readonly answer: readonly AnswerPart[];
}

const [folder = "", agent = "", version = "", recordedOn = ""] = process.argv.slice(2);
const TURNS = 6;
const HEADERS =
  /^(?:user-agent|anthropic-(?:version|beta)|x-app|x-claude-code-.*|x-initiator|x-interaction-type|agent-session-id|session-id|thread-id|originator|version|x-codex-.*|x-openai-.*|x-client-request-id)$/;
const SESSION_HEADERS = ["x-claude-code-session-id", "session-id", "agent-session-id"];
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const DEVICE = /[0-9a-f]{64}/g;
/** Our own files, which the agents read. */
const NOTES = /# notes (\d+)/;
const INFO = /^<info-msg>.*?<\/info-msg>/s;
/** Texts of other people, also where they are one word. */
const PROSE_KEYS = new Set(["text", "content", "description", "output", "instructions"]);

const random = diceOf(agent.length * 31 + agent.charCodeAt(0));
const wordings = new Map<string, string>();
const recordings = readRecordings();
const ours = new Set(recordings.flatMap(({ answer }) => answer.flatMap(textsOf)));

function readRecordings(): readonly Recording[] {
  const texts = readdirSync(folder)
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"));
  const first = parseJson(texts.at(-1) ?? "{}") as unknown as Recording;
  const session = SESSION_HEADERS.map((name) => first.headers[name]).find(isString);
  const known = new Map<string, string>();
  return texts.map((text) => {
    const named = session === undefined ? text : text.replaceAll(session, "{session}");
    const cleaned = named
      .replaceAll(join(process.cwd(), "/"), "project/")
      .replaceAll(process.cwd(), "project")
      .replace(DEVICE, (found) => "0".repeat(found.length))
      .replace(UUID, (found) => {
        const other =
          known.get(found) ?? `00000000-0000-4000-8000-${String(known.size).padStart(12, "0")}`;
        known.set(found, other);
        return other;
      });
    return parseJson(cleaned) as unknown as Recording;
  });
}

function textsOf(part: AnswerPart): readonly string[] {
  if (part.kind !== "call") return [part.chunks.join("")];
  const { input, rawInput } = part;
  return [rawInput ?? JSON.stringify(input), ...Object.values(input).filter(isString)];
}

/** The same value in other words. A text that comes again, elsewhere or in another form, gets the same words again. */
function reworded<T extends Json>(value: T, key?: string): T;
function reworded(value: Json | undefined, key = ""): Json | undefined {
  if (isString(value)) return rewordedText(value, key);
  if (Array.isArray(value)) return value.map((element: Json) => reworded(element, key));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, inner && reworded(inner, name)]),
  );
}

function rewordedText(text: string, key: string): string {
  const found = wordings.get(text);
  if (found !== undefined) return found;
  const info = INFO.exec(text)?.[0];
  const isInfoFirst = info !== undefined && info !== text;
  const other = isInfoFirst
    ? `${rewordedText(info, key)}${restOf(text.slice(info.length), key)}`
    : otherText(text, key);
  wordings.set(text, other);
  return other;
}

/** What comes behind Goose's own words is the user's text, which is sent without them later. */
function restOf(text: string, key: string): string {
  const words = text.trimStart();
  return text.slice(0, text.length - words.length) + rewordedText(words, key);
}

function otherText(text: string, key: string): string {
  const notes = NOTES.exec(text)?.[1];
  if (notes !== undefined) return `notes ${notes}`;
  if (ours.has(text) || text === "") return text;
  return PROSE_KEYS.has(key) || /\s/.test(text) ? inOtherWords(random, text) : text;
}

/** What is made anew for each result follows from its call, and takes the same time. */
function settled(message: JsonObject): JsonObject {
  if (message["type"] !== "custom_tool_call_output") return message;
  const about = message["internal_chat_message_metadata_passthrough"];
  const output = JSON.stringify(message["output"]).replace(/\d+\.\d+ seconds/g, "0.1 seconds");
  return {
    ...message,
    id: `ctco_${String(message["call_id"])}`,
    output: parseJson(output),
    ...(isObject(about)
      ? { internal_chat_message_metadata_passthrough: { ...about, create_time: 1_794_801_660 } }
      : {}),
  };
}

function wireOf(path: string): Wire {
  if (path.includes("/messages")) return "anthropic";
  return path.includes("/responses") ? "openai-responses" : "openai-chat";
}

function shapeOf(): AgentShape {
  const turns = recordings.filter(({ isAside }) => isAside !== true).slice(0, TURNS);
  const [first] = turns;
  if (first === undefined) throw new Error(`There is no recording in ${folder}.`);
  const wire = wireOf(first.path);
  const aside = recordings.find(({ isAside }) => isAside === true)?.body;
  const opening = conversationOf(wire, first.body).map((message) => reworded(message));
  return {
    agent,
    version,
    recordedOn,
    wire,
    path: first.path,
    headers: headersOf(first),
    fields: reworded(fieldsOf(first)),
    opening,
    ...(aside === undefined ? {} : { aside: reworded(aside) }),
    recorded: turns.map((turn) => recordedTurn(turn, { wire, first, opening })),
  };
}

function headersOf({ headers }: Recording): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HEADERS.test(name)));
}

function fieldsOf({ body }: Recording): JsonObject {
  const { messages: _messages, input: _input, ...fields } = body;
  return fields;
}

interface Beginning {
  readonly wire: Wire;
  readonly first: Recording;
  readonly opening: readonly JsonObject[];
}

function recordedTurn(turn: Recording, { wire, first, opening }: Beginning): RecordedTurn {
  const { number, body, answer } = turn;
  const sent = conversationOf(wire, body).map((message) => reworded(settled(message)));
  const info = objectsIn(sent).flatMap(({ text, content }) =>
    [text, content].filter(isString).flatMap((each) => INFO.exec(each)?.[0] ?? []),
  )[0];
  return {
    number,
    conversation: sent.map((message) => referred(message, opening)),
    changedFields: reworded(changes(fieldsOf(first), fieldsOf(turn))),
    changedHeaders: changes(headersOf(first), headersOf(turn)),
    answer,
    ...(info === undefined ? {} : { info }),
  };
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap((element: Json) => objectsIn(element));
  return isObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}

/** What is another value than in the first request, or null where it is gone. Another order of keys is no change. */
function changes(before: JsonObject, after: JsonObject): JsonObject {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    names
      .filter((name) => !isDeepStrictEqual(before[name], after[name]))
      .map((name) => [name, after[name] ?? null]),
  );
}

function referred(message: JsonObject, opening: readonly JsonObject[]): JsonObject {
  const found = opening.findIndex((each) => JSON.stringify(each) === JSON.stringify(message));
  return found < 0 ? message : { opening: found };
}

const file = new URL(`./${agent}.json.gz`, import.meta.url);
writeFileSync(file, gzipSync(JSON.stringify(shapeOf()), { level: 9 }));
