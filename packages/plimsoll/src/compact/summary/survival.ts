/**
 * The survival gate: checks every summary that a model wrote against its source, before the summary enters a conversation. It
 * adds missing rules, and important paths, ids, numbers, errors and open items that are missing. It removes invented items. If
 * too little is left, Plimsoll uses a summary that it writes without a model.
 *
 * Invariant: outside backticks there are only whole sentences that users and agents of this conversation said. Everything else
 * that the model wrote is shown as data.
 */

import type { EvidenceClass } from "../../message/receipt.ts";
import type { CountTokens } from "../../message/strategy.ts";
import type { Evidence, Fact } from "../evidence/evidence.ts";
import { plain } from "../evidence/safe-text.ts";
import type { Speech } from "../evidence/speech.ts";
import { voiceOf, withoutLinks } from "./forbidden-text.ts";
import {
  formatSummary,
  type Item,
  lineOf,
  parseSummary,
  type Section,
  sections,
} from "./format.ts";
import { itemOf, summariseEvidence } from "./summary.ts";
import { readSource, type SourceReading } from "./trust.ts";

export type SummaryVerdict =
  | { readonly kind: "passes" }
  | { readonly kind: "patched"; readonly summary: string; readonly added: readonly Fact[] }
  | { readonly kind: "replaced"; readonly summary: string; readonly reason: Refusal };

export type Refusal =
  | "empty"
  | "larger-than-source"
  | "too-long"
  | "unlike-source"
  | "mostly-invented"
  | "mostly-missing";

export interface GateTask {
  readonly summary: string;
  /** The evidence in the messages that were summarised. */
  readonly evidence: Evidence;
  readonly source: readonly Speech[];
  readonly count: CountTokens;
  readonly maxTokens: number;
}

/** The source must contain at least this share of the summary's words and names. */
const leastSimilarity = 0.7;
/** The source must contain at least this share of an item's words. Otherwise the item is treated as invented. */
const leastSupport = 0.6;
/** Share of the budget for required facts other than rules. */
const factShare = 0.3;
/** A summary of more than this many times the budget is not trimmed but replaced. */
const trimmable = 1.5;

export function checkSummaryFacts(task: GateTask): SummaryVerdict {
  const { summary, evidence, source, count, maxTokens } = task;
  const important = importantFacts(evidence, maxTokens, count);
  const replaced = (reason: Refusal): SummaryVerdict => ({
    kind: "replaced",
    reason,
    summary: summariseEvidence({ evidence, tokens: maxTokens, count, first: important }).text,
  });
  const given = parseSummary(withoutFences(summary)).map((item) => ({
    ...item,
    text: withoutLinks(item.text),
  }));
  if (given.length === 0) return replaced("empty");
  const sourceTokens = source.reduce((sum, { text }) => sum + count(text), 0);
  if (count(summary) > sourceTokens) return replaced("larger-than-source");
  if (count(summary) > maxTokens * trimmable) return replaced("too-long");
  const reading = readSource(source, given.map(({ text }) => text).join("\n"));
  if (similarityOf(given, reading) < leastSimilarity) return replaced("unlike-source");
  const numbers = new Set(source.map(({ number }) => number));
  const kept = given.flatMap((item) =>
    checkItem(withKnownNumber(item, numbers), evidence, reading),
  );
  if (kept.length * 2 < given.length) return replaced("mostly-invented");
  return patch(kept, important, task) ?? replaced("mostly-missing");
}

