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
  /**
   * The definitions of all tools except `tool_search`, always in the same order. With the same names, they are always the same
   * bytes.
   */
  readonly definitions: readonly ToolDefinition[];
  /**
   * The definition of `tool_search`, which is added after the others if tools of the client are deferred. The note says how many
   * are deferred.
   */
  search(note: string): ToolDefinition;
  /** The Plimsoll tool that has this name in the request, or undefined if the name belongs to none of Plimsoll's tools. */
  named(name: string): OwnToolName | undefined;
  nameOf(tool: OwnToolName): string;
  /** True if Plimsoll's tools have a prefix in their names, because a tool of the client has the usual name of one of them. */
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

/**
 * The client's tools keep their names. If a client's tool has the name of one of Plimsoll's tools, all of Plimsoll's tools get
 * the first free prefix.
 */
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
      /** Byte offset in the UTF-8 text at which the page begins. */
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
  /** The call is not valid. The sentence tells the model what is wrong. */
  | { readonly kind: "invalid"; readonly sentence: string };

/** Maximum length of a query in characters. Further words would not improve the search, so a longer query is cut. */
const queryMax = 4000;

/** Contract: never throws. Ignores fields that are unknown, null or empty, and accepts "10" as a number. */
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
