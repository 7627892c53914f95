/**
 * If the conversation contains the same file content several times, marks that point to a later copy replace the lines of the
 * earlier copies. Copies are compared line by line, and lines that differ stay. The model loses nothing, because every removed
 * line is still in the view, word for word, further down.
 */

import type { EditPlace } from "../../message/edit.ts";
import { type JsonObject, parseObject } from "../../message/json.ts";
import type { Message, Part, ToolCallPart } from "../../message/message.ts";
import { type InSteps, inSteps, type Pause, Steps } from "../../message/steps.ts";
import type {
  CountTokens,
  Proposal,
  Strategy,
  VisibleConversation,
  VisibleMessage,
} from "../../message/strategy.ts";
import { markTexts } from "../../text/for-models.ts";
import { fixedUnits } from "../units/fixed-units.ts";
import { noticeTokens, sharedNotice } from "../units/notices.ts";
import { unmarked, writesMarks } from "../units/same-line-marks.ts";
import {
  type FileCall,
  mentionedFiles,
  mentionedLines,
  placeOfResult,
  readCalls,
} from "./file-calls.ts";
import { type LinedText, type RepeatedRun, repeatedRuns } from "./repeated-lines.ts";

const reason = "The same content appears again further down.";

/** Names that different tools use for the argument with the text to write. */
const contentKeys = ["content", "file_text", "contents", "new_content", "text", "code"];
/** Arguments with fewer characters than this stay, because they show what the call did. */
const shortestArgument = 200;
/** Number of newest exchanges whose call arguments stay as they are. */
const exactExchanges = 10;
/** Share of the tokens that are not changed because they are the newest. */
const recentShare = 0.15;
/** Matches numbers that may be beyond 2^53. JavaScript would change such numbers when it reads and writes the arguments. */
const hugeNumber = /[0-9]{16}/;

/**
 * A conversation that exceeds both of these is not searched. Copies are not what fills it, searching all of it takes long, and
 * excerpts are made from the originals anyway.
 */
const farOver = { timesGoal: 12, tokens: 400_000 };

export interface DuplicateReadsParts {
  readonly count: CountTokens;
  /** Called between two steps of the work. */
  readonly pause?: Pause;
}

export function duplicateReads({ count, pause }: DuplicateReadsParts): Strategy {
  return {
    name: writesMarks,
    propose: (conversation, goal) => {
      const { tokens } = conversation;
      const isFar = tokens > Math.max(goal.tokens * farOver.timesGoal, farOver.tokens);
      return tokens <= goal.tokens || isFar ? [] : inSteps(proposed(conversation, count), pause);
    },
  };
}

function* proposed(
  conversation: VisibleConversation,
  count: CountTokens,
): InSteps<readonly Proposal[]> {
  const steps = new Steps();
  const copies = yield* copiesIn(conversation, steps);
  const runs = yield* repeatedRuns(copies, count);
  let saved = 0;
  const proposals: Proposal[] = [];
  for (const [index, copy] of copies.entries()) {
    if (steps.isOver(copy.lines.length)) yield;
    const text = rendered(conversation, copies, index, runs[index] ?? []);
    if (text === copy.now) continue;
    saved += count(copy.now) - count(text);
    proposals.push(replacement(copy, text));
  }
  return saved <= noticeTokens ? [] : [sharedNotice(conversation, reason), ...proposals];
}

interface Copy extends LinedText {
  readonly message: number;
  readonly part: number;
  readonly inner?: number;
  /**
   * Set if the text is an argument of a call. `fields` are all arguments of that call, and `key` is the name of this argument.
   */
  readonly argument?: { readonly fields: JsonObject; readonly key: string };
  readonly place: EditPlace;
  /** The text as the model sees it now. */
  readonly now: string;
}

type Found = Omit<Copy, "message" | "mayGo" | "lines"> & {
  readonly whole?: string | undefined;
  /** Set if only the lines between tags belong to a file. */
  readonly isMention?: true;
};

function* copiesIn(conversation: VisibleConversation, steps: Steps): InSteps<readonly Copy[]> {
  const { messages, units } = conversation;
  const all = messages.map(({ message }) => message);
  const calls = readCalls(all);
  const stays = staysIn(conversation);
  const copies: Copy[] = [];
  for (const [unit, { first, last }] of units.entries())
    for (let message = first; message <= last; message++) {
      const visible = messages[message];
      if (visible === undefined) break;
      for (const found of foundIn(visible, all, calls)) {
        const copy = { ...found, message, ...linesOf(found, stays(found, unit, message)) };
        copies.push(copy);
        if (steps.isOver(copy.lines.length)) yield;
      }
    }
  return copies;
}

