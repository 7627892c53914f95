/** Reads the text of a conversation by speaker, and splits it into lines and sentences of bounded length. */

import type { Message, Part, ToolCallPart } from "../../message/message.ts";
import { searchableText } from "../../search/message-text.ts";
import { sentencesIn } from "../../text/sentences.ts";
import { paragraphsOf } from "../../text/wrapped-lines.ts";
import { clean, plain, shortened } from "./safe-text.ts";

/** tool: content that no person and no model of this conversation wrote. It is data and never an instruction. */
export type Speaker = "user" | "agent" | "system" | "tool";

export interface NumberedMessage {
  readonly message: Message;
  readonly number: number;
}

export interface Speech {
  readonly number: number;
  readonly speaker: Speaker;
  readonly text: string;
  readonly call?: ToolCallPart;
  /** Set if the tool result is marked as an error. */
  readonly isError?: true;
}

/** If a text is longer than both numbers together, only this many characters of its beginning and its end are read. */
const maxTextChars = { head: 140_000, tail: 60_000 };
const maxLineChars = { head: 3_000, tail: 1_000 };
const maxSentenceChars = 300;
const maxSentences = 4_000;

/** Contract: takes time linear in the text it reads. Skips the system prompt, thinking, media and unknown parts. */
export function speechOf(messages: readonly NumberedMessage[]): readonly Speech[] {
  let hasBegun = false;
  return messages.flatMap(({ message, number }) => {
    const isHead = message.role === "system" && !hasBegun && number <= 1;
    hasBegun ||= message.role !== "system";
    return isHead ? [] : message.parts.flatMap((part) => speechOfPart(part, message, number));
  });
}

function speechOfPart(part: Part, message: Message, number: number): readonly Speech[] {
  switch (part.kind) {
    case "text":
      return [{ number, speaker: speakerOf(message), text: bounded(part.text) }];
    case "tool-call":
      return [
        {
          number,
          speaker: "agent",
          text: bounded(searchableText({ role: "assistant", parts: [part] })),
          call: part,
        },
      ];
    case "tool-result": {
      const text = bounded(searchableText({ role: "tool", parts: part.content }));
      return [{ number, speaker: "tool", text, ...(part.isError ? { isError: true } : {}) }];
    }
    default:
      return [];
  }
}

function speakerOf({ role }: Message): Speaker {
  return role === "assistant" ? "agent" : role;
}

function bounded(text: string): string {
  const { head, tail } = maxTextChars;
  return text.length <= head + tail ? text : `${text.slice(0, head)}\n${text.slice(-tail)}`;
}

export interface Line {
  readonly text: string;
  /** True if the speaker only quotes the line: in a code block, between the tags of a tool, from a terminal, or as a quotation. */
  readonly isData: boolean;
}

