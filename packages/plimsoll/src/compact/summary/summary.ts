/**
 * Writes a summary without a model: quotes the evidence, section by section, within a budget. An earlier summary is never
 * summarised again. It is read back into items, which compete with the new items.
 */

import type { EvidenceClass } from "../../message/receipt.ts";
import type { CountTokens } from "../../message/strategy.ts";
import { storyTexts } from "../../text/for-models.ts";
import {
  type Evidence,
  type Fact,
  type Note,
  noteWeightOf,
  type Recency,
  readEvidence,
  recencyIn,
  weightOf,
} from "../evidence/evidence.ts";
import { plain } from "../evidence/safe-text.ts";
import type { NumberedMessage } from "../evidence/speech.ts";
import {
  formatSummary,
  type Item,
  lineOf,
  parseSummary,
  type Section,
  sections,
} from "./format.ts";

export interface Summary {
  readonly text: string;
  readonly items: readonly Item[];
  readonly tokens: number;
}

export interface SummaryTask {
  readonly messages: readonly NumberedMessage[];
  /** Maximum number of tokens in the summary. */
  readonly tokens: number;
  readonly count: CountTokens;
  /** The text of the earlier summary that this summary replaces. */
  readonly earlier?: string;
  /** What a model has written about the conversation. Its lines about these messages come before all others. */
  readonly prepared?: string | undefined;
}

export function summarise({ messages, prepared, ...task }: SummaryTask): Summary {
  const numbers = new Set(messages.map(({ number }) => number));
  const ofModel = parseSummary(prepared ?? "")
    .filter(({ number }) => number === undefined || numbers.has(number))
    .toSorted((one, other) => rankOf(one) - rankOf(other) || numberOf(other) - numberOf(one));
  return summariseEvidence({ ...task, evidence: readEvidence(messages), ofModel });
}

/** Rules first, then what only the model says: its own words, which are in backticks, its findings, and what is to do. */
function rankOf({ section, text }: Item): number {
  if (section === "Rules") return 0;
  const isOwn = [storyTexts.noted(""), storyTexts.toDo("")].some((begin) => text.startsWith(begin));
  return isOwn || text.includes("`") ? 1 : 2;
}

function numberOf({ number = 0 }: Item): number {
  return number;
}

export interface EvidenceTask {
  readonly evidence: Evidence;
  readonly tokens: number;
  readonly count: CountTokens;
  readonly earlier?: string;
  /** Facts to include before all others, in this order, as long as there is room. */
  readonly first?: readonly Fact[];
  /** Lines that a model wrote. They come right after these facts. */
  readonly ofModel?: readonly Item[];
}

/** Share of the budget for each section. The tokens that sections do not use are spent on the items that are worth most. */
const shares: Readonly<Record<Section, number>> = {
  Goal: 0.25,
  Rules: 0.6,
  Answered: 0.12,
  Changed: 0.12,
  Open: 0.1,
  Decided: 0.12,
  Worked: 0.06,
  Failed: 0.08,
  State: 0.08,
  Next: 0.1,
  Files: 0.08,
  Commands: 0.06,
  Errors: 0.1,
  Numbers: 0.05,
  Said: 0,
};
/**
 * The order in which sections are filled. Indispensable sections come first. Names come last, because other items may contain
 * them.
 */
const filling: readonly Section[] = [
  "Rules",
  "Goal",
  "Open",
  "Changed",
  "Errors",
  "Decided",
  "Answered",
  "Next",
  "Failed",
  "State",
  "Worked",
  "Commands",
  "Files",
  "Numbers",
  "Said",
];
/** Maximum number of candidates per section. */
const maxCandidates = 200;

export function summariseEvidence(task: EvidenceTask): Summary {
  const { evidence, tokens, count, earlier = "", first = [], ofModel = [] } = task;
  const candidates = distinctCandidates([
    ...ofModel.map((item) => ({ item, weight: earlierWeight(item, () => 1) })),
    ...candidatesOf(evidence),
    ...earlierCandidates(parseSummary(earlier), evidence),
  ]);
  const chosen = chooseWithin(candidates, {
    tokens,
    count,
    first: new Map([...first, ...ofModel].map(({ text }, rank) => [plain(text), rank])),
  });
  const items = chosen.map(({ item }) => item);
  const text = formatSummary(items);
  return { text, items, tokens: count(text) };
}

interface Candidate {
  readonly item: Item;
  readonly weight: number;
}

