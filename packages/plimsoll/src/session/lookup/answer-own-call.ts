/** Answers calls of Plimsoll's own tools: pages of content that left the window, and passages that answer a query. */

import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { Role } from "../../message/message.ts";
import type { OwnToolName } from "../../offload/own-definitions.ts";
import type { OwnAnswer, OwnCall } from "../../offload/own-tools.ts";
import { readPage } from "../../offload/read-result.ts";
import type { Store } from "../../store/store.ts";
import { answerTexts, toolSearchTexts } from "../../text/for-models.ts";
import { createGrep, type Grep, type GrepOptions } from "./grep.ts";
import { createReferenceReader, type Owner, type References, sessionOf } from "./resolve-handle.ts";
import type { Scope } from "./scope.ts";
import { createSessionSearch, type SearchWorld, type SessionSearch } from "./search-session.ts";
import { headTokens, passagesText, withinBudget } from "./write-passages.ts";

/** The asker of a lookup, and the room for the answer. */
export interface Asker extends Owner {
  /** Maximum number of tokens of the answer. */
  readonly roomTokens: number;
  /** Whether the model already sees this message in full. A search leaves such messages out. */
  readonly isInView?: (seq: number) => boolean;
  /** Carries out compact_context. If undefined, the answer says that this is not possible here. */
  readonly compact?: () => Promise<string>;
  /** Carries out tool_search. Undefined if no tools are deferred. */
  readonly findTools?: (query: string) => Promise<OwnAnswer>;
  /** The names that Plimsoll's tools have in this conversation. If undefined, they have their usual names. */
  readonly nameOf?: (tool: OwnToolName) => string;
}

export interface FoundPassage {
  /** The text of the passage, word for word as in the message. */
  readonly text: string;
  /** Number of the message in its session, as in `#12`. */
  readonly number: number;
  readonly role: Role;
  /** Who said it, for example `user`, `assistant` or `tool result of read_file`. */
  readonly title: string;
  /**
   * The share of the query's information that the passage covers, from 0 to 1. Rare words count more than common ones. Words that are
   * only similar to a word of the query count less, and so do words that occur only in the passages next to it. The score does not
   * depend on other results, so it can be compared between queries.
   */
  readonly score: number;
  /** Number of characters that are missing because the passage does not fit into the budget. */
  readonly missingChars?: number;
  readonly session: string;
}

export interface OwnAnswers {
  /** Contract: never rejects. The text takes at most `roomTokens`. If there is too little room, one sentence says so. */
  answer(asker: Asker, call: OwnCall): Promise<OwnAnswer>;
  /** Contract: rejects with SESSION_UNKNOWN if the tenant has no such session. */
  search(
    tenant: string | undefined,
    sessionId: string,
    query: string,
    limits: { readonly budgetTokens: number; readonly scope?: Scope | undefined },
  ): Promise<readonly FoundPassage[]>;
  close(): Promise<void>;
}

export interface OwnWorld {
  readonly store: Pick<Store, "archived" | "session" | "snapshot" | "bodies" | "clientSpellings">;
  readonly vectors?: SearchWorld["vectors"];
  /** Counts tokens. The count is exact for texts of up to `countedChars` characters. */
  readonly count: (text: string) => number;
  /** Resolves when the tokenizer is loaded. Before that, `count` may only guess. */
  readonly ready?: () => Promise<void>;
  /** Number of bytes that `read_result` returns if the model names none. */
  readonly pageBytes?: number | undefined;
  readonly grep?: GrepOptions;
  readonly search?: Omit<SearchWorld, "store" | "vectors" | "count">;
}

/** Minimum room for an answer, in tokens. A shorter answer would be of no use. */
const leastRoomTokens = 200;
const budgetTokens = { usual: 2000, max: 8000 };
/** Minimum budget of a search, in tokens, unless the budget is 0. With less, not even a few words of a passage would be shown. */
const leastBudget = 20;
/** Longer texts are counted in pieces of this many characters. Each piece adds at most one token. */
const countedChars = 8192;

export function createOwnAnswers(world: OwnWorld): OwnAnswers {
  const { store, vectors, ready = () => Promise.resolve() } = world;
  const count = (text: string): number => countInPieces(world.count, text);
  const grep = createGrep(world.grep);
  const references = createReferenceReader(store);
  const searcher = createSessionSearch({
    store,
    count,
    ...(vectors === undefined ? {} : { vectors }),
    ...world.search,
  });
  const parts: Parts = { store, count, grep, references, searcher, pageBytes: world.pageBytes };

  const answer = async (asker: Asker, call: OwnCall): Promise<OwnAnswer> => {
    if (call.kind === "compact_context") return compact(asker);
    if (call.kind === "invalid") return failed(call.sentence);
    if (call.kind === "tool_search") return findTools(asker, call.query);
    if (asker.roomTokens < leastRoomTokens) return failed(noRoom(asker));
    await ready();
    return call.kind === "recall" ? recall(parts, asker, call) : readResult(parts, asker, call);
  };

  return {
    answer: async (asker, call) => {
      const given = await answer(asker, call).catch(failedBy);
      return {
        ...given,
        text: cut(given.text, Math.max(asker.roomTokens, leastRoomTokens), count),
      };
    },
    search: async (tenant, sessionId, query, limits) => {
      const session = await sessionOf(store, tenant, sessionId);
      if (session === undefined) throw unknownSession();
      await ready();
      const budget = limits.budgetTokens === 0 ? 0 : Math.max(limits.budgetTokens, leastBudget);
      const outcome = await searcher.search(session, query, { ...limits, budgetTokens: budget });
      if (outcome.kind !== "found")
        throw new PlimsollError("OVERLOADED", noSearch[outcome.kind], { status: 503 });
      return withinBudget(outcome.passages, { query, budget, count }).map(
        ({ text, number, role, title, score, missingChars }) => ({
          ...{ text, number, role, title, score },
          ...(missingChars === undefined ? {} : { missingChars }),
          session: sessionId,
        }),
      );
    },
    close: async () => {
      references.close();
      await grep.close();
      await searcher.close();
    },
  };
}

