/**
 * Turns proposals into edits: creates handles, extends ranges over the gaps they touch, and records in the archive where the
 * removed content is.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import type { EditAction, NewEdit } from "../../message/edit.ts";
import { makeHandle, type Sign } from "../../message/handle.ts";
import { Steps } from "../../message/steps.ts";
import type { HandleUse, Proposal, TakenOut } from "../../message/strategy.ts";
import { sha256 } from "../../store/body.ts";
import type {
  ArchiveRecord,
  ArchiveSource,
  ClientSpelling,
  NodeRecord,
} from "../../store/store.ts";
import { markTexts } from "../../text/for-models.ts";
import type { PartPlace, Wire } from "../../wire/format/wire.ts";
import type { Draft } from "../draft/draft.ts";
import { partContent } from "../log/archive.ts";
import { newEdit } from "../log/edits.ts";
import type { SessionLog } from "../log/log.ts";
import { lastTouched, type Path } from "../log/path.ts";
import type { Range, View } from "../log/view.ts";

export interface EditMaking {
  readonly log: SessionLog;
  readonly branch: string;
  readonly wire: Wire;
  readonly path: Path;
  readonly view: View;
  /** Index on the path of each message that the strategy received. */
  readonly pathIndexes: readonly number[];
  readonly sign: Sign;
  readonly step: string;
  readonly strategy: string;
  readonly at: number;
  /** Sizes in bytes of the client spellings that are already stored, by the number of the answer. */
  readonly clientSpellings: ReadonlyMap<number, number>;
  readonly hasArchive: boolean;
}

export interface MadeEdits {
  readonly edits: readonly NewEdit[];
  readonly archive: readonly ArchiveRecord[];
  readonly clientSpellings: readonly ClientSpelling[];
}

/** Fills in the fields that come from the draft. */
export function editMakingFor(
  { log, branch, wire, path, turn }: Draft,
  others: Omit<EditMaking, "log" | "branch" | "wire" | "path" | "step" | "at">,
): EditMaking {
  return { log, branch: branch.record.id, wire, path, step: turn.id, at: turn.at, ...others };
}

/** Maximum number of consecutive messages in one run. The archive always reads whole runs. */
const messagesPerRun = 100;

/** Cost of one proposal in the unit of `costPerStep`. It is this high because the proposal's message has to be read. */
const costPerProposal = 32;

export async function makeEdits(
  making: EditMaking,
  proposals: readonly Proposal[],
): Promise<MadeEdits> {
  const steps = new Steps();
  const edits: NewEdit[] = [];
  const archive: ArchiveRecord[] = [];
  const clientSpellings: ClientSpelling[] = [];
  const shared = sharedEntry(making, proposals);
  if (shared !== undefined) {
    archive.push(shared.entry);
    clientSpellings.push(...shared.clientSpellings);
  }
  for (const proposal of proposals) {
    if (steps.isOver(costPerProposal)) await nextTurn();
    const made = actionFor(making, proposal, shared);
    if (made === undefined) continue;
    if (made.entry !== undefined) archive.push(made.entry);
    clientSpellings.push(...(made.clientSpellings ?? []));
    edits.push(
      newEdit(making, {
        anchor: lastTouched(made.action) ?? "",
        action: made.action,
        ...(proposal.kind === "replace" ? { place: proposal.place } : {}),
        strategy: making.strategy,
        reason: proposal.reason,
        tokensBefore: made.tokens,
      }),
    );
  }
  return { edits, archive, clientSpellings };
}

/** An archive entry whose handle is shared by many edits. It covers every message that the view will not show in full. */
interface SharedEntry {
  readonly entry: ArchiveRecord;
  readonly clientSpellings: readonly ClientSpelling[];
  readonly messages: number;
  readonly tokens: number;
}

