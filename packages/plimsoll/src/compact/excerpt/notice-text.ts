/**
 * Plimsoll's text after the head: a notice that the conversation was shortened and where the rest is, and the story so far.
 */

import type { VisibleConversation } from "../../message/strategy.ts";
import { excerptNotice } from "../../text/for-models.ts";
import { isTalk } from "../relevance/task.ts";
import type { Act } from "../story/acts.ts";
import { storyOf } from "../story/story.ts";
import { summaryBody } from "../units/notices.ts";
import { isBrief, type Room } from "./excerpt-room.ts";
import { namesWriterFor } from "./first-named.ts";
import type { QuotedRequest } from "./keep-requests.ts";
import { estimateTokens } from "./long-lines.ts";
import type { RenderedChoice } from "./render-choice.ts";
import { missingRules, rulesOf } from "./user-rules.ts";

/** Placeholder until the handle is known. Tokenizers count at least as many tokens for it as for nearly any other handle. */
const handlePlace = "pl_k7M2q9X4w8Z3v5T1y6R0pN";
/** Share of the room for the story. */
const storyShare = 0.12;
/** Share of the room for the outcomes of requests that the story quotes: without them, a quoted request looks open. */
const outcomesShare = { usual: 0.08, brief: 0.04 };

export function withHandle(digest: string, handle: string): string {
  return digest.replace(handlePlace, handle);
}

export interface Digest {
  /**
   * The text for what this rendering no longer shows. `quoted` are the requests whose words it must quote. `tokens` is the room
   * that the messages leave.
   */
  textFor(rendered: RenderedChoice, quoted: readonly QuotedRequest[], tokens: number): string;
}

/** With `coherence`, the text also says where names come from, until it explains that share of the references in the view. */
export function digestOf(
  conversation: VisibleConversation,
  room: Room,
  acts: readonly Act[],
  coherence?: number,
): Digest {
  const { hasArchive, prepared, summary, ownTools } = conversation;
  const noticeIn = (form: "usual" | "with a story"): string =>
    excerptNotice(
      hasArchive ? handlePlace : "",
      ownTools?.readingTool,
      isBrief(room) ? "brief" : form,
    );
  const notice = noticeIn("usual");
  const isStoryless = isTalk(conversation) && prepared === undefined;
  const rules = rulesOf(conversation, room.headLength);
  const earlier = summaryBody(summary);
  const namesFor = namesWriterFor(conversation, room.headLength);
  return {
    textFor: (rendered, quoted, tokens) => {
      if (isStoryless && earlier === undefined) return `[${notice}]`;
      const free = tokensForLines(tokens, notice, quoted);
      const story = storyOf({
        conversation: isStoryless ? { messages: [] } : conversation,
        acts,
        from: room.headLength,
        isShown: (message) => rendered.messages.has(message),
        quoted: {
          words: new Map(quoted.map(({ message, words }) => [message, words])),
          outcomeTokens: room.tokens * outcomesShare[isBrief(room) ? "brief" : "usual"],
          freeTokens: free,
        },
        rules: missingRules(rules, rendered),
        // The rules and changes of the story may take twice this number.
        tokens: Math.min(room.tokens * storyShare, free / 2),
        count: estimateTokens,
        earlier,
        prepared,
      });
      const names =
        coherence === undefined || coherence === 0 || isBrief(room)
          ? ""
          : namesFor({ rendered, story, coherence, roomTokens: room.tokens });
      const lines = [story, names].filter((some) => some !== "").join("\n");
      return lines === "" ? `[${notice}]` : `[${noticeIn("with a story")}\n${lines}]`;
    },
  };
}

/** The tokens that are left after the notice and the words of quoted requests. */
function tokensForLines(tokens: number, notice: string, quoted: readonly QuotedRequest[]): number {
  const words = quoted.reduce((sum, one) => sum + estimateTokens(one.words) + quotationTokens, 0);
  return Math.max(0, tokens - estimateTokens(notice) - words);
}

/** Tokens around a quoted request: its number and that of the answer. */
const quotationTokens = 12;
