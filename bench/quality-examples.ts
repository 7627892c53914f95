/** Results as a model would see them, in short excerpts. */

import type { Case, ChatMessage } from "./quality-answers.ts";
import { linesOfFile } from "./quality-scorer.ts";

/** Of sets under the MIT licence only. */
const wanted = [
  { set: "coding_miniswe", percent: 10 },
  { set: "coding_miniswe", percent: 25 },
  { set: "session_claudecode_bookminder", percent: 10 },
] as const;

/** Where something was left out here, and not by the product. */
const trimmed = "(…)";
const headLines = 3;
/** A conversation of a few messages shows little. */
const leastMessages = 25;
const firstLines = 30;
const lastLines = 8;
const lineCharacters = 140;

interface Example {
  readonly title: string;
  readonly text: string;
}

interface Found {
  readonly item: Case;
  readonly characters: number;
}

/** The shortest result of each kind, of conversations that have some length. */
export async function readExamples(cases: string, answers: string): Promise<readonly Example[]> {
  const items = new Map<string, Case>();
  for await (const line of linesOfFile(cases)) {
    const item = JSON.parse(line) as Case;
    const isWanted = wanted.some(({ set, percent }) => isOf(item, set, percent));
    if (isWanted && item.id !== undefined) items.set(item.id, item);
  }
  const results = new Map<string, readonly ChatMessage[]>();
  for await (const line of linesOfFile(answers)) {
    const { id = "", messages } = JSON.parse(line) as Case;
    if (items.has(id) && messages !== undefined) results.set(id, messages);
  }
  return wanted.flatMap(({ set, percent }) => {
    const found = [...results].flatMap(([id, messages]): readonly Found[] => {
      const item = items.get(id);
      const isMine = item !== undefined && isOf(item, set, percent) && isLong(item);
      return isMine ? [{ item, characters: JSON.stringify(messages).length }] : [];
    });
    const [shortest] = found.toSorted((one, other) => one.characters - other.characters);
    const messages = results.get(shortest?.item.id ?? "");
    if (shortest === undefined || messages === undefined) return [];
    return [exampleOf(shortest.item, messages)];
  });
}

function isOf(item: Case, set: string, percent: number): boolean {
  return item.kind === "future" && item.set === set && item.percent === percent;
}

function isLong({ messages = [] }: Case): boolean {
  return messages.length >= leastMessages;
}

function exampleOf(item: Case, messages: readonly ChatMessage[]): Example {
  const { pinnedHeadCount = 0, messages: before = [], percent, budgetTokens, set } = item;
  const head = messages.slice(0, pinnedHeadCount).flatMap((message) => {
    const lines = render(message);
    return lines.length <= headLines ? lines : [...lines.slice(0, headLines), trimmed];
  });
  const rest = messages.slice(pinnedHeadCount).flatMap(render);
  const isLong = rest.length > firstLines + lastLines;
  const shown = isLong ? [...rest.slice(0, firstLines), trimmed, ...rest.slice(-lastLines)] : rest;
  const name = item.id?.slice(set.length + 1).replace(/\/budget\d+$/, "");
  return {
    title: `${set}, ${percent} %: ${before.length} messages became ${messages.length} in ${budgetTokens?.toLocaleString("en-US")} tokens (${name})`,
    text: [...head, ...shown].map(clip).join("\n"),
  };
}

function render({ role, content, tool_calls: calls = [] }: ChatMessage): readonly string[] {
  const text = typeof content === "string" ? content : "";
  const called = calls.flatMap((call) => [
    `→ ${call.function.name}`,
    ...argumentLines(call.function.arguments),
  ]);
  return [`── ${role}`, ...(text === "" ? [] : text.split("\n")), ...called];
}

/** With line breaks as such. */
function argumentLines(text: string): readonly string[] {
  try {
    const input = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return Object.entries(input).flatMap(([key, value]) =>
      `  ${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`.split("\n"),
    );
  } catch {
    return [text];
  }
}

function clip(line: string): string {
  return line.length <= lineCharacters ? line : `${line.slice(0, lineCharacters)} ${trimmed}`;
}