function sharedEntry(making: EditMaking, proposals: readonly Proposal[]): SharedEntry | undefined {
  const { path, view, pathIndexes } = making;
  if (!proposals.some(({ kind }) => kind === "summary")) return undefined;
  const covered = new Set<number>(view.replacements.keys());
  const cover = ({ first, last }: Range): void => {
    for (let index = first; index <= last; index++) covered.add(index);
  };
  for (const gap of view.gaps) cover(gap);
  for (const proposal of proposals) {
    if (proposal.kind === "replace")
      cover(rangeFor(pathIndexes, proposal.message, proposal.message));
    if (proposal.kind === "remove" || proposal.kind === "fold")
      cover(rangeFor(pathIndexes, proposal.first, proposal.last));
  }
  const indexes = [...covered].filter((index) => index >= 0).toSorted((one, other) => one - other);
  const found = sourceOf(making, indexes);
  if (found === undefined) return undefined;
  const chains = indexes.map((index) => path.chainAt(index) ?? "").join("\0");
  const entry = entryFor(making, found.source, chains, bytesOf(found.source, indexes.length));
  const tokens = indexes.reduce(
    (sum, index) => sum + path.sumOf({ first: index, last: index }).tokens,
    0,
  );
  return { entry, clientSpellings: found.clientSpellings, messages: indexes.length, tokens };
}

function rangeFor(pathIndexes: readonly number[], first: number, last: number): Range {
  return { first: pathIndexes[first] ?? 0, last: pathIndexes[last] ?? -1 };
}

interface MadeAction {
  readonly clientSpellings?: readonly ClientSpelling[];
  readonly action: EditAction;
  readonly entry?: ArchiveRecord;
  readonly tokens: number;
}

function actionFor(
  making: EditMaking,
  proposal: Proposal,
  shared: SharedEntry | undefined,
): MadeAction | undefined {
  const { pathIndexes, path } = making;
  switch (proposal.kind) {
    case "summary":
      return summaryAction(making, proposal, shared);
    case "insert": {
      const after = path.chainAt(pathIndexes[proposal.after] ?? -1);
      if (after === undefined || proposal.text.trim() === "") return undefined;
      return { action: { kind: "insert", after, text: proposal.text }, tokens: 0 };
    }
    case "replace":
      return replaceAction(making, proposal, sharedFor(proposal, shared));
    case "remove":
    case "fold":
      return rangeAction(making, proposal, sharedFor(proposal, shared));
  }
}

function sharedFor(
  { handle }: { readonly handle?: HandleUse },
  shared: SharedEntry | undefined,
): SharedEntry | undefined {
  return handle === "shared" ? shared : undefined;
}

function summaryAction(
  { path, pathIndexes, hasArchive }: EditMaking,
  proposal: Extract<Proposal, { kind: "summary" }>,
  shared: SharedEntry | undefined,
): MadeAction | undefined {
  const after = path.chainAt(pathIndexes[proposal.after] ?? -1);
  if (after === undefined || shared === undefined) return undefined;
  const { entry, messages, tokens } = shared;
  const handle = hasArchive ? entry.handle : "";
  const text = proposal.textFor({ handle, messages, tokens });
  if (text === "" && !hasArchive) return undefined;
  return {
    action: {
      kind: "insert",
      after,
      text: hasArchive ? withHandle(text, entry) : text,
      handle: entry.handle,
    },
    tokens: 0,
  };
}

type ReplaceProposal = Extract<Proposal, { kind: "replace" }>;

function replaceAction(
  making: EditMaking,
  proposal: ReplaceProposal,
  shared: SharedEntry | undefined,
): MadeAction | undefined {
  const taken = partTaken(making, proposal);
  if (taken === undefined) return undefined;
  const { chain, place, tokens } = taken;
  if (shared !== undefined) {
    const { handle } = shared.entry;
    const text = proposal.textFor({ handle, messages: 1, tokens });
    return { action: { kind: "replace", chain, ...place, text, handle }, tokens };
  }
  const entry = partEntry(making, taken);
  const text = ownText(making, proposal, { entry, messages: 1, tokens });
  return {
    action: { kind: "replace", chain, ...place, text, handle: entry.handle },
    entry,
    clientSpellings: partSpellings(making, taken),
    tokens,
  };
}

