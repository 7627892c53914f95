/** Results that were granted a handle: they are in the log whole, and the model sees a reference. */

import type { Proposal } from "../compact/strategy.ts";
import type { Edit } from "../message/edit.ts";
import { errorMessage } from "../message/error.ts";
import type { Part } from "../message/message.ts";
import { countLines, grouped, oneLine } from "../offload/text-bytes.ts";
import type { CompactionWorld } from "./compaction.ts";
import { type Draft, sizeView } from "./draft.ts";
import { commitEdits, reportDegraded } from "./edit-log.ts";
import { judge } from "./judge-view.ts";
import { makeEdits } from "./make-edits.ts";
import { indexOn, viewOf } from "./path.ts";
import type { LogSaver } from "./save-log.ts";
import { decoded } from "./seen.ts";
import { foldView } from "./view.ts";

type ReferablePart = Extract<Part, { kind: "text" | "image" | "document" }>;

/** A shorter text is no longer than what would be said of it. */
const leastChars = 600;

export function isReferable(part: Part): part is ReferablePart {
  if (part.kind === "text") return part.text.length >= leastChars;
  return part.kind === "image" || part.kind === "document";
}

export interface Reference {
  readonly tool: string;
  readonly handle: string;
}

/** So much of its beginning says what a result is. */
const beginningChars = 200;

export function referenceTo(part: ReferablePart, { tool, handle }: Reference): string {
  if (part.kind !== "text")
    return `[Plimsoll: the ${part.kind} that ${tool} gave did not fit into the window; it is kept under ${handle}.]`;
  const bytes = new TextEncoder().encode(part.text);
  const size = `${grouped(bytes.length)} bytes, ${grouped(countLines(bytes))} lines`;
  const beginning = oneLine(part.text, beginningChars);
  return `[Plimsoll: the result of ${tool} (${size}) did not fit into the window; it is kept whole under ${handle}: read what you need of it. It begins: ${beginning}]`;
}

const toolBudget = "tool_budget";

interface OffloadWorld extends CompactionWorld {
  readonly saver: LogSaver;
  readonly exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>;
}

/** What is new at the end of a conversation, and which of its results were granted a handle: names of tools by call. */
export interface Granted {
  readonly newMessages: number;
  readonly tools: ReadonlyMap<string, string>;
}

/** Contract: what cannot be stored, or would make the request invalid, is not done: the results stand there whole. */
export async function showReferences(
  world: OffloadWorld,
  draft: Draft,
  granted: Granted,
): Promise<void> {
  if (granted.tools.size === 0) return;
  await world.exclusively(`edits\0${draft.log.record.id}`, async () => {
    const first = draft.path.length - granted.newMessages;
    const seen = Array.from({ length: granted.newMessages }, (_, index) => first + index);
    try {
      const proposals = proposalsFor(draft, seen, granted.tools);
      if (proposals.length > 0) await replaceWith(world, draft, { seen, proposals });
    } catch (error) {
      reportDegraded(draft, "view", `no references could be made: ${errorMessage(error)}`);
    }
  });
}

function proposalsFor(
  { path, wire }: Draft,
  seen: readonly number[],
  tools: Granted["tools"],
): readonly Proposal[] {
  return seen.flatMap((index, message) => {
    const parts = decoded(wire, path.contentAt(index))?.parts ?? [];
    return parts.flatMap((result, part) => {
      const tool = result.kind === "tool-result" ? tools.get(result.callId) : undefined;
      if (result.kind !== "tool-result" || tool === undefined) return [];
      return result.content.flatMap((content, inner) =>
        isReferable(content) ? proposalFor(content, tool, { message, part, inner }) : [],
      );
    });
  });
}

function proposalFor(
  content: ReferablePart,
  tool: string,
  place: { readonly message: number; readonly part: number; readonly inner: number },
): Proposal {
  return {
    kind: "replace",
    ...place,
    place: "undefined",
    reason: "The result did not fit into what was left of the window.",
    textFor: ({ handle }) => referenceTo(content, { tool, handle }),
  };
}

async function replaceWith(
  world: OffloadWorld,
  draft: Draft,
  {
    seen,
    proposals,
  }: { readonly seen: readonly number[]; readonly proposals: readonly Proposal[] },
): Promise<void> {
  const { log, branch, path, wire, turn } = draft;
  await path.load();
  const made = makeEdits(
    {
      log,
      branch: branch.record.id,
      wire,
      path,
      view: viewOf(log, branch, path),
      seen,
      sign: world.sign,
      step: `${turn.id}+${toolBudget}`,
      strategy: toolBudget,
      at: turn.at,
      from: (log.edits.at(-1)?.seq ?? 0) + 1,
      wordings: new Map(),
      hasArchive: true,
    },
    proposals,
  );
  const edits = await withSizes(world, draft, made.edits);
  const view = foldView(indexOn(path, log), [...log.edits, ...edits]);
  const sized = await sizeView(world.facts, draft, view);
  if (judge(world, draft, sized).kind !== "valid") return;
  const saved = await commitEdits(world, log, edits, made);
  if (saved === "stored") branch.judged = { view: viewOf(log, branch, path), turns: 0 };
}

/** What each text of ours costs. */
async function withSizes(
  { facts }: OffloadWorld,
  { targets: [{ ruler }] }: Draft,
  edits: readonly Edit[],
): Promise<readonly Edit[]> {
  const texts = edits.map(({ action }) => ("text" in action ? action.text : ""));
  const sizes = await facts.weigh(
    texts.map((text) => ({ role: "tool", parts: [{ kind: "text", text }] })),
    ruler,
  );
  return edits.map((edit, index) => ({ ...edit, tokensAfter: sizes[index] ?? 0 }));
}
