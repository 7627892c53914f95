/** A request and an answer between two wires: what all wires can say. Pure. */

import type { JsonObject, JsonValue } from "../../message/json.ts";
import type { Message, Usage } from "../../message/message.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import type { StreamEvent, WireName } from "../format/wire.ts";

export interface NeutralTool extends ToolDefinition {
  /** Whether the model must keep exactly to the schema. */
  readonly isStrict: boolean;
}

export type ToolChoice =
  | { readonly kind: "auto" | "none" | "required" }
  | { readonly kind: "tool"; readonly name: string };

/** A JSON schema that the whole answer must have. */
export interface AnswerFormat {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isStrict: boolean;
}

export interface NeutralRequest {
  readonly system: readonly string[];
  readonly messages: readonly Message[];
  readonly tools: readonly NeutralTool[];
  readonly choice: ToolChoice;
  /** Whether the model may make only one call at a time. */
  readonly isSerial: boolean;
  readonly isStream: boolean;
  /** Whether a Chat client wants the usage at the end of the stream. */
  readonly wantsUsage: boolean;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly stop: readonly string[];
  readonly format?: AnswerFormat;
}

/** Why a request or an answer cannot be translated, and what a translation leaves out. Both are sentences or names for people. */
export interface Losses {
  /** The request must not be sent, because the other provider would not understand it in the same way. */
  refuse(reason: string): void;
  /** Only the first provider can use this field. The answer does not depend on it, or only the cost does. */
  leaveOut(name: string): void;
}

/** What a model does while it answers. */
export type AnswerStep =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly place: number; readonly id: string; readonly name: string }
  | { readonly kind: "input"; readonly place: number; readonly text: string }
  /** Content that no other wire has. */
  | { readonly kind: "unknown"; readonly type: string };

export type Stop = "end" | "calls" | "length" | "refused";

export interface AnswerEnd {
  readonly stop: Stop;
  readonly usage: Usage | undefined;
}

export interface AnswerHead {
  /** Letters and digits for the ids of the answer and its parts. */
  readonly id: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly wantsUsage: boolean;
}

/** Writes an answer as the events of a wire. Contract: `begin` once, then steps in order, then `end` once. */
export interface AnswerWriter {
  begin(): readonly StreamEvent[];
  step(step: Exclude<AnswerStep, { readonly kind: "unknown" }>): readonly StreamEvent[];
  end(end: AnswerEnd): readonly StreamEvent[];
}

/** The part of a wire that translation needs in addition to `Wire`. */
export interface Translation {
  readonly name: WireName;
  readRequest(body: JsonObject, losses: Losses): NeutralRequest;
  writeRequest(request: NeutralRequest, to: WrittenFor, losses: Losses): JsonObject;
  /** Returns a function that reads the events of one answer, one after the other. */
  openSteps(): (event: StreamEvent) => readonly AnswerStep[];
  stopOf(stopReason: string | undefined, hasCalls: boolean): Stop;
  openWriter(head: AnswerHead): AnswerWriter;
}

export interface WrittenFor {
  readonly model: string;
  /** Maximum length of the answer. Wires that need a length get this one if the request has none. */
  readonly maxTokens: number;
}

/** The fields of a body, by what becomes of them. All others are refused. */
export interface FieldTable {
  readonly read: readonly string[];
  readonly leftOut: readonly string[];
}

/** Looks at all fields, so that none is ignored without a word. */
export function checkFields(body: JsonObject, table: FieldTable, losses: Losses): void {
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined || table.read.includes(name)) continue;
    if (table.leftOut.includes(name)) losses.leaveOut(name);
    else losses.refuse(`its field ${name} means nothing to the other provider`);
  }
}

export function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** The optional numbers of a request, without those that it does not set. */
export function settingsOf(
  settings: Pick<
    { readonly [Key in "maxTokens" | "temperature" | "topP"]: number | undefined },
    "maxTokens" | "temperature" | "topP"
  >,
): Pick<NeutralRequest, "maxTokens" | "temperature" | "topP"> {
  const { maxTokens, temperature, topP } = settings;
  return {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
  };
}

/** A schema that every provider accepts: providers refuse one without a type. */
export function schemaOf(parameters: JsonObject): JsonObject {
  return parameters["type"] === "object" ? parameters : { type: "object", ...parameters };
}
