/**
 * Inner rounds: the model calls one of Plimsoll's tools, Plimsoll answers, and the model continues. The client does not see them.
 *
 *   answer ─► calls to Plimsoll's tools? ─► answered here ─► another round, up to a maximum
 *                                       └► client's tools called too: the client runs them first, Plimsoll's results wait
 */

import type { Measurement } from "../../budget/measure.ts";
import { grown } from "../../budget/projection.ts";
import type { Config } from "../../config/schema.ts";
import { errorMessage } from "../../message/error.ts";
import type { OwnCallEvent } from "../../message/event.ts";
import type { JsonObject } from "../../message/json.ts";
import type { Message, Part, ToolCallPart, Usage } from "../../message/message.ts";
import type { OwnToolName } from "../../offload/own-definitions.ts";
import { type OwnAnswer, readOwnCall } from "../../offload/own-tools.ts";
import { answerTexts, argumentTexts, noteTexts } from "../../text/for-models.ts";
import { opaquePart } from "../../wire/format/known-parts.ts";
import type { Answer, IsOwn } from "../../wire/format/wire.ts";
import { type Draft, offerIn } from "../draft/draft.ts";
import { encodeMessage } from "../draft/encode.ts";
import { type Debug, debugEvaluation } from "../fit/debug.ts";
import type { Fitted } from "../fit/last-resort.ts";
import type { ToolSearch } from "../fit/load-tools.ts";
import { announce } from "../log/append.ts";
import { viewOf } from "../log/path.ts";
import { reportDegraded, reportRenamed } from "../log/report.ts";
import type { LogSaver } from "../log/save.ts";
import { isInside } from "../log/view.ts";
import { visibleOn } from "../log/visible.ts";
import type { OwnAnswers } from "../lookup/answer-own-call.ts";
import { answerRoom } from "../lookup/answer-room.ts";
import type { Scope } from "../lookup/scope.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import type { OwnOffer } from "../tools/own-tools-offer.ts";

/** Maximum number of inner rounds per turn. With more rounds, the model is probably in a loop. */
const maxRounds = 8;
const maxCallsPerRound = 16;

export interface InnerRounds {
  readonly isOwn: IsOwn;
  /** Call this with the upstream's answer. If it resolves to "again", send another round. Contract: never rejects. */
  answered(answer: Answer): Promise<"done" | "again">;
  /** Messages of the inner rounds, which follow the client's own messages. */
  readonly elements: readonly Uint8Array[];
  /** Size of `elements`, in Plimsoll's tokens. */
  readonly tokens: number;
  /** Whether this is the last round, in which the model may not call any more tools. */
  readonly isLast: boolean;
  /** All messages and usages of the turn. The client knows only some of these messages. */
  readonly kept: KeptRounds;
}

export interface KeptRounds {
  /** All messages of the inner rounds, in order. Empty if the client has seen every message. */
  readonly messages: readonly JsonObject[];
  /** Number of requests to the upstream beyond the first. */
  readonly innerRounds: number;
  /** Usage of each round for which the provider reported usage. */
  readonly usages: readonly Usage[];
  /** Size of the last request for which the provider reported usage. The view may have been compacted since then. */
  readonly reported?: ReportedRound;
}

export interface ReportedRound {
  /** Size of the request, before calibration. */
  readonly measured: Measurement;
  /** Tokens of the messages that follow the client's own messages. */
  readonly lookedUpTokens: number;
}

/** Actions that inner rounds can request from their turn. */
export interface RoundActs {
  readonly fitted: () => Fitted;
  /**
   * Compacts the view, because the model asked for it or because the inner rounds no longer fit. Returns the answer for the
   * model.
   */
  readonly compact: () => Promise<string>;
  /** Searches the deferred tools. */
  readonly findTools: (search: Omit<ToolSearch, "before">) => Promise<OwnAnswer>;
}

interface RoundsOf extends RoundActs {
  readonly draft: Draft;
  readonly offer: OwnOffer;
}