interface Parts {
  readonly store: OwnWorld["store"];
  readonly count: (text: string) => number;
  readonly grep: Grep;
  readonly references: References;
  readonly searcher: SessionSearch;
  readonly pageBytes: number | undefined;
}

async function readResult(
  { references, count, grep, pageBytes }: Parts,
  asker: Asker,
  call: Extract<OwnCall, { readonly kind: "read_result" }>,
): Promise<OwnAnswer> {
  const name = call.refId;
  const opened = await references.open(asker, name);
  if (opened.kind === "absent") return failed(answerTexts.unknownHandle(nameFor(asker, "recall")));
  if (opened.kind === "other") return failed(answerTexts.notText(name, opened.what));
  const room = { tokens: asker.roomTokens, count };
  const { limit = pageBytes } = call;
  const request = { ...call, ...(limit === undefined ? {} : { limit }) };
  const page = await readPage({ name, ...opened }, request, room, grep.matchLines);
  return { text: page.text, isError: page.kind === "refused" };
}

async function recall(
  { store, searcher, count }: Parts,
  asker: Asker,
  call: Extract<OwnCall, { readonly kind: "recall" }>,
): Promise<OwnAnswer> {
  const session =
    asker.session === undefined ? undefined : await sessionOf(store, asker.tenant, asker.session);
  if (session === undefined) return failed(answerTexts.noConversation);
  const wanted = Math.min(call.budget ?? budgetTokens.usual, budgetTokens.max);
  const budget = Math.min(asker.roomTokens, Math.max(wanted, leastRoomTokens));
  const outcome = await searcher.search(session, call.query, {
    budgetTokens: budget - headTokens,
    scope: asker.scope,
    ...(asker.isInView === undefined ? {} : { isLeftOut: asker.isInView }),
  });
  if (outcome.kind !== "found") return failed(noSearch[outcome.kind]);
  const { passages, since } = outcome;
  const read = nameFor(asker, "read_result");
  const { query } = call;
  const writing = { query, read, budget, count, ...(since === undefined ? {} : { since }) };
  return { text: passagesText(passages, writing) ?? answerTexts.nothingFound, isError: false };
}

async function findTools({ findTools: find }: Asker, query: string): Promise<OwnAnswer> {
  return find === undefined ? failed(toolSearchTexts.nothingDeferred) : find(query);
}

async function compact(asker: Asker): Promise<OwnAnswer> {
  if (asker.compact === undefined) return failed(answerTexts.noCompaction);
  return { text: await asker.compact(), isError: false };
}

const noSearch = {
  "too-slow": answerTexts.searchTooSlow,
  full: answerTexts.searchFailed,
  failed: answerTexts.searchFailed,
};

function noRoom(asker: Asker): string {
  return answerTexts.noRoom(nameFor(asker, "compact_context"));
}

function nameFor({ nameOf }: Asker, tool: OwnToolName): string {
  return nameOf?.(tool) ?? tool;
}

function failed(text: string): OwnAnswer {
  return { text, isError: true };
}

/** Only Plimsoll's own sentences are sent to a model, because other error messages may mention files. */
function failedBy(error: unknown): OwnAnswer {
  const reason = PlimsollError.is(error) ? errorMessage(error) : answerTexts.unknownFailure;
  return failed(answerTexts.failed(reason));
}

function unknownSession(): PlimsollError {
  return new PlimsollError(
    "SESSION_UNKNOWN",
    "There is no such session. GET /api/sessions lists them.",
    { status: 404 },
  );
}

function countInPieces(count: (text: string) => number, text: string): number {
  let tokens = 0;
  for (let start = 0; start < text.length; start += countedChars)
    tokens += count(text.slice(start, start + countedChars));
  return tokens;
}

/** Shortens a text that is too long for the room, such as an error message. Each step removes at least a tenth of it. */
function cut(text: string, roomTokens: number, count: (text: string) => number): string {
  let kept = text;
  for (let tokens = count(kept); tokens > roomTokens && kept.length > 1; tokens = count(kept)) {
    const share = Math.min(0.9, (0.97 * roomTokens) / tokens);
    kept = `${kept.slice(0, Math.floor((kept.length - 1) * share)).replace(/[\ud800-\udbff]$/, "")}…`;
  }
  return kept;
}
