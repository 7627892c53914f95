/** Results that were granted only a handle. The log contains them in full, and the model sees a reference. */

import type { NewEdit } from "../../message/edit.ts";
import { errorMessage } from "../../message/error.ts";
import type { Part } from "../../message/message.ts";
import type { Proposal } from "../../message/strategy.ts";
import {
  anyHandle,
  describeMedia,
  describeResult,
  utf8Bytes,
} from "../../offload/reference-text.ts";
import type { Wording } from "../../text/document-texts.ts";
import { decoded } from "../draft/conversation-for-strategies.ts";
import { type Draft, offerIn, type Sized } from "../draft/draft.ts";
import { assessView, guardOf } from "../draft/projection.ts";
import { commit, propose } from "../draft/propose-edits.ts";
import { type MadeEdits, makeEdits } from "../fit/edits-from-proposals.ts";
import type { FitWorld } from "../fit/last-resort.ts";
import { type Brief, briefOf } from "../fit/result-preview.ts";
import { whileEditing } from "../log/edits.ts";
import { viewOf } from "../log/path.ts";
import { reportDegraded } from "../log/report.ts";

type ReferablePart = Extract<Part, { kind: "text" | "image" | "document" }>;

/** Minimum length of a text that a reference may replace. A shorter text would be no longer than its reference. */
const leastChars = 600;

export function isReferable(part: Part): part is ReferablePart {
  if (part.kind === "text") return part.text.length >= leastChars;
  return part.kind === "image" || part.kind === "document";
}

export interface Reference {
  readonly tool: string;
  readonly handle: string;
  /** The name that the tool for reading handles has in this request. */
  readonly readingTool?: string | undefined;
  readonly brief?: Brief | undefined;
  readonly texts?: Wording | undefined;
}

/**
 * Placeholder values. Before the result is in the log, neither its handle nor the name of the reading tool is known. A reference
 * with these values takes at least as many tokens as the real reference.
 */
export const anyReference = { handle: anyHandle, readingTool: "plimsoll999_read_result" };

export function referenceTo(part: ReferablePart, { brief = {}, ...reference }: Reference): string {
  if (part.kind !== "text") return describeMedia({ ...reference, kind: part.kind });
  const { text } = part;
  const { followedBy } = brief;
  const described = describeResult({ ...reference, text, bytes: utf8Bytes(text), followedBy });
  return brief.text === undefined ? described : `${described}\n${brief.text}`;
}

const toolBudget = "tool_budget";

/**
 * `newMessages`: the number of new messages at the end of the conversation. `tools`: the tool names of those new results that
 * were granted a handle, by call id.
 */
export interface Granted {
  readonly newMessages: number;
  readonly tools: ReadonlyMap<string, string>;
}

/** Contract: if the edits cannot be stored or would be invalid, they are not made, and the results stay in full. */
export async function showReferences(
  world: FitWorld,
  draft: Draft,
  granted: Granted,
): Promise<void> {
  if (granted.tools.size === 0) return;
  await whileEditing(draft.log, async () => {
    const first = draft.path.length - granted.newMessages;
    const pathIndexes = Array.from({ length: granted.newMessages }, (_, index) => first + index);
    try {
      const results = resultsIn(draft, pathIndexes, granted.tools);
      if (results.length > 0) await replace(world, draft, { pathIndexes, results });
    } catch (error) {
      reportDegraded(draft, "view", `the references could not be made: ${errorMessage(error)}`);
    }
  });
}

interface GrantedResult {
  /** Index of the result's message among the new messages. */
  readonly message: number;
  readonly part: number;
  readonly inner: number;
  readonly content: ReferablePart;
  readonly tool: string;
}

interface Leaving {
  /** Indexes of the new messages on the path. */
  readonly pathIndexes: readonly number[];
  readonly results: readonly GrantedResult[];
}

function resultsIn(
  { path, wire }: Draft,
  pathIndexes: readonly number[],
  tools: Granted["tools"],
): readonly GrantedResult[] {
  return pathIndexes.flatMap((index, message) => {
    const parts = decoded(wire, path.contentAt(index))?.parts ?? [];
    return parts.flatMap((result, part) => {
      const tool = result.kind === "tool-result" ? tools.get(result.callId) : undefined;
      if (result.kind !== "tool-result" || tool === undefined) return [];
      return result.content.flatMap((content, inner) =>
        isReferable(content) ? { message, part, inner, content, tool } : [],
      );
    });
  });
}

/**
 * Replaces results with references. The room for previews (`tool_output_mode`) was not reserved, so they are added only if they
 * fit.
 */
async function replace(world: FitWorld, draft: Draft, leaving: Leaving): Promise<void> {
  await draft.path.load();
  const briefs = await briefsOf(world, draft, leaving);
  const attempts = briefs.some(({ text }) => text !== undefined) ? [briefs, []] : [[]];
  for (const attempt of attempts) {
    const made = await madeOf(world, draft, leaving, attempt);
    const isGranted = attempt.length === 0;
    const fits = (sized: Sized): boolean =>
      isGranted || assessView(world, draft, sized, guardOf(world, draft)).verdict.kind === "fits";
    const proposed = await propose(world, draft, made.edits, fits);
    if (proposed.kind !== "valid") continue;
    const { archive, clientSpellings } = made;
    await commit(world, draft, proposed, { archive, clientSpellings });
    return;
  }
}

function briefsOf(
  world: FitWorld,
  draft: Draft,
  { pathIndexes, results }: Leaving,
): Promise<readonly Brief[]> {
  return Promise.all(
    results.map(async ({ content, message }) => {
      if (content.kind !== "text") return {};
      const { text } = content;
      const number = draft.path.seqAt(pathIndexes[message] ?? -1) ?? 0;
      return briefOf(world, draft, { text, bytes: utf8Bytes(text), number });
    }),
  );
}

async function madeOf(
  world: FitWorld,
  draft: Draft,
  { pathIndexes, results }: Leaving,
  briefs: readonly Brief[],
): Promise<MadeEdits> {
  const { log, branch, path, wire, turn } = draft;
  const readingTool = offerIn(draft)?.own.nameOf("read_result");
  const made = await makeEdits(
    {
      log,
      branch: branch.record.id,
      wire,
      path,
      view: viewOf(log, branch, path),
      pathIndexes,
      sign: world.sign,
      step: `${turn.id}+${toolBudget}`,
      strategy: toolBudget,
      at: turn.at,
      clientSpellings: new Map(),
      hasArchive: true,
    },
    results.map(
      ({ content, tool, ...place }, index): Proposal => ({
        kind: "replace",
        ...place,
        place: "undefined",
        reason: "The result did not fit into the rest of the window.",
        textFor: ({ handle }) =>
          referenceTo(content, {
            tool,
            handle,
            readingTool,
            brief: briefs[index],
            texts: world.config.texts,
          }),
      }),
    ),
  );
  return { ...made, edits: await withSizes(world, draft, made.edits) };
}

/** Sets the size of each text that Plimsoll added. */
async function withSizes(
  { facts }: FitWorld,
  { targets: [{ ruler }] }: Draft,
  edits: readonly NewEdit[],
): Promise<readonly NewEdit[]> {
  const texts = edits.map(({ action }) => ("text" in action ? action.text : ""));
  const sizes = await facts.weigh(
    texts.map((text) => ({ role: "tool", parts: [{ kind: "text", text }] })),
    ruler,
  );
  return edits.map((edit, index) => ({ ...edit, tokensAfter: sizes[index] ?? 0 }));
}