/** The services and settings that lookups need. */
export interface RoundsWorld {
  readonly facts: FactsReader;
  readonly own: OwnAnswers;
  readonly saver: LogSaver;
  readonly config: Config;
  readonly count: (text: string) => number;
  readonly now: () => number;
  readonly debug: Debug;
}

/** Opens the inner rounds of a turn if its request contains Plimsoll's tools. All rounds have these tools in their tool list. */
export function openRounds(
  world: RoundsWorld,
  draft: Draft,
  acts: RoundActs,
): InnerRounds | undefined {
  const offer = offerIn(draft);
  const { tools, isFinal } = acts.fitted();
  if (offer === undefined || tools.elements.length === 0 || isFinal) return undefined;
  if (offer.own.isRenamed) {
    const names = offer.own.definitions.map(({ name }) => name);
    reportRenamed(draft, draft.branch, names);
  }
  return openInnerRounds(world, { draft, offer, ...acts });
}

interface Spoken {
  readonly messages: readonly JsonObject[];
  readonly elements: readonly Uint8Array[];
  readonly tokens: number;
}

const nothingSpoken: Spoken = { messages: [], elements: [], tokens: 0 };

function openInnerRounds(world: RoundsWorld, turn: RoundsOf): InnerRounds {
  const { draft, offer } = turn;
  const { wire } = draft;
  const isOwn: IsOwn = (name, isToolSearch = false) =>
    ownToolOf(offer, { name, ...(isToolSearch ? { isToolSearch } : {}) }) !== undefined;
  const usages: Usage[] = [];
  let reported: ReportedRound | undefined;
  /** Messages of the finished rounds. */
  let spoken = nothingSpoken;
  /** The part of the last answer that the client sees. */
  let rest: readonly JsonObject[] = [];
  let rounds = 0;
  let isLast = false;
  let isAwaitingResults = false;

  const speak = async (before: Spoken, added: readonly JsonObject[]): Promise<Spoken> => {
    const bytes = added.map(encodeMessage);
    const facts = await world.facts.learn(wire, bytes, turn.fitted().target.ruler);
    return {
      messages: [...before.messages, ...added],
      elements: [...before.elements, ...bytes],
      tokens: facts.reduce((sum, { tokens }) => sum + tokens, before.tokens),
    };
  };

  const goOn = async (heard: readonly JsonObject[], own: readonly ToolCallPart[]) => {
    const asked = await speak(
      spoken,
      draft.request.isNotStored ? wire.answer.repeatable(heard) : heard,
    );
    const isEnough = rounds + 1 >= maxRounds;
    const answers = await answerCalls(world, turn, own, asked.tokens);
    const last = isEnough ? [{ text: noteTexts.lastLookup, isError: false }] : [];
    spoken = await speak(
      asked,
      wire.messages.encode([resultsOf(offer, own, [...answers, ...last])]),
    );
    isLast = isEnough;
  };

  return {
    isOwn,
    get elements() {
      return spoken.elements;
    },
    get tokens() {
      return spoken.tokens;
    },
    get isLast() {
      return isLast;
    },
    get kept() {
      const { messages } = spoken;
      const last = draft.request.isNotStored ? wire.answer.repeatable(rest) : rest;
      const whole = messages.length === 0 || isAwaitingResults ? messages : [...messages, ...last];
      return {
        messages: whole,
        innerRounds: rounds,
        usages,
        ...(reported === undefined ? {} : { reported }),
      };
    },
    answered: async (answer) => {
      if (answer.usage !== undefined) {
        usages.push(answer.usage);
        reported = { measured: turn.fitted().measured, lookedUpTokens: spoken.tokens };
      }
      const heard = answer.choices[0] ?? [];
      rest = wire.rounds.withoutOwnCalls(heard, isOwn);
      const calls = heard.flatMap((message) => wire.messages.toolCalls(message));
      const others = new Set(rest.flatMap((message) => wire.messages.toolCalls(message)).map(idOf));
      const own = calls.filter(({ id }) => !others.has(id));
      const isCut = answer.outcome !== "message" || wire.answer.isCutShort(answer);
      if (own.length === 0 || isCut || isLast) return "done";
      try {
        await goOn(heard, own);
      } catch (error) {
        // If a lookup fails, the client gets the answer without the unanswered call.
        reportDegraded(draft, "view", `a lookup failed: ${errorMessage(error)}`);
        return "done";
      }
      isAwaitingResults = others.size > 0;
      if (isAwaitingResults) return "done";
      if (isOver(world, turn.fitted(), spoken.tokens)) await turn.compact();
      rounds++;
      return "again";
    },
  };
}

