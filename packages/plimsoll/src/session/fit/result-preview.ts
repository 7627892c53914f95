/** What of a large result stands behind its reference, as `tool_output_mode` says: nothing, its ends, or what matters in it. */

import { readEvidence } from "../../compact/evidence/evidence.ts";
import type { FencedText } from "../../compact/summary/prompt.ts";
import { checkSummaryFacts } from "../../compact/summary/survival.ts";
import type { Message } from "../../message/message.ts";
import {
  chooseMode,
  type Extraction,
  extractText,
  truncateText,
} from "../../offload/result-preview.ts";
import type { FollowedBy } from "../../text/for-models.ts";
import { alarmOf } from "../../text/trouble.ts";
import { type Draft, offerIn } from "../draft/draft.ts";
import { guardOf } from "../draft/projection.ts";
import type { Summariser } from "../models/summariser.ts";
import type { FitWorld } from "./last-resort.ts";

/** No more than this, nor than this share of the result and of the limit. */
const most = { bytes: 12_288, ofResult: 0.8, ofLimit: 0.05 };
const bytesPerToken = 4;

export interface Brief {
  /** For the reference: what follows it. */
  readonly followedBy?: FollowedBy;
  readonly text?: string;
}

export interface BriefedResult {
  readonly text: string;
  readonly bytes: number;
  /** Of the message in which it stands, in the log. */
  readonly number: number;
}

export type BriefWorld = Pick<FitWorld, "config" | "summariser" | "closing" | "count">;

export async function briefOf(
  world: BriefWorld,
  draft: Draft,
  { text, bytes, number }: BriefedResult,
): Promise<Brief> {
  const { tool_output_mode = "auto", toolResponseMaxBytes } = world.config.defaults ?? {};
  const { summariser } = world;
  const mode = chooseMode({
    mode: tool_output_mode,
    text,
    canRead: offerIn(draft) !== undefined,
    hasModel: summariser !== undefined,
  });
  if (mode === "read-grep") return {};
  const ofLimit = guardOf(world, draft).limit * most.ofLimit * bytesPerToken;
  const bound = Math.min(toolResponseMaxBytes ?? most.bytes, bytes * most.ofResult, ofLimit);
  const mostBytes = Math.floor(bound);
  if (mode === "truncate") return { followedBy: "ends", text: truncateText(text, mostBytes) };
  const byModel = summariser === undefined ? {} : { byModel: asking(world, summariser, number) };
  const extract = await extractText(text, { mostBytes, standsOut: alarmOf, ...byModel });
  return { followedBy: "highlights", text: extract };
}

/** A request waits no longer than this for a model, however many chunks there are. */
const timeoutMs = 10_000;
/** A longer text of a tool would be shown to the model in part. */
const fencedChars = 4000;

/** A model's words are held to their source like those of a summary. */
function asking(
  { closing, count }: Pick<BriefWorld, "closing" | "count">,
  summariser: Summariser,
  number: number,
): NonNullable<Extraction["byModel"]> {
  const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
  return async (chunk, mostBytes) => {
    const maxTokens = Math.ceil(mostBytes / bytesPerToken);
    const source = fencesOf(chunk, number);
    const made = await summariser.summarise({ source, maxTokens, signal });
    if (made.kind === "failed") return undefined;
    const evidence = readEvidence([{ message: resultOf(chunk), number }]);
    const verdict = checkSummaryFacts({ summary: made.text, evidence, source, count, maxTokens });
    if (verdict.kind === "passes") return made.text;
    return verdict.kind === "patched" ? verdict.summary : undefined;
  };
}

function fencesOf(chunk: string, number: number): readonly FencedText[] {
  const fences: FencedText[] = [];
  for (let at = 0; at < chunk.length; at += fencedChars)
    fences.push({ number, speaker: "tool", text: chunk.slice(at, at + fencedChars) });
  return fences;
}

function resultOf(text: string): Message {
  const content = [{ kind: "text", text }] as const;
  return { role: "tool", parts: [{ kind: "tool-result", callId: "", content, isError: false }] };
}