/** One part of a message. */
interface TakenPart {
  /** Index of the message on the path, and its number in the log. */
  readonly index: number;
  readonly seq: number;
  readonly chain: string;
  readonly place: PartPlace;
  readonly bytes: number;
  /** Tokens of the whole message. */
  readonly tokens: number;
}

/** The part that a proposal replaces. Undefined if the message is not in the log or has no such part. */
function partTaken(
  { path, pathIndexes, wire }: EditMaking,
  { message, part, inner }: ReplaceProposal,
): TakenPart | undefined {
  const index = pathIndexes[message] ?? -1;
  const chain = path.chainAt(index);
  const seq = path.seqAt(index);
  if (chain === undefined || seq === undefined) return undefined;
  const place = { part, ...(inner === undefined ? {} : { inner }) };
  const content = partContent(wire, path.contentAt(index), place);
  if (content === undefined) return undefined;
  const { tokens } = path.sumOf({ first: index, last: index });
  return { index, seq, chain, place, bytes: content.length, tokens };
}

function partEntry(making: EditMaking, { seq, chain, place, bytes }: TakenPart): ArchiveRecord {
  const name = `${chain}\0${place.part}\0${place.inner ?? ""}`;
  return entryFor(making, { kind: "part", seq, ...place }, name, bytes);
}

function partSpellings(making: EditMaking, { index, seq }: TakenPart): readonly ClientSpelling[] {
  const node = making.log.nodes.get(seq);
  if (node === undefined || making.clientSpellings.has(seq)) return [];
  const spelling = spellingOf(making, index, node);
  return spelling === undefined ? [] : [spelling];
}

type RangeProposal = Extract<Proposal, { kind: "remove" | "fold" }>;

function rangeAction(
  making: EditMaking,
  proposal: RangeProposal,
  shared: SharedEntry | undefined,
): MadeAction | undefined {
  const taken = rangeTaken(making, proposal);
  if (taken === undefined) return undefined;
  const { first, last, messages, tokens } = taken;
  if (shared !== undefined) {
    const { handle } = shared.entry;
    const text = proposal.textFor({ handle, messages, tokens });
    return { action: { kind: proposal.kind, first, last, text, handle }, tokens };
  }
  const archived = archivedRange(making, taken);
  if (archived === undefined) return undefined;
  const { entry, clientSpellings } = archived;
  const text = ownText(making, proposal, { entry, messages, tokens });
  return {
    action: { kind: proposal.kind, first, last, text, handle: entry.handle },
    entry,
    clientSpellings,
    tokens,
  };
}

/** Whole messages in a row. */
interface TakenRange {
  readonly range: Range;
  /** Chains of the first and the last message. */
  readonly first: string;
  readonly last: string;
  readonly messages: number;
  readonly tokens: number;
}

function rangeTaken(making: EditMaking, proposal: RangeProposal): TakenRange | undefined {
  const { path } = making;
  const range = withGaps(making, proposal);
  if (range === undefined) return undefined;
  const first = path.chainAt(range.first);
  const last = path.chainAt(range.last);
  if (first === undefined || last === undefined) return undefined;
  const messages = range.last - range.first + 1;
  return { range, first, last, messages, tokens: path.sumOf(range).tokens };
}

/** The archive entry for a range of messages. Undefined if some message of the range is not in the log. */
function archivedRange(
  making: EditMaking,
  { range, first, last, messages }: TakenRange,
): Pick<SharedEntry, "entry" | "clientSpellings"> | undefined {
  const indexes = Array.from({ length: messages }, (_, offset) => range.first + offset);
  const found = sourceOf(making, indexes);
  if (found === undefined) return undefined;
  const { source, clientSpellings } = found;
  const entry = entryFor(making, source, `${first}\0${last}`, bytesOf(source, messages));
  return { entry, clientSpellings };
}