const sectionOfClass: Readonly<Record<EvidenceClass, Section>> = {
  constraint: "Rules",
  error: "Errors",
  decision: "Decided",
  task: "Next",
  command: "Commands",
  path: "Files",
  id: "Numbers",
  number: "Numbers",
};
const sectionOfNote: Readonly<Record<Note["kind"], Section>> = {
  worked: "Worked",
  failed: "Failed",
  state: "State",
  said: "Said",
};

/** Statements of users and agents are repeated as they are. Everything else is quoted. */
export function itemOf(fact: Fact): Item {
  const section = fact.isRequest ? "Goal" : sectionOfClass[fact.class];
  const isStatement =
    fact.class === "constraint" || fact.class === "decision" || fact.class === "task";
  const isRepeated = fact.class === "error" && fact.count > 1;
  return {
    section,
    text: fact.text,
    number: fact.number,
    isData: !isStatement,
    ...(isRepeated ? { count: fact.count } : {}),
    ...(fact.outcome === undefined ? {} : { outcome: fact.outcome }),
  };
}

function candidatesOf({ facts, notes }: Evidence): readonly Candidate[] {
  return [
    ...facts.map((fact) => ({ item: itemOf(fact), weight: fact.weight })),
    ...notes.map(({ kind, text, number, weight }) => ({
      item: { section: sectionOfNote[kind], text, number, isData: false },
      weight,
    })),
  ];
}

/**
 * If there is newer evidence, statements of the earlier summary about the state of the work keep only this share of their weight.
 */
const staleFactor = 0.3;

function earlierCandidates(items: readonly Item[], evidence: Evidence): readonly Candidate[] {
  const isDone = new Set(evidence.done);
  const hasNewer = evidence.facts.length + evidence.notes.length > 0;
  const among = recencyIn(items.flatMap(({ number }) => number ?? []));
  const recency: Recency = (number) => (hasNewer ? 0 : among(number));
  return items
    .filter(({ section, text }) => section !== "Next" || !isDone.has(plain(text)))
    .map(({ isKept: _, ...item }) => {
      const isStale = hasNewer && item.section === "State";
      return { item, weight: earlierWeight(item, recency) * (isStale ? staleFactor : 1) };
    });
}

function earlierWeight(item: Item, recency: Recency): number {
  const age = recency(item.number ?? 0);
  switch (item.section) {
    case "Worked":
      return noteWeightOf("worked", age);
    case "Failed":
      return noteWeightOf("failed", age);
    case "State":
      return noteWeightOf("state", age);
    case "Said":
      return noteWeightOf("said", age);
    default:
      return weightOf(factClassOf(item), age);
  }
}

/** The class of the fact from which the item was made. */
function factClassOf({ section, text, count = 1 }: Item): {
  readonly class: EvidenceClass;
  readonly count: number;
  readonly isRequest?: true;
} {
  switch (section) {
    case "Goal":
      return { class: "task", count, isRequest: true };
    case "Numbers":
      return { class: /\s/.test(text) ? "number" : "id", count };
    case "Rules":
      return { class: "constraint", count };
    case "Errors":
      return { class: "error", count };
    case "Commands":
      return { class: "command", count };
    case "Files":
      return { class: "path", count };
    case "Next":
      return { class: "task", count };
    default:
      return { class: "decision", count };
  }
}

/**
 * Keeps each text only once: in Rules if it is there, otherwise in the first section that contains it. The text is kept with the
 * number of its newest source.
 */
function distinctCandidates(candidates: readonly Candidate[]): readonly Candidate[] {
  const place = ({ item }: Candidate): number =>
    item.section === "Rules" ? -1 : sections.indexOf(item.section);
  const byText = new Map<string, Candidate>();
  for (const one of candidates.toSorted((first, second) => place(first) - place(second))) {
    const key = plain(one.item.text);
    const known = byText.get(key);
    byText.set(key, known === undefined ? one : joined(known, one));
  }
  return [...byText.values()];
}

function joined(known: Candidate, other: Candidate): Candidate {
  const newest = Math.max(known.item.number ?? -1, other.item.number ?? -1);
  const count = Math.max(known.item.count ?? 1, other.item.count ?? 1);
  return {
    item: {
      ...known.item,
      ...(newest >= 0 ? { number: newest } : {}),
      ...(count > 1 && known.item.section === "Errors" ? { count } : {}),
    },
    weight: Math.max(known.weight, other.weight),
  };
}

interface Budget {
  readonly tokens: number;
  readonly count: CountTokens;
  /** Ranks of the facts to include first, by their plain text. */
  readonly first: ReadonlyMap<string, number>;
}

