/** The tools that Plimsoll answers itself: what the model is told of them, and what they are called beside others. */

import type { JsonObject } from "../message/json.ts";
import type { ToolDefinition } from "../message/tool.ts";
import { argumentTexts } from "../text/for-models.ts";
import {
  countOf,
  fieldsOf,
  type LineRange,
  linesOf,
  pathOf,
  patternOf,
  textOf,
} from "./own-arguments.ts";
import { type OwnToolName, ownDefinitions, searchDefinition } from "./own-definitions.ts";

export interface OwnTools {
  /** Always in the same order; for the same names always the same bytes. `tool_search` is not among them. */
  readonly definitions: readonly ToolDefinition[];
  /** Behind them, where tools of the client's are held back; the note says how many. */
  search(note: string): ToolDefinition;
  /** The tool of ours that goes by this name here; undefined for any other. */
  named(name: string): OwnToolName | undefined;
  nameOf(tool: OwnToolName): string;
  /** A client's tool has one of our names, so ours go by longer ones. */
  readonly isRenamed: boolean;
}

const ownNames: readonly OwnToolName[] = [
  "read_result",
  "recall",
  "compact_context",
  "tool_search",
];
const usual = ownToolsWith("");
const stepped = ownToolsWith("plimsoll_");

/** A client keeps its names. If one of them is ours, all of ours get the same prefix: the first that is free. */
export function ownToolsBeside(clientNames: ReadonlySet<string>): OwnTools {
  const isFree = ({ nameOf }: OwnTools): boolean =>
    ownNames.every((tool) => !clientNames.has(nameOf(tool)));
  if (isFree(usual)) return usual;
  if (isFree(stepped)) return stepped;
  // Each name of the client's takes one prefix at most, so one of these is free.
  for (let number = 2; number <= clientNames.size + 1; number++) {
    const further = ownToolsWith(`plimsoll${number}_`);
    if (isFree(further)) return further;
  }
  return stepped;
}

function ownToolsWith(prefix: string): OwnTools {
  const nameOf = (tool: OwnToolName): string => `${prefix}${tool}`;
  const tools = new Map<string, OwnToolName>(ownNames.map((tool) => [nameOf(tool), tool]));
  return Object.freeze({
    definitions: deepFreeze(ownDefinitions(nameOf)),
    search: (note: string) => searchDefinition(nameOf, note),
    named: (name: string) => tools.get(name),
    nameOf,
    isRenamed: prefix !== "",
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const field of Object.values(value)) deepFreeze(field);
    Object.freeze(value);
  }
  return value;
}

export type OwnCall =
  | {
      readonly kind: "read_result";
      readonly refId: string;
      /** Bytes of UTF-8. */
      readonly offset?: number;
      readonly limit?: number;
      readonly grep?: string;
      readonly lines?: LineRange;
      /** A path that `readJsonPath` reads. */
      readonly json?: string;
    }
  | { readonly kind: "recall"; readonly query: string; readonly budget?: number }
  | { readonly kind: "compact_context" }
  | { readonly kind: "tool_search"; readonly query: string }
  /** What was wrong, for the model. */
  | { readonly kind: "invalid"; readonly sentence: string };

/** What is longer asks for nothing more: the words of the beginning are searched. */
const queryMax = 4000;

/** Contract: never throws. Fields that are unknown, null or empty count as absent; "10" is a number. */
export function readOwnCall(tool: OwnToolName, input: string): OwnCall {
  if (tool === "compact_context") return { kind: "compact_context" };
  const fields = fieldsOf(input);
  if (fields === undefined) return invalid(argumentTexts.notAnObject(examples[tool]));
  switch (tool) {
    case "recall":
      return readRecall(fields);
    case "tool_search":
      return readSearch(fields);
    case "read_result":
      return readRead(fields);
  }
}

const examples = {
  tool_search: '{"query": "…"}',
  read_result: '{"ref_id": "pl_…", "offset": 0}',
  recall: '{"query": "…"}',
};

function readRecall(fields: JsonObject): OwnCall {
  const query = textOf(fields, "query");
  if (query.kind !== "given") return invalid(argumentTexts.recallQuery(examples.recall));
  const budget = countOf(fields, "budget", 1);
  if (budget.kind === "wrong") return invalid(budget.sentence);
  return {
    kind: "recall",
    query: query.value.slice(0, queryMax),
    ...(budget.kind === "given" ? { budget: budget.value } : {}),
  };
}

function readSearch(fields: JsonObject): OwnCall {
  const query = textOf(fields, "query");
  if (query.kind !== "given") return invalid(argumentTexts.toolQuery(examples.tool_search));
  return { kind: "tool_search", query: query.value.slice(0, queryMax) };
}

function readRead(fields: JsonObject): OwnCall {
  const refId = textOf(fields, "ref_id");
  if (refId.kind !== "given") return invalid(argumentTexts.refId(examples.read_result));
  const offset = countOf(fields, "offset", 0);
  if (offset.kind === "wrong") return invalid(offset.sentence);
  const limit = countOf(fields, "limit", 1);
  if (limit.kind === "wrong") return invalid(limit.sentence);
  const grep = patternOf(fields);
  if (grep.kind === "wrong") return invalid(grep.sentence);
  const lines = linesOf(fields);
  if (lines.kind === "wrong") return invalid(lines.sentence);
  const json = pathOf(fields);
  if (json.kind === "wrong") return invalid(json.sentence);
  return {
    kind: "read_result",
    refId: refId.value.trim(),
    ...(offset.kind === "given" ? { offset: offset.value } : {}),
    ...(limit.kind === "given" ? { limit: limit.value } : {}),
    ...(grep.kind === "given" ? { grep: grep.value } : {}),
    ...(lines.kind === "given" ? { lines: lines.value } : {}),
    ...(json.kind === "given" ? { json: json.value } : {}),
  };
}

function invalid(sentence: string): OwnCall {
  return { kind: "invalid", sentence };
}

export interface OwnAnswer {
  readonly text: string;
  /** In the wire's own form, in place of the text. */
  readonly blocks?: readonly JsonObject[];
  readonly isError: boolean;
}