/** Besides results, the model's own texts in inner rounds take room, so the request may no longer fit. */
function isOver(
  { debug }: Pick<RoundsWorld, "debug">,
  { limit, projection }: Fitted,
  spokenTokens: number,
): boolean {
  const now = grown(projection, spokenTokens);
  debugEvaluation(debug, now);
  return now.tokens > limit;
}

function idOf({ id }: ToolCallPart): string {
  return id;
}

/** Makes one result for each call. Additional answers are added to the last result. */
function resultsOf(
  offer: OwnOffer,
  calls: readonly ToolCallPart[],
  answers: readonly OwnAnswer[],
): Message {
  const parts = calls.map((call, index) => {
    const { text = "", isError = false, blocks } = answers[index] ?? {};
    const rest = index === calls.length - 1 ? answers.slice(calls.length) : [];
    const more = rest.map((last) => last.text);
    const content =
      blocks === undefined
        ? contentOf(offer, call, { text: [text, ...more].join("\n") })
        : [...contentOf(offer, call, { text, blocks }), ...(call.isToolSearch ? [] : texts(more))];
    return { kind: "tool-result", callId: call.id, name: call.name, content, isError } as const;
  });
  return { role: "tool", parts };
}

function texts(all: readonly string[]): readonly Part[] {
  return all.map((text) => ({ kind: "text", text }));
}

/**
 * The tool of Plimsoll that a call names. Undefined if the call is for a tool of the client. If searches have the provider's own
 * form, an ordinary function named like the search tool belongs to the client too.
 */
export function ownToolOf(
  { own, catalogue }: OwnOffer,
  { name, isToolSearch }: Pick<ToolCallPart, "name" | "isToolSearch">,
): OwnToolName | undefined {
  const isNativeSearch = catalogue?.isNativeSearch === true;
  if (isToolSearch === true) return isNativeSearch ? "tool_search" : undefined;
  const tool = own.named(name);
  return tool === "tool_search" && isNativeSearch ? undefined : tool;
}

/**
 * The content of a result, in the provider's own form if there is one. A search in that form gets a result in that form even if
 * it found nothing.
 */
export function contentOf(
  { catalogue }: OwnOffer,
  { isToolSearch }: Pick<ToolCallPart, "isToolSearch">,
  { text, blocks }: Pick<OwnAnswer, "text" | "blocks">,
): readonly Part[] {
  const given = blocks ?? (isToolSearch === true ? catalogue?.found([]) : undefined) ?? [];
  if (given.length === 0) return [{ kind: "text", text }];
  return given.map(opaquePart);
}

/** Answers the calls one after the other, because the room for each depends on the answers before it. */
async function answerCalls(
  world: RoundsWorld,
  turn: RoundsOf,
  calls: readonly ToolCallPart[],
  innerTokens: number,
): Promise<OwnAnswer[]> {
  const answers: OwnAnswer[] = [];
  let spent = 0;
  for (const [index, call] of calls.entries()) {
    if (index >= maxCallsPerRound) {
      answers.push({ text: answerTexts.tooManyCalls(maxCallsPerRound), isError: true });
      continue;
    }
    const room = roomFor(turn.fitted(), innerTokens + spent);
    const share = Math.floor((room - spent) / (calls.length - index));
    const startedAt = world.now();
    const answer = await answerCall(world, turn, call, {
      roomTokens: Math.max(0, share),
      innerTokens: innerTokens + spent,
      isBehindAnother: calls.slice(0, index).some((one) => isSearch(turn, one)),
    });
    const { blocks } = answer;
    const tokens = world.count(blocks === undefined ? answer.text : JSON.stringify(blocks));
    spent += tokens;
    const at = world.now();
    report(turn, call, { ...answer, tokens, at, milliseconds: at - startedAt });
    answers.push(answer);
  }
  return answers;
}

