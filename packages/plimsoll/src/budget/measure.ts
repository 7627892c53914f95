/** Collects the texts of a message that must be tokenized, and sums the counts of its parts into one measurement. */

import type { MeasurementSummary } from "../message/event.ts";
import type { DocumentPart, Message, Part } from "../message/message.ts";
import type { ToolDefinition } from "../message/tool.ts";
import type { MediaRule } from "./catalogue.ts";
import { documentTokens, imageTokens } from "./media.ts";
import type { Certainty, Count } from "./tokenizer.ts";

/** Counts with one tokenizer. Returns the counts directly, without a promise, if they are already known. */
export interface TokenCounter {
  count(texts: readonly string[]): Promise<readonly Count[]> | readonly Count[];
}

export interface Countables {
  readonly texts: readonly string[];
  readonly media: Count;
  /** Tokens that every wire adds around a message: role and separators. */
  readonly overheadTokens: number;
}

const messageOverheadTokens = 4;
const nothing: Count = { tokens: 0, certainty: "exact" };

export function countables(message: Message, rule: MediaRule): Countables {
  const texts: string[] = [];
  const media: Count[] = [];
  for (const part of message.parts) collect(part, rule, texts, media);
  return { texts, media: addCounts(media), overheadTokens: messageOverheadTokens };
}

function collect(part: Part, rule: MediaRule, texts: string[], media: Count[]): void {
  switch (part.kind) {
    case "text":
    case "reasoning":
      texts.push(part.text);
      break;
    case "tool-call":
      texts.push(part.name, part.input);
      break;
    case "tool-result":
      for (const inner of part.content) collect(inner, rule, texts, media);
      break;
    case "image":
      media.push(imageTokens(part, rule.image));
      break;
    case "document": {
      const text = documentText(part);
      if (text === undefined) media.push(documentTokens(part, rule));
      else texts.push(text);
      break;
    }
    case "opaque":
      texts.push(JSON.stringify(part.json));
      break;
  }
}

/** The text of a text document. Undefined for PDFs, and for documents whose content is not in the message. */
function documentText({ media }: DocumentPart): string | undefined {
  if (media.kind !== "base64" || !/^(?:text\/|application\/json)/.test(media.mediaType)) {
    return undefined;
  }
  try {
    const binary = atob(media.data);
    const bytes = new Uint8Array(binary.length);
    for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
    return new TextDecoder().decode(bytes);
  } catch {
    return media.data;
  }
}

/** The text of a tool as the model reads it. */
export function toolText(tool: ToolDefinition): string {
  return JSON.stringify({
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
  });
}

/**
 * The tokens of tool schemas. Each provider writes schemas in its own form, so a count of their JSON text is never exact.
 * Anthropic's example counts 403 tokens for one tool and a question, of which 346 are a prompt that Anthropic adds to
 * every request with tools (docs, "Token counting" and "Tool use pricing", 2026-11). So a schema takes no more tokens than its
 * JSON text, unless the configuration has another `factor`.
 */
export function schemaTokens({ tokens, certainty }: Count, factor: number): Count {
  return {
    tokens: Math.ceil(tokens * factor),
    certainty: tokens === 0 ? certainty : "estimate",
  };
}

/** The sum is an estimate if any count is an estimate. Otherwise, it is a bound if any count is a bound. */
export function addCounts(counts: readonly Count[]): Count {
  return counts.reduce(
    (sum, count) => ({
      tokens: sum.tokens + count.tokens,
      certainty: weaker(sum.certainty, count.certainty),
    }),
    nothing,
  );
}

function weaker(one: Certainty, other: Certainty): Certainty {
  if (one === "estimate" || other === "estimate") return "estimate";
  return one === "bound" ? one : other;
}

export interface Components {
  readonly system: Count;
  readonly skills: Count;
  readonly tools: Count;
  readonly conversation: Count;
}

export interface Measurement extends MeasurementSummary {
  /** The token counts of the four components, each with its own certainty. */
  readonly components: Components;
}

export function measurement(components: Components): Measurement {
  const { system, skills, tools, conversation } = components;
  const sum = addCounts([system, skills, tools, conversation]);
  return {
    system: system.tokens,
    skills: skills.tokens,
    tools: tools.tokens,
    conversation: conversation.tokens,
    total: sum.tokens,
    certainty: sum.certainty,
    components,
  };
}