const codeFence = /^\s{0,8}(?:```|~~~)/;
const dataTag =
  /^\s{0,8}<(output|stdout|stderr|file_content|file|document|tool_result|function_results|returncode|log|pasted[\w-]{0,20})\b[^>\n]{0,300}>/i;

/** How a terminal shows the thoughts and calls of an agent. A user who pastes such lines does not say them. */
const shownByTerminal = /^\s{0,8}[✻⏺⎿]\s/;

const emptyLine: Line = { text: "", isData: false };
const emptyData: Line = { text: "", isData: true };

export function linesOf(text: string): readonly Line[] {
  const lines = text.split(/\r\n|[\n\r\u0085\u2028\u2029]/);
  const pasted = lines.findIndex((line) => shownByTerminal.test(line.slice(0, 12)));
  if (pasted < 0) return linesSaid(lines);
  return [
    ...linesSaid(lines.slice(0, pasted)),
    ...lines.slice(pasted).map((line) => ({ text: boundedLine(line), isData: true })),
  ];
}

function linesSaid(lines: readonly string[]): readonly Line[] {
  let closing: string | undefined;
  return lines.map((raw): Line => {
    // An empty line neither opens nor closes a block. This check comes first to save time, because a text may have a million
    // empty lines.
    if (raw === "") return closing === undefined ? emptyLine : emptyData;
    const line = boundedLine(raw);
    if (closing !== undefined) {
      if (closesWith(line, closing)) closing = undefined;
      return { text: line, isData: true };
    }
    closing = openedBy(line);
    if (closing !== undefined && closing !== "fence" && line.includes(closing)) {
      closing = undefined;
      return { text: line, isData: true };
    }
    return { text: line, isData: closing !== undefined || /^\s{0,8}>/.test(line) };
  });
}

function openedBy(line: string): string | undefined {
  if (codeFence.test(line)) return "fence";
  const tag = dataTag.exec(line)?.[1];
  return tag === undefined ? undefined : `</${tag}>`;
}

function closesWith(line: string, closing: string): boolean {
  return closing === "fence" ? codeFence.test(line) : line.includes(closing);
}

function boundedLine(line: string): string {
  const { head, tail } = maxLineChars;
  return line.length <= head + tail ? line : `${line.slice(0, head)} ${line.slice(-tail)}`;
}

const tagOnly = /^<\/?[\w-]{1,40}>$/;
const listSign = /^(?:[-*+•]|\d{1,3}[.)])\s+/;

/** The sentences that a person or an agent wrote in their own words. */
export function sentencesOf({ text }: Speech): readonly string[] {
  const said = linesOf(text)
    .filter(({ isData }) => !isData)
    .map((line) => line.text);
  return paragraphsOf(said)
    .map(([first, last]) => clean(said.slice(first, last + 1).join(" ")))
    .filter((line) => !tagOnly.test(line))
    .flatMap((line) => sentencesIn(line.replace(listSign, "")))
    .map((sentence) => shortened(sentence.trim(), maxSentenceChars))
    .filter((sentence) => sentence.length > 3)
    .slice(0, maxSentences);
}

/** Sentences are looked up by their first 24 or 8 characters. A shorter sentence says too little to be an echo. */
const keyLengths = [24, 8] as const;
/** Maximum number of sentences with the same beginning that are compared. */
const sameKeyMax = 64;

/**
 * The returned function says whether the agent only repeated a sentence that an earlier tool result contains. This takes linear
 * time, because the tool results are read once and sentences are looked up by their beginnings.
 */
export function echoesIn(speech: readonly Speech[]): (one: Speech, sentence: string) => boolean {
  const wanted = sentencesByKey(speech.filter(({ speaker }) => speaker === "agent"));
  const numberOf = new Map(speech.map((one, index) => [one, index]));
  /** For each sentence, the index of the first speech in which a tool showed it. */
  const firstShownAt = new Map<string, number>();
  for (const [index, { speaker, text }] of speech.entries()) {
    if (speaker !== "tool" || wanted.size === 0) continue;
    for (const said of visibleSentences(plain(text), wanted))
      if (!firstShownAt.has(said)) firstShownAt.set(said, index);
  }
  return (one, sentence) => {
    const first = one.speaker === "agent" ? firstShownAt.get(plain(sentence)) : undefined;
    return first !== undefined && first < (numberOf.get(one) ?? 0);
  };
}

function sentencesByKey(speech: readonly Speech[]): ReadonlyMap<string, ReadonlySet<string>> {
  const byKey = new Map<string, Set<string>>();
  for (const sentence of speech.flatMap(sentencesOf)) {
    const said = plain(sentence);
    const length = keyLengths.find((least) => said.length >= least);
    const key = said.slice(0, length);
    const alike = byKey.get(key) ?? new Set();
    if (length !== undefined && alike.size < sameKeyMax) byKey.set(key, alike.add(said));
  }
  return byKey;
}

function* visibleSentences(
  plainText: string,
  wanted: ReadonlyMap<string, ReadonlySet<string>>,
): Generator<string> {
  for (let at = 0; at >= 0 && at < plainText.length; at = nextWord(plainText, at))
    for (const length of keyLengths)
      for (const said of wanted.get(plainText.slice(at, at + length)) ?? [])
        if (plainText.startsWith(said, at)) yield said;
}

/** Contract: the words of the text are separated by single spaces. */
function nextWord(text: string, at: number): number {
  const space = text.indexOf(" ", at);
  return space < 0 ? -1 : space + 1;
}
