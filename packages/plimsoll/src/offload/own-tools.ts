/** Defines the tools that Plimsoll answers itself, gives them names that no client tool has, and reads the model's calls. */

import type { JsonObject } from "../message/json.ts";
import type { ToolDefinition } from "../message/tool.ts";
import { argumentTexts } from "../text/for-models.ts";
import {
  fieldsOf,
  type LineRange,
  ownArguments,
  ownExamples,
  readArguments,
  type Values,
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
  /** True if all of Plimsoll's tools have longer names, because a tool of the client has the name of one of them. */
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

/** The client's tools keep their names. If one clashes with Plimsoll's, all of Plimsoll's tools get the first free prefix. */
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
      /** Where the page begins, in bytes of UTF-8. */
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

/** Only the beginning of a longer query is searched for, because more words would add nothing. */
const queryMax = 4000;

/** Contract: never throws. Unknown, null and empty fields count as absent, and "10" counts as a number. */
export function readOwnCall(tool: OwnToolName, input: string): OwnCall {
  if (tool === "compact_context") return { kind: "compact_context" };
  const fields = fieldsOf(input);
  if (fields === undefined) return invalid(argumentTexts.notAnObject(ownExamples[tool]));
  switch (tool) {
    case "recall":
      return callOf(ownArguments.recall, fields, ({ query, ...rest }) => ({
        kind: "recall",
        query: query.slice(0, queryMax),
        ...rest,
      }));
    case "tool_search":
      return callOf(ownArguments.tool_search, fields, ({ query }) => ({
        kind: "tool_search",
        query: query.slice(0, queryMax),
      }));
    case "read_result":
      return callOf(ownArguments.read_result, fields, ({ ref_id: refId, ...rest }) => ({
        kind: "read_result",
        refId: refId.trim(),
        ...rest,
      }));
  }
}

function callOf<A extends Parameters<typeof readArguments>[0]>(
  args: A,
  fields: JsonObject,
  make: (values: Values<A>) => OwnCall,
): OwnCall {
  const read = readArguments(args, fields);
  return read.kind === "wrong" ? invalid(read.sentence) : make(read.values);
}

function invalid(sentence: string): OwnCall {
  return { kind: "invalid", sentence };
}

export interface OwnAnswer {
  readonly text: string;
  /** Content blocks in the wire's own format. They are sent instead of the text. */
  readonly blocks?: readonly JsonObject[];
  readonly isError: boolean;
}
