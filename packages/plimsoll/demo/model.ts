/** The scripted model. It answers by the script, and looks up content that it needs and that is not in the request. */

import type { SessionScript } from "./script.ts";
import {
  blocksOf,
  type CallBlock,
  type ResultBlock,
  type TextBlock,
  textOf,
  type WireMessage,
  type WireRequest,
} from "./wire-forms.ts";
import type { LookBack, Step } from "./work.ts";

export type Reply = readonly (TextBlock | CallBlock)[];

/** A call of one of Plimsoll's own tools, with its answer. */
export interface OwnLookup {
  readonly session: string;
  readonly tool: string;
  /** The query, or the handle. */
  readonly asked: string;
  readonly answer: string;
  /** Text that the answer should contain, word for word. Empty: any answer is fine. */
  readonly expected: string;
  readonly isFound: boolean;
}

export interface ScriptedModel {
  /** Contract: throws if the script has no more steps. */
  answer(request: WireRequest): Reply;
  readonly lookups: readonly OwnLookup[];
}

interface Asked {
  readonly call: CallBlock;
  readonly expected: string;
}

/** The model reads an older reference only in every ninth turn. */
const readEvery = 9;
const handlePattern = /pl_[0-9A-Za-z]{22}/g;

export function createModel({ name, steps }: SessionScript): ScriptedModel {
  const lookups: OwnLookup[] = [];
  let cursor = 0;
  let asked: Asked | undefined;
  const seen = new Set<string>();

  const note = (result: ResultBlock | undefined): void => {
    if (asked === undefined) return;
    const answer = textOf(result?.content ?? "");
    const { call, expected } = asked;
    const text = String(call.input["query"] ?? call.input["ref_id"] ?? "");
    const isFound = result?.is_error !== true && answer.includes(expected);
    lookups.push({ session: name, tool: call.name, asked: text, answer, expected, isFound });
    asked = undefined;
  };

  return {
    lookups,
    answer: (request) => {
      const last = request.messages.at(-1);
      const pending = asked?.call.id;
      const result = pending === undefined ? undefined : resultFor(last, pending);
      const isInner = result !== undefined;
      if (isInner) note(result);
      else cursor++;
      const step = steps[cursor - 1];
      if (step === undefined)
        throw new Error(`The session "${name}" has no turn ${cursor}: it was played already.`);
      asked = isInner ? undefined : lookup(request, step, { name, turn: cursor, seen });
      if (asked === undefined) return replyOf(step);
      seen.add(String(asked.call.input["ref_id"]));
      return [asked.call];
    },
  };
}

function resultFor(message: WireMessage | undefined, id: string): ResultBlock | undefined {
  return message === undefined
    ? undefined
    : blocksOf(message).find(
        (block): block is ResultBlock => block.type === "tool_result" && block.tool_use_id === id,
      );
}

function replyOf({ text, calls }: Step): Reply {
  return [
    { type: "text", text },
    ...calls.map(({ id, name, input }): CallBlock => ({ type: "tool_use", id, name, input })),
  ];
}

interface Looking {
  readonly name: string;
  readonly turn: number;
  /** Handles that the model has already read. */
  readonly seen: ReadonlySet<string>;
}

/** The lookup for this step, if the request offers the tool and does not already contain the answer. */
function lookup(request: WireRequest, step: Step, looking: Looking): Asked | undefined {
  const offered = (tool: string): string | undefined =>
    request.tools?.find(({ name }) => name === tool || name === `plimsoll_${tool}`)?.name;
  const id = `toolu_own_${looking.name.replaceAll("-", "_")}_${looking.turn}`;
  const recall = offered("recall");
  if (recall !== undefined && step.lookBack !== undefined) {
    return recalling(request, step.lookBack, { id, tool: recall });
  }
  const read = offered("read_result");
  return read === undefined ? undefined : reading(request, looking, { id, tool: read });
}

interface Calling {
  readonly id: string;
  readonly tool: string;
}

function recalling(
  { messages }: WireRequest,
  { query, expected }: LookBack,
  { id, tool }: Calling,
): Asked | undefined {
  if (messages.some(({ content }) => textOf(content).includes(expected))) return undefined;
  return { call: { type: "tool_use", id, name: tool, input: { query } }, expected };
}

/** Searches a new reference at once. Reads an older one from time to time. */
function reading(
  { messages }: WireRequest,
  looking: Looking,
  { id, tool }: Calling,
): Asked | undefined {
  const unread = (message: WireMessage): readonly string[] =>
    (textOf(message.content).match(handlePattern) ?? []).filter(
      (handle) => !looking.seen.has(handle),
    );
  const call = (input: CallBlock["input"]): Asked => ({
    call: { type: "tool_use", id, name: tool, input },
    expected: "",
  });
  const fresh = messages.slice(-1).flatMap(unread).at(0);
  if (fresh !== undefined) return call({ ref_id: fresh, grep: "ERROR|FAIL|failed" });
  const older = messages.flatMap(unread).at(-1);
  return older === undefined || looking.turn % readEvery !== 0
    ? undefined
    : call({ ref_id: older, limit: 1_200 });
}
