/**
 * The preview of a large result, which follows its reference. Depending on `tool_output_mode`, this is nothing, the beginning and
 * end of the result, or its highlights.
 */

import { readEvidence } from "../../compact/evidence/evidence.ts";
import type { FencedText } from "../../compact/summary/prompt.ts";
import { checkSummaryFacts } from "../../compact/summary/survival.ts";
import { settingOf } from "../../config/levels.ts";
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

/** Maximum size of a preview: in bytes, as a share of the result, and as a share of the limit. */
const most = { bytes: 12_288, ofResult: 0.8, ofLimit: 0.05 };
const bytesPerToken = 4;

export interface Brief {
  /** The kind of preview that the text of the reference announces. Absent if there is no preview. */
  readonly followedBy?: FollowedBy;
  readonly text?: string;
}

export interface BriefedResult {
  readonly text: string;
  readonly bytes: number;
  /** Number, in the log, of the message that contains the result. */
  readonly number: number;
}

export type BriefWorld = Pick<FitWorld, "config" | "summariser" | "closing" | "count">;

export async function briefOf(
  world: BriefWorld,
  draft: Draft,
  { text, bytes, number }: BriefedResult,
): Promise<Brief> {
  const { tool_output_mode = "auto" } = world.config.defaults ?? {};
  const toolResponseMaxBytes = settingOf(world.config, draft.who, "toolResponseMaxBytes");
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

/** Maximum time in milliseconds that a request waits for the model, for all chunks together. */
const timeoutMs = 10_000;
/** Number of characters in each piece of a tool's text that the model gets. The model would see only part of a longer piece. */
const fencedChars = 4000;

/** Asks the model for an extract. The extract must pass the same fact check as a summary. */
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
