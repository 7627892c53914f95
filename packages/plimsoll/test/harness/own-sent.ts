/** Every request of a talk beside the one before it: which bytes had to stay, and which did. */
import { type JsonObject, parseJson, type Wire } from "./json.ts";
import { messageTexts, prefixText } from "./kept.ts";
import { isOwnName } from "./own-judge.ts";
import type { Lookup } from "./own-script.ts";
import type { OwnTalk, OwnTurn } from "./own-talk.ts";
import { elementTexts, memberText } from "./raw-json.ts";

export interface SentRound {
  readonly turn: OwnTurn;
  readonly round: number;
  readonly body: string;
  /** As the provider counted them. */
  readonly tokens: number;
  readonly lookups: readonly Lookup[];
}

/** In the order in which they were sent. */
export function sentRounds({ turns }: OwnTalk): readonly SentRound[] {
  return turns.flatMap((turn) =>
    turn.sent.map(({ body, tokens }, round) => ({
      turn,
      round,
      body: body.toString(),
      tokens,
      lookups: turn.lookups[round] ?? [],
    })),
  );
}

/** From here on a window is so full that a lookup may leave no room. */
const FULL_SHARE = 0.7;

/**
 * Something was taken out between the two: as the service said, as the model asked for, or because the lookups of a turn had
 * filled the window.
 */
export function isReshaped(earlier: SentRound, later: SentRound, limitTokens: number): boolean {
  if (earlier.lookups.some(({ kind }) => kind === "compact")) return true;
  if (later.round === 0) return later.turn.action === "compacted";
  return earlier.tokens > FULL_SHARE * limitTokens && later.tokens < earlier.tokens;
}

export interface Comparison {
  readonly where: string;
  readonly before: string;
  readonly after: string;
}

/**
 * The conversation of the earlier request, and what stands in its place in the later one. Where a round said nothing more, our
 * results and the user's next words are one message on a wire whose roles alternate: then the last message may grow.
 */
export function comparePrefix(wire: Wire, earlier: SentRound, later: SentRound): Comparison {
  const { turn } = earlier;
  const mayGrow =
    wire === "anthropic" && turn.plan.ending === "nothing more" && later.turn !== turn;
  const count = messageTexts(wire, earlier.body).length - (mayGrow ? 1 : 0);
  return {
    where: `from turn ${turn.number}.${earlier.round} to ${later.turn.number}.${later.round}`,
    before: prefixText(wire, earlier.body, count),
    after: prefixText(wire, later.body, count),
  };
}

/** What stands before the conversation. */
export function headOf(body: string): readonly (string | undefined)[] {
  return [memberText(body, "system"), memberText(body, "instructions")];
}

export interface ToolTexts {
  readonly clients: readonly string[];
  readonly own: readonly string[];
}

/** Tools as they were written: ours, and all others. */
export function toolTexts(wire: Wire, body: string): ToolTexts {
  const tools = elementTexts(memberText(body, "tools") ?? "[]");
  const isOurs = (text: string): boolean => isOwnName(nameOf(wire, parseJson(text) as JsonObject));
  return {
    clients: tools.filter((text) => !isOurs(text)),
    own: tools.filter(isOurs),
  };
}

function nameOf(wire: Wire, tool: JsonObject): string {
  const definition = wire === "openai-chat" ? (tool["function"] as JsonObject) : tool;
  return String(definition["name"]);
}

/** The body without the tools that stand behind the client's own. */
export function withoutOwnTools(wire: Wire, body: string): string {
  const { own } = toolTexts(wire, body);
  return own.reduce((text, tool) => text.replace(`,${tool}`, ""), body);
}
