/** The scripted model. It answers by the script, and looks up content that it needs and that is not in the request. */

import { isFromModel } from "./judge.ts";
import type { SessionScript } from "./script.ts";
import type { Asked, Call, Part, Reply } from "./wires/form.ts";
import { wireForms } from "./wires/forms.ts";
import type { LookBack, Step } from "./work.ts";

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
  answer(request: Asked): Reply;
  readonly lookups: readonly OwnLookup[];
}

type Result = Extract<Part, { readonly kind: "result" }>;

interface Lookup {
  readonly call: Call;
  readonly expected: string;
}

/** The model reads an older reference only in every ninth turn. */
const readEvery = 9;
const handlePattern = /pl_[0-9A-Za-z]{22}/g;

export function createModel({ name, wire, steps }: SessionScript): ScriptedModel {
  const lookups: OwnLookup[] = [];
  let cursor = 0;
  let asked: Lookup | undefined;
  const seen = new Set<string>();
  const idStart = `${wireForms[wire].callIdStart}_own_${name.replaceAll("-", "_")}`;

  const note = (result: Result): void => {
    if (asked === undefined) return;
    const { text: answer, isError } = result;
    const { call, expected } = asked;
    const text = String(call.input["query"] ?? call.input["ref_id"] ?? "");
    const isFound = !isError && answer.includes(expected);
    lookups.push({ session: name, tool: call.name, asked: text, answer, expected, isFound });
    asked = undefined;
  };

  return {
    lookups,
    answer: (request) => {
      const pending = asked?.call.id;
      const result = newsIn(request).find(
        (part): part is Result => part.kind === "result" && part.id === pending,
      );
      const isInner = result !== undefined;
      if (isInner) note(result);
      else cursor++;
      const step = steps[cursor - 1];
      if (step === undefined)
        throw new Error(`The session "${name}" has no turn ${cursor}: it was played already.`);
      asked = isInner ? undefined : lookup(request, step, { idStart, turn: cursor, seen });
      if (asked === undefined) return step;
      seen.add(String(asked.call.input["ref_id"]));
      return { text: "", calls: [asked.call] };
    },
  };
}

/** The parts after the model's last answer. */
function newsIn({ parts }: Asked): readonly Part[] {
  return parts.slice(parts.findLastIndex(isFromModel) + 1);
}

interface Looking {
  readonly idStart: string;
  readonly turn: number;
  /** Handles that the model has already read. */
  readonly seen: ReadonlySet<string>;
}

/** The lookup for this step, if the request offers the tool and does not already contain the answer. */
function lookup(request: Asked, step: Step, looking: Looking): Lookup | undefined {
  const offered = (tool: string): string | undefined =>
    request.tools.find((name) => name === tool || name === `plimsoll_${tool}`);
  const id = `${looking.idStart}_${looking.turn}`;
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
  { parts }: Asked,
  { query, expected }: LookBack,
  { id, tool }: Calling,
): Lookup | undefined {
  if (parts.some(({ text }) => text.includes(expected))) return undefined;
  return { call: { id, name: tool, input: { query } }, expected };
}

/** Searches a new reference at once. Reads an older one from time to time. */
function reading(request: Asked, looking: Looking, { id, tool }: Calling): Lookup | undefined {
  const unread = ({ text }: Part): readonly string[] =>
    (text.match(handlePattern) ?? []).filter((handle) => !looking.seen.has(handle));
  const call = (input: Call["input"]): Lookup => ({
    call: { id, name: tool, input },
    expected: "",
  });
  const fresh = newsIn(request).flatMap(unread).at(0);
  if (fresh !== undefined) return call({ ref_id: fresh, grep: "ERROR|FAIL|failed" });
  const older = request.parts.flatMap(unread).at(-1);
  return older === undefined || looking.turn % readEvery !== 0
    ? undefined
    : call({ ref_id: older, limit: 1_200 });
}
