/** The tools that Plimsoll answers itself: their definitions, their names next to the client's, and how calls are read. */

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
  /** Always in the same order, and the same bytes for the same names. Does not include `tool_search`. */
  readonly definitions: readonly ToolDefinition[];
  /** The definition of `tool_search`, which follows the others if tools of the client are deferred. The note says how many. */
  search(note: string): ToolDefinition;
  /** The Plimsoll tool with this name. Undefined: it is not one of Plimsoll's. */
  named(name: string): OwnToolName | undefined;
  nameOf(tool: OwnToolName): string;
  /** A tool of the client has the name of one of Plimsoll's tools, so all of Plimsoll's have longer names. */
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

/** The client keeps its names. If one of them is Plimsoll's too, all of Plimsoll's tools get the first prefix that is free. */
export function ownToolsBeside(clientNames: ReadonlySet<string>): OwnTools {
  const isFree = ({ nameOf }: OwnTools): boolean =>
    ownNames.every((tool) => !clientNames.has(nameOf(tool)));
  if (isFree(usual)) return usual;
  if (isFree(stepped)) return stepped;
  // Each name of the client blocks at most one prefix, so one of these is free.
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
      /** In bytes of UTF-8. */
      readonly offset?: number;
      readonly limit?: number;
      readonly grep?: string;
      readonly lines?: LineRange;
      /** A path that `readJsonPath` accepts. */
      readonly json?: string;
    }
  | { readonly kind: "recall"; readonly query: string; readonly budget?: number }
  | { readonly kind: "compact_context" }
  | { readonly kind: "tool_search"; readonly query: string }
  /** A sentence for the model that says what was wrong. */
  | { readonly kind: "invalid"; readonly sentence: string };

/** Only the beginning of a longer query is searched for, because the rest adds nothing. */
const queryMax = 4000;

/** Contract: never throws. Unknown, null and empty fields count as absent, and "10" counts as a number. */
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
  /** Replaces the text, in the wire's own form. */
  readonly blocks?: readonly JsonObject[];
  readonly isError: boolean;
}