export function withoutFences(summary: string): string {
  return summary.replace(/^[ \t]{0,8}(?:```|~~~).{0,100}$/gm, "");
}

/** How far the source supports the whole summary, in words and in names. */
function similarityOf(items: readonly Item[], reading: SourceReading): number {
  const text = items.map((item) => item.text).join("\n");
  const invented = reading.inventedIn(text).length;
  return reading.supportOf(text) - invented / Math.max(1, items.length * 2);
}

function withKnownNumber(item: Item, numbers: ReadonlySet<number>): Item {
  if (item.number === undefined || numbers.has(item.number)) return item;
  const { number: _, ...rest } = item;
  return rest;
}

/** Sections that say what the agent must do or obey. They contain only statements of users and agents. */
const binding: readonly Section[] = ["Goal", "Rules", "Next"];

/** Returns the item unchanged, or shown as data. Returns an empty list if the item must be removed. */
export function checkItem(
  item: Item,
  { facts, notes }: Evidence,
  reading: SourceReading,
): readonly Item[] {
  if (reading.inventedIn(item.text).length > 0) return [];
  const known = new Set([...facts.filter(isSpoken), ...notes].map(({ text }) => plain(text)));
  const isKnown = known.has(plain(item.text)) || isBlank(reading.restOf(item.text));
  if (item.section === "Rules")
    return isBlank(reading.restOfUser(item.text)) ? [{ ...item, isData: false }] : [];
  if (isKnown && !item.isData) return [item];
  const isMadeUp = reading.supportOf(item.text) < leastSupport;
  const isPlain = voiceOf(item.text) === "plain" || reading.hasVerbatim(item.text);
  if (isMadeUp || !isPlain) return [];
  const section = binding.includes(item.section) ? "State" : item.section;
  return [{ ...item, section, isData: true, text: item.text.replaceAll("`", "'") }];
}

function isBlank(text: string): boolean {
  return !/[\p{L}\p{N}]/u.test(text);
}

/** True for facts that only users and agents can state. */
function isSpoken({ class: of }: Fact): boolean {
  return of === "constraint" || of === "decision" || of === "task";
}

const mustSurvive: ReadonlySet<EvidenceClass> = new Set(["error", "task", "path", "id", "number"]);

/** All rules that fit, and the heaviest of the other facts within a share of the budget. Together they always fit. */
export function importantFacts(
  { facts }: Evidence,
  maxTokens: number,
  count: CountTokens,
): readonly Fact[] {
  const titles = count(sections.map((section) => `## ${section}\n`).join(""));
  const rules = within(
    facts.filter((fact) => fact.class === "constraint"),
    maxTokens - count("## Rules\n"),
    count,
  );
  const left = maxTokens - rules.tokens - titles;
  const others = within(
    facts.filter((fact) => mustSurvive.has(fact.class)),
    Math.min(maxTokens * factShare, left),
    count,
  );
  return [...rules.facts, ...others.facts];
}

function within(
  facts: readonly Fact[],
  maxTokens: number,
  count: CountTokens,
): { readonly facts: readonly Fact[]; readonly tokens: number } {
  const taken: Fact[] = [];
  let tokens = 0;
  for (const fact of facts) {
    if (tokens >= maxTokens) break;
    const cost = count(`${lineOf({ ...itemOf(fact), isKept: true })}\n`);
    if (tokens + cost > maxTokens) continue;
    tokens += cost;
    taken.push(fact);
  }
  return { facts: taken, tokens };
}

/**
 * True if an item contains the fact word for word, ignoring case, white space and quotation marks. A statement inside data does
 * not count, because the text around the statement may deny it. A rule must be in the section of rules.
 */
export function survivesIn(items: readonly Item[], fact: Fact): boolean {
  const wanted = plain(fact.text);
  return items.some(({ section, isData, text }) => {
    if (isSpoken(fact) && isData) return false;
    if (fact.class === "constraint" && section !== "Rules") return false;
    return plain(text).includes(wanted);
  });
}

function patch(
  kept: readonly Item[],
  facts: readonly Fact[],
  { summary, count, maxTokens }: GateTask,
): SummaryVerdict | undefined {
  const spare = kept.filter((item) => !facts.some((fact) => survivesIn([item], fact)));
  let items = kept;
  for (;;) {
    const added = facts.filter((fact) => !survivesIn(items, fact));
    const block = added.map((fact): Item => ({ ...itemOf(fact), isKept: true }));
    const text = formatSummary([...items, ...block]);
    if (count(formatSummary(block)) > count(formatSummary(items))) return undefined;
    if (count(text) <= maxTokens) {
      if (added.length === 0 && text === summary.trim()) return { kind: "passes" };
      return { kind: "patched", summary: text, added };
    }
    const least = leastOf(spare);
    if (least === undefined) return undefined;
    spare.splice(spare.indexOf(least), 1);
    items = items.filter((item) => item !== least);
  }
}

/** If the summary is too long, items are removed from these sections, in this order. */
const dispensable: readonly Section[] = [
  "Said",
  "Numbers",
  "Commands",
  "Files",
  "Worked",
  "State",
  "Errors",
  "Failed",
  "Next",
  "Decided",
  "Goal",
];

function leastOf(items: readonly Item[]): Item | undefined {
  for (const section of dispensable) {
    const least = items.find((item) => item.section === section);
    if (least !== undefined) return least;
  }
  return undefined;
}