function isSearch({ offer }: RoundsOf, call: ToolCallPart): boolean {
  return ownToolOf(offer, call) === "tool_search";
}

function roomFor({ limit, projection }: Fitted, innerTokens: number): number {
  return answerRoom(limit, limit - grown(projection, innerTokens).tokens);
}

async function answerCall(
  world: RoundsWorld,
  { draft, offer, compact, findTools }: RoundsOf,
  call: ToolCallPart,
  { roomTokens, ...place }: Omit<ToolSearch, "before" | "query"> & { readonly roomTokens: number },
): Promise<OwnAnswer> {
  const tool = ownToolOf(offer, call);
  // The log is saved first, because the model may ask for content that arrived in this same turn.
  await world.saver.save(draft.log);
  if (tool === undefined) return { text: argumentTexts.unknownTool(call.name), isError: true };
  const { tenant, id: session } = draft.log.record;
  return world.own.answer(
    {
      tenant,
      session,
      scope: scopeOf(world.config, draft),
      roomTokens,
      isInView: inViewOf(draft),
      compact,
      findTools: (query) => findTools({ query, ...place }),
      nameOf: offer.own.nameOf,
    },
    readOwnCall(tool, call.input),
  );
}

/** The content that this branch may look up. Undefined if it may look up everything in its session. */
export function scopeOf(config: Config, { log, branch }: Draft): Scope | undefined {
  if (config.agent?.lookup_scope === "session") return undefined;
  const { id } = branch.record;
  return { branch: id, isVisible: visibleOn(log, id, branch.memory.hasOtherLead === true) };
}

/** Tells whether the view shows a message in full. Such messages need not be looked up. */
export function inViewOf({ log, branch, path }: Draft): (seq: number) => boolean {
  let inView: Set<number> | undefined;
  const find = (): Set<number> => {
    const { gaps, replacements } = viewOf(log, branch, path);
    const seqs = Array.from({ length: path.length }, (_, index) =>
      isInside(gaps, index) || replacements.has(index) ? undefined : path.seqAt(index),
    );
    // If a visible message repeats an earlier message, the earlier message counts as visible too.
    const first = (seq: number): readonly number[] => {
      const echo = log.echoes.get(seq);
      return echo?.isWhole === true ? [seq, echo.of] : [seq];
    };
    return new Set(seqs.flatMap((seq) => (seq === undefined ? [] : first(seq))));
  };
  return (seq) => {
    inView ??= find();
    return inView.has(seq);
  };
}

function report(
  { draft: { log, turn } }: RoundsOf,
  { name }: ToolCallPart,
  {
    at,
    tokens,
    isError,
    milliseconds,
  }: Required<Pick<OwnCallEvent, "at" | "tokens" | "isError" | "milliseconds">>,
): void {
  announce(log, {
    type: "own-call",
    session: log.record.id,
    at,
    turn: turn.id,
    tool: name,
    tokens,
    isError,
    milliseconds,
  });
}

/** Adds up the usage of several rounds. */
export function sumUsage(usages: readonly Usage[]): Usage | undefined {
  const [first, ...others] = usages;
  return first && others.reduce(addUsage, first);
}

function addUsage(one: Usage, other: Usage): Usage {
  const sum = (name: keyof Usage): number => (one[name] ?? 0) + (other[name] ?? 0);
  const optional = (
    ["cacheReadTokens", "cacheWriteTokens", "cacheWriteLongTokens", "reasoningTokens"] as const
  ).filter((name) => one[name] !== undefined || other[name] !== undefined);
  return {
    inputTokens: sum("inputTokens"),
    outputTokens: sum("outputTokens"),
    ...Object.fromEntries(optional.map((name) => [name, sum(name)])),
  };
}
