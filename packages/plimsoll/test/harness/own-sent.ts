/** Compares every request of a talk with the one before it: which bytes must stay the same, and which do. */
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
  /** The provider's token count. */
  readonly tokens: number;
  readonly lookups: readonly Lookup[];
}

/** All rounds, in the order in which they were sent. */
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

/** Share of the limit above which a lookup may leave no room. */
const FULL_SHARE = 0.7;

/**
 * Whether something was taken out between the two: the service reported it, the model asked for it, or the lookups of a turn
 * had filled the window.
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
 * The conversation of the earlier request, and the same part of the later request. If a round ended without further text, and
 * the wire's roles alternate, Plimsoll's results and the user's next words become one message. Then the last message may grow.
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

/** The part of a body before the conversation. */
export function headOf(body: string): readonly (string | undefined)[] {
  return ["system", "instructions", "systemInstruction"].map((field) => memberText(body, field));
}

export interface ToolTexts {
  readonly clients: readonly string[];
  readonly own: readonly string[];
}

/** The JSON texts of the tools: Plimsoll's, and all others. */
export function toolTexts(wire: Wire, body: string): ToolTexts {
  const listed = elementTexts(memberText(body, "tools") ?? "[]");
  const tools = wire === "gemini" ? listed.flatMap(functionTexts) : listed;
  const isOurs = (text: string): boolean => isOwnName(nameOf(wire, parseJson(text) as JsonObject));
  return {
    clients: tools.filter((text) => !isOurs(text)),
    own: tools.filter(isOurs),
  };
}

/** The JSON texts of the functions of a Gemini tool. */
function functionTexts(tool: string): readonly string[] {
  const functions = memberText(tool, "functionDeclarations");
  return functions === undefined ? [tool] : elementTexts(functions);
}

function nameOf(wire: Wire, tool: JsonObject): string {
  const definition = wire === "openai-chat" ? (tool["function"] as JsonObject) : tool;
  return String(definition["name"]);
}

/** The body without the tools after the client's own. */
export function withoutOwnTools(wire: Wire, body: string): string {
  const { own } = toolTexts(wire, body);
  return own.reduce((text, tool) => text.replace(`,${tool}`, ""), body);
}