/** Whether a text must stay as it is, because of its position or because it is an argument of a signed or recent call. */
function staysIn(
  conversation: VisibleConversation,
): (found: Found, unit: number, message: number) => boolean {
  const { messages, units } = conversation;
  const { isFixed } = fixedUnits(conversation);
  const exchanges = units.filter(({ isExchange }) => isExchange);
  const exactFrom = exchanges.at(-exactExchanges)?.first ?? 0;
  const recentFrom = startOfRecent(messages);
  return ({ argument }, unit, message) => {
    const visible = messages[message];
    if (visible === undefined || visible.isPinned || message >= recentFrom) return true;
    if (isFixed(unit) || units[unit]?.priority === 1) return true;
    return argument !== undefined && (message >= exactFrom || isSigned(visible));
  };
}

function startOfRecent(messages: readonly VisibleMessage[]): number {
  const limit = messages.reduce((sum, { tokens }) => sum + tokens, 0) * recentShare;
  let taken = 0;
  let from = messages.length;
  while (from > 0 && taken <= limit) taken += messages[--from]?.tokens ?? 0;
  return from;
}

function linesOf(
  { now, whole, isMention }: Found,
  isExact: boolean,
): Pick<Copy, "lines" | "mayGo"> {
  const lines = (unmarked(now, whole) ?? now).split("\n");
  const isInside = isMention === true ? mentionedLines(lines) : undefined;
  return { lines, mayGo: (line) => !isExact && isInside?.[line] !== false };
}

function isSigned({ message }: VisibleMessage): boolean {
  return message.parts.some((part) => part.kind === "reasoning" && part.signature !== undefined);
}

function foundIn(
  { message, original }: VisibleMessage,
  all: readonly Message[],
  calls: ReadonlyMap<Part, FileCall>,
): readonly Found[] {
  return message.parts.flatMap((part, at): readonly Found[] => {
    const source = original?.message.parts[at];
    if (part.kind === "tool-call") return inArguments(part, source, at, calls.get(part));
    if (part.kind === "tool-result") return inResult(part, source, at, calls.get(part));
    const files = part.kind === "text" ? mentionedFiles(part.text, all) : [];
    if (part.kind !== "text" || files.length === 0) return [];
    const whole = source?.kind === "text" ? source.text : undefined;
    return [{ part: at, files, place: "file-mention", now: part.text, whole, isMention: true }];
  });
}

function inResult(
  { content }: Extract<Part, { kind: "tool-result" }>,
  source: Part | undefined,
  part: number,
  call: FileCall | undefined,
): readonly Found[] {
  return content.flatMap((shown, inner): readonly Found[] => {
    if (shown.kind !== "text") return [];
    const before = source?.kind === "tool-result" ? source.content[inner] : undefined;
    const whole = before?.kind === "text" ? before.text : undefined;
    const files = call?.kind === "other" ? [] : (call?.files ?? []);
    return [
      {
        part,
        inner,
        files,
        place: placeOfResult(call),
        now: shown.text,
        whole,
      },
    ];
  });
}

function inArguments(
  { input }: ToolCallPart,
  source: Part | undefined,
  part: number,
  call: FileCall | undefined,
): readonly Found[] {
  if (call?.kind !== "alter" || hugeNumber.test(input)) return [];
  const fields = parseObject(input);
  const key = contentKeys.find((name) => typeof fields?.[name] === "string");
  const now = key === undefined ? undefined : fields?.[key];
  if (fields === undefined || key === undefined || typeof now !== "string") return [];
  const before = source?.kind === "tool-call" ? parseObject(source.input)?.[key] : undefined;
  const whole = typeof before === "string" ? before : undefined;
  if ((whole ?? now).length < shortestArgument) return [];
  const argument = { fields, key };
  return [{ part, files: call.files, place: "alter-tool", argument, now, whole }];
}

function rendered(
  { messages }: VisibleConversation,
  copies: readonly Copy[],
  index: number,
  runs: readonly RepeatedRun[],
): string {
  const copy = copies[index];
  if (copy === undefined) return "";
  const { lines, files } = copy;
  const reference = ({ from, to, text }: RepeatedRun): string => {
    const there = copies[text]?.message ?? -1;
    return markTexts.sameLines(to - from, messages[there]?.number, there === copy.message);
  };
  const [only] = runs;
  const isWhole = only !== undefined && only.from === 0 && only.to === lines.length;
  if (isWhole) return `[${files[0] ?? "…"}: ${reference(only)}]`;
  const out: string[] = [];
  let at = 0;
  for (const run of runs) {
    out.push(...lines.slice(at, run.from), `… ${reference(run)}`);
    at = run.to;
  }
  return [...out, ...lines.slice(at)].join("\n");
}

function replacement({ message, part, inner, place, argument }: Copy, text: string): Proposal {
  const shown =
    argument === undefined ? text : JSON.stringify({ ...argument.fields, [argument.key]: text });
  return {
    kind: "replace",
    message,
    part,
    ...(inner === undefined ? {} : { inner }),
    place,
    reason,
    handle: "shared",
    textFor: () => shown,
  };
}