interface Priced extends Candidate {
  readonly cost: number;
}

/** Invariant: a summary of the chosen candidates costs at most `tokens`. */
function chooseWithin(all: readonly Candidate[], budget: Budget): readonly Candidate[] {
  const { tokens, count } = budget;
  const costOf = (candidates: readonly Candidate[]): number =>
    count(formatSummary(candidates.map(({ item }) => item)));
  const candidates = sections.flatMap((section) => bestOf(all, section));
  const ranked = (one: Candidate): number =>
    budget.first.get(plain(one.item.text)) ?? Number.POSITIVE_INFINITY;
  const whole = withoutRepeats(candidates);
  if (costOf(whole) <= tokens) return whole;
  const priced = candidates.map((one) => ({ ...one, cost: count(`${lineOf(one.item)}\n`) }));
  const must = priced
    .filter((one) => ranked(one) < Number.POSITIVE_INFINITY)
    .toSorted((one, other) => ranked(one) - ranked(other));
  const chosen = chooseByShare(must, priced, budget);
  return trimmed(chosen, tokens, costOf);
}

function bestOf(candidates: readonly Candidate[], section: Section): readonly Candidate[] {
  return candidates
    .filter(({ item }) => item.section === section)
    .toSorted((one, other) => other.weight - one.weight)
    .slice(0, maxCandidates);
}

/** The result is sorted by importance, because `trimmed` removes items from the end. */
function chooseByShare(
  must: readonly Priced[],
  candidates: readonly Priced[],
  { tokens, count }: Budget,
): readonly Priced[] {
  const chosen = new Set<Priced>();
  const opened = new Set<Section>();
  let left = tokens;
  let said = "";
  const take = (one: Priced, room: number): number => {
    const { section, text } = one.item;
    if (mayRepeat(one) && said.includes(plain(text))) return 0;
    const cost = one.cost + (opened.has(section) ? 0 : count(`## ${section}\n`));
    if (chosen.has(one) || cost > Math.min(room, left)) return 0;
    chosen.add(one);
    opened.add(section);
    left -= cost;
    said += `${plain(text)}\n`;
    return cost;
  };
  for (const one of must) take(one, left);
  const served = new Set(chosen);
  for (const section of filling) {
    let room = tokens * shares[section];
    for (const one of rankedIn(section, candidates)) room -= take(one, room);
  }
  for (const one of byWorth(candidates)) take(one, left);
  const rest = withoutRepeats([...chosen]).filter((one) => !served.has(one));
  return [...served, ...rulesFirst(rest)];
}

/** The candidates of a section in the order in which they are chosen: rules by weight, all others by weight per token. */
function rankedIn(section: Section, candidates: readonly Priced[]): readonly Priced[] {
  const own = candidates.filter(({ item }) => item.section === section);
  return section === "Rules" ? own : byWorth(own);
}

function rulesFirst(chosen: readonly Priced[]): readonly Priced[] {
  const isRule = ({ item }: Priced): boolean => item.section === "Rules";
  return [
    ...chosen.filter(isRule),
    ...chosen.filter((one) => !isRule(one)).toSorted((one, other) => other.weight - one.weight),
  ];
}

function worthOf({ weight, cost }: Priced): number {
  return weight / Math.max(1, cost);
}

function byWorth(candidates: readonly Priced[]): readonly Priced[] {
  return candidates.toSorted((one, other) => worthOf(other) - worthOf(one));
}

/** True for names and for plain statements: another item may already contain their whole text. */
function mayRepeat({ item: { section } }: Candidate): boolean {
  return section === "Files" || section === "Numbers" || section === "Said";
}

/** Drops names and sentences that another item already contains. */
function withoutRepeats<T extends Candidate>(candidates: readonly T[]): readonly T[] {
  const said = candidates.filter((one) => !mayRepeat(one)).map(({ item }) => plain(item.text));
  const text = said.join("\n");
  return candidates.filter((one) => !mayRepeat(one) || !text.includes(plain(one.item.text)));
}

/** The estimated costs do not add up exactly, so this removes items from the end until the summary fits. */
function trimmed(
  ranked: readonly Candidate[],
  tokens: number,
  costOf: (candidates: readonly Candidate[]) => number,
): readonly Candidate[] {
  let kept = ranked.length;
  while (kept > 0 && costOf(ranked.slice(0, kept)) > tokens) kept--;
  return ranked.slice(0, kept);
}