/** Extends a range over the gaps next to it, so that one notice replaces all of them. */
function withGaps(
  { pathIndexes, view }: EditMaking,
  proposal: { readonly first: number; readonly last: number },
): Range | undefined {
  const [first, last] = [pathIndexes[proposal.first], pathIndexes[proposal.last]];
  if (first === undefined || last === undefined || first > last) return undefined;
  const range = { first, last };
  const before = view.gaps.find(({ last }) => last === range.first - 1);
  const behind = view.gaps.find(({ first }) => first === range.last + 1);
  return { first: before?.first ?? range.first, last: behind?.last ?? range.last };
}

/** Tells the archive where these messages are. Undefined if one of them is not in the log. No edit is made in that case. */
function sourceOf(
  making: EditMaking,
  indexes: readonly number[],
):
  | {
      readonly source: Extract<ArchiveSource, { kind: "messages" }>;
      readonly clientSpellings: readonly ClientSpelling[];
    }
  | undefined {
  const { path, log, clientSpellings: known } = making;
  const clientSpellings: ClientSpelling[] = [];
  const runs: [number, number, number][] = [];
  for (const index of indexes) {
    const seq = path.seqAt(index);
    const node = log.nodes.get(seq ?? -1);
    if (seq === undefined || node === undefined) return undefined;
    const spelling = known.has(seq) ? undefined : spellingOf(making, index, node);
    if (spelling !== undefined) clientSpellings.push(spelling);
    const bytes = known.get(seq) ?? spelling?.bytes.length ?? node.bytes;
    const run = runs.at(-1);
    const isNext = run !== undefined && run[1] === seq - 1 && seq - run[0] < messagesPerRun;
    if (isNext) {
      run[1] = seq;
      run[2] += bytes;
    } else runs.push([seq, seq, bytes]);
  }
  return { source: { kind: "messages", runs }, clientSpellings };
}

/** Number of bytes of the messages as a JSON array, including brackets and commas. */
function bytesOf({ runs }: Extract<ArchiveSource, { kind: "messages" }>, messages: number): number {
  return runs.reduce((sum, [, , size]) => sum + size, messages + 1);
}

/**
 * The client's spelling of an answer, if it differs from the spelling in the log. Other messages never differ, because the log
 * has them as the client sent them.
 */
function spellingOf(
  { path }: EditMaking,
  index: number,
  node: NodeRecord,
): ClientSpelling | undefined {
  if (node.source !== "answer") return undefined;
  const bytes = path.bytesAt(index);
  const hash = sha256(bytes);
  return bytes.length === 0 || hash === node.hash ? undefined : { seq: node.seq, hash, bytes };
}

function ownText(
  { hasArchive }: EditMaking,
  { textFor }: { readonly textFor: (taken: TakenOut) => string },
  { entry, ...taken }: { readonly entry: ArchiveRecord } & Omit<TakenOut, "handle">,
): string {
  if (!hasArchive) return textFor({ handle: "", ...taken });
  return withHandle(textFor({ handle: entry.handle, ...taken }), entry);
}

/** Adds the handle to a strategy's text that does not mention it, so that the model can read the removed content. */
function withHandle(text: string, { handle }: ArchiveRecord): string {
  return text.includes(handle) ? text : `${text} ${markTexts.keptUnder(handle)}`.trim();
}

function entryFor(
  { log, sign, at }: EditMaking,
  source: ArchiveSource,
  name: string,
  bytes: number,
): ArchiveRecord {
  const { tenant, id: session } = log.record;
  // The chain is a hash of the content and everything before it, so the same content gets the same handle.
  const handle = makeHandle(sign, { tenant, session, contentHash: sha256(name) });
  return { handle, tenant, session, bytes, at, source };
}
