/**
 * Of each file, only the last copy in the conversation stays, also if the file has changed since the older ones. A notice with a
 * handle replaces the text of an older copy. `file_reads: last` in the configuration asks for this. Without it,
 * `duplicate_reads` compares copies line by line, and lines that differ stay.
 */

import type { EditPlace } from "../../message/edit.ts";
import type { Message, Part } from "../../message/message.ts";
import type {
  CountTokens,
  Proposal,
  Strategy,
  VisibleConversation,
} from "../../message/strategy.ts";
import { documentTexts, type Wording } from "../../text/document-texts.ts";
import { markTexts } from "../../text/for-models.ts";
import { fixedUnits } from "../units/fixed-units.ts";
import { type FileCall, mentionedBlocks, readCalls } from "./file-calls.ts";

const reason = "A later message has a newer copy of the file.";

export interface OlderCopiesParts {
  readonly count: CountTokens;
  readonly texts?: Wording | undefined;
}

export function olderCopies({ count, texts }: OlderCopiesParts): Strategy {
  const { olderCopy } = texts === "documents" ? documentTexts : markTexts;
  return {
    name: "older_copies",
    propose: (conversation, goal) =>
      conversation.tokens <= goal.tokens ? [] : proposalsFor(conversation, { count, olderCopy }),
  };
}

/** A text of a message that shows a file, or several. */
interface Showing {
  readonly message: number;
  readonly part: number;
  readonly inner?: number;
  readonly place: EditPlace;
  readonly text: string;
  readonly blocks: readonly Block[];
}

interface Block {
  readonly file: string;
  /** True if it is all of the file. */
  readonly isWhole: boolean;
  /** The content begins and ends at these offsets of the text. */
  readonly from: number;
  readonly to: number;
}

/** The last copy of a file, and all of its text. */
interface LastCopy {
  readonly order: number;
  readonly message: number;
}

interface Writing {
  readonly count: CountTokens;
  readonly olderCopy: typeof markTexts.olderCopy;
}

function proposalsFor(
  conversation: VisibleConversation,
  { count, olderCopy }: Writing,
): readonly Proposal[] {
  const showings = showingsIn(conversation.messages.map(({ message }) => message));
  const last = new Map<string, LastCopy>();
  let order = 0;
  const orders = new Map<Block, number>();
  for (const { message, blocks } of showings)
    for (const block of blocks) {
      orders.set(block, order);
      if (block.isWhole) last.set(block.file, { order, message });
      order++;
    }
  const mayChange = changeable(conversation);
  return showings.flatMap((showing): readonly Proposal[] => {
    if (!mayChange(showing.message)) return [];
    const old = showing.blocks.flatMap((block) => {
      const newer = last.get(block.file);
      if (newer === undefined || newer.order <= (orders.get(block) ?? 0)) return [];
      return [{ ...block, number: conversation.messages[newer.message]?.number ?? newer.message }];
    });
    if (old.length === 0) return [];
    const textFor = (handle: string): string =>
      withNotices(showing.text, old, (file, number) => olderCopy(file, number, handle));
    if (count(textFor(placeForHandle)) >= count(showing.text)) return [];
    const { message, part, inner, place } = showing;
    return [
      {
        kind: "replace",
        message,
        part,
        ...(inner === undefined ? {} : { inner }),
        place,
        reason,
        textFor: ({ handle }) => textFor(handle),
      },
    ];
  });
}

/** As long as a handle, to tell whether the notice saves anything. */
const placeForHandle = "pl_0123456789abcdefghijkl";

interface OldBlock extends Block {
  /** Number of the message with the last copy. */
  readonly number: number;
}

function withNotices(
  text: string,
  blocks: readonly OldBlock[],
  noticeFor: (file: string, number: number) => string,
): string {
  let out = "";
  let at = 0;
  for (const { file, from, to, number } of blocks) {
    out += `${text.slice(at, from)}${noticeFor(file, number)}`;
    at = to;
  }
  return out + text.slice(at);
}

function changeable(conversation: VisibleConversation): (message: number) => boolean {
  const { isFixed } = fixedUnits(conversation);
  const units = conversation.messages.map(() => -1);
  for (const [index, { first, last }] of conversation.units.entries())
    units.fill(index, first, last + 1);
  return (message) => {
    const unit = units[message] ?? -1;
    const { isPinned = true } = conversation.messages[message] ?? {};
    return !isPinned && !isFixed(unit) && conversation.units[unit]?.priority !== 1;
  };
}

function showingsIn(messages: readonly Message[]): readonly Showing[] {
  const calls = readCalls(messages);
  const failed = failedCalls(messages);
  return messages.flatMap(({ parts }, message) =>
    parts.flatMap((part, at) =>
      failed.has(part)
        ? []
        : showingsOf(part, calls.get(part), messages).map((showing) => ({
            ...showing,
            message,
            part: at,
          })),
    ),
  );
}

/** Ids can repeat, so a result belongs to the nearest earlier call with its id. */
function failedCalls(messages: readonly Message[]): ReadonlySet<Part> {
  const failed = new Set<Part>();
  const last = new Map<string, Part>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (part.kind === "tool-call") last.set(part.id, part);
    const call = part.kind === "tool-result" && part.isError ? last.get(part.callId) : undefined;
    if (call !== undefined) failed.add(call);
  }
  return failed;
}

type Found = Omit<Showing, "message" | "part">;

/**
 * Contract: a read shows its file only if the result contains nothing else. Of a command such as `cat a && npm test`, nobody knows
 * where the file ends.
 */
function showingsOf(
  part: Part,
  call: FileCall | undefined,
  messages: readonly Message[],
): readonly Found[] {
  if (part.kind === "text") return mentions(part.text, undefined, messages);
  if (part.kind === "tool-call") return written(call);
  if (part.kind !== "tool-result" || part.isError) return [];
  const [only, ...more] = part.content;
  const [file, ...others] = call?.files ?? [];
  if (only?.kind === "text" && more.length === 0 && call?.kind === "read" && call.isAlone) {
    const { text } = only;
    if (file !== undefined && others.length === 0) {
      const block = { file, isWhole: call.isWhole, from: 0, to: text.length };
      return [{ inner: 0, place: "read-tool", text, blocks: [block] }];
    }
  }
  return part.content.flatMap((inner, at) =>
    inner.kind === "text" ? mentions(inner.text, at, messages) : [],
  );
}

/** The call wrote the whole file. Its arguments say what it did, so they stay. */
function written(call: FileCall | undefined): readonly Found[] {
  const [file, ...others] = call?.files ?? [];
  if (call?.kind !== "alter" || !call.isWhole || file === undefined || others.length > 0) return [];
  const block = { file, isWhole: true, from: 0, to: 0 };
  return [{ place: "alter-tool", text: "", blocks: [block] }];
}

/** Blocks such as `<file_content path="a.ts">…</file_content>`, in words of the user or in the result of an editing tool. */
function mentions(
  text: string,
  inner: number | undefined,
  messages: readonly Message[],
): readonly Found[] {
  const blocks = mentionedBlocks(text, messages).map((block) => ({ ...block, isWhole: true }));
  if (blocks.length === 0) return [];
  const place = inner === undefined ? "file-mention" : "alter-tool";
  return [{ ...(inner === undefined ? {} : { inner }), place, text, blocks }];
}
