/** What was recorded of one agent: the head of its requests in other words, and how it sent a short conversation back. */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { AnswerPart } from "../harness/answer-parts.ts";
import { type JsonObject, parseJson, type Wire } from "../harness/json.ts";

export interface AgentShape {
  readonly agent: string;
  readonly version: string;
  readonly recordedOn: string;
  readonly wire: Wire;
  /** With its query string. */
  readonly path: string;
  /** Those that matter, without the credential; `{session}` is the name that the agent gives to its session. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the first request without its conversation. */
  readonly fields: JsonObject;
  /** What the first request says before the model has said anything. */
  readonly opening: readonly JsonObject[];
  /** What the agent asks for beside its conversation, before it: a title. */
  readonly aside?: JsonObject;
  readonly recorded: readonly RecordedTurn[];
}

/** One request of the recording, and what the scripted model answered to it. */
export interface RecordedTurn {
  /** The number of the request: ids in answers are made from it. */
  readonly number: number;
  /** A message of the opening that is sent as it was is `{ "opening": its index }`. */
  readonly conversation: readonly JsonObject[];
  /** What differs from the first request; null where it is gone. */
  readonly changedFields: JsonObject;
  readonly changedHeaders: JsonObject;
  readonly answer: readonly AnswerPart[];
  /** What Goose says of the state of things; it is another text in every request. */
  readonly info?: string;
}

export function loadShape(agent: string): AgentShape {
  const file = new URL(`./${agent}.json.gz`, import.meta.url);
  return parseJson(gunzipSync(readFileSync(file)).toString("utf8")) as unknown as AgentShape;
}
