/** What the agent did: its calls in order, with what came of each. */

import type { ToolCallPart, ToolResultPart } from "../../message/message.ts";
import type { OwnEffects, VisibleMessage } from "../../message/strategy.ts";
import { storyTexts } from "../../text/for-models.ts";
import { type CommandOutcome, outcomeOf, resultsByCall } from "../evidence/commands.ts";
import { errorsIn } from "../evidence/errors.ts";
import { quoted, shortened } from "../evidence/safe-text.ts";
import { type Deed, deedOf, readingVerbs } from "./effects.ts";
import { loggedMessage } from "./requests.ts";

/** A call and what came of it. */
export interface Act {
  /** Index and number of the message. */
  readonly message: number;
  readonly number: number;
  readonly call: ToolCallPart;
  readonly deed: Deed;
  readonly outcome: CommandOutcome | undefined;
  /** True if the user did not allow the call. */
  readonly isRefused: boolean;
  /** What a failed call reported. */
  readonly error: string | undefined;
}

/** The calls from the message with the index `from` on. */
export function readActs(
  messages: readonly VisibleMessage[],
  from: number,
  effects: OwnEffects = {},
): readonly Act[] {
  const logged = messages.map((visible) => ({
    message: loggedMessage(visible),
    number: visible.number,
  }));
  const results = resultsByCall(logged);
  return logged.flatMap(({ message, number }, index): readonly Act[] => {
    if (index < from || message.role !== "assistant") return [];
    return message.parts.flatMap((part): readonly Act[] => {
      const deed = part.kind === "tool-call" ? deedOf(part, effects) : undefined;
      if (part.kind !== "tool-call" || deed === undefined) return [];
      const report = reportOf(results.get(part), deed);
      return [
        { message: index, number, call: part, deed: madeDeed(deed, results.get(part)), ...report },
      ];
    });
  });
}

/** A tool that says so has changed nothing. */
const noChange = /^\s*\(?no changes?(?: made)?\)?\.?\s*$/i;

function madeDeed(deed: Deed, result: ToolResultPart | undefined): Deed {
  const [text = ""] =
    result?.content.flatMap((one) => (one.kind === "text" ? [one.text] : [])) ?? [];
  return noChange.test(text) ? { ...deed, isEffect: false } : deed;
}

function reportOf(
  result: ToolResultPart | undefined,
  deed: Deed,
): Pick<Act, "outcome" | "isRefused" | "error"> {
  if (result === undefined) return { outcome: undefined, isRefused: false, error: undefined };
  const outcome = outcomeOfDeed(result, deed);
  const text = result.content.map((one) => (one.kind === "text" ? one.text : "")).join("\n");
  const isRefused = refusal.test(text);
  const isReport = outcome !== "ok" && !isRefused;
  return { outcome, isRefused, error: isReport ? errorsIn(text.split("\n"), true)[0] : undefined };
}

/** How a client begins the result of a call that its user did not allow. */
const refusal =
  /^\s*(?:<\w+>)?\s*(?:(?:the )?user (?:has )?(?:rejected|denied|declined|refused|cancelled|interrupted|doesn['’]t want)|no \(tell|\[?request interrupted|(?:tool (?:use|call) )?(?:was )?(?:rejected|denied|not approved|not allowed) by (?:the )?user|permission to use \S+ has been denied)/i;
/** How a tool begins its answer if it did not do what it was asked to. */
const complaint =
  /^\s*(?:<\w+>)?\s*(?:error|failed|failure|fatal|cannot|could not|unable to|permission denied)/i;

/**
 * A tool that shows or changes a file may quote its text, and errors in that text are no errors of the call. A command and every
 * other tool report errors anywhere.
 */
function outcomeOfDeed(result: ToolResultPart, { verb, object }: Deed): CommandOutcome {
  const [text = ""] = result.content.flatMap((one) => (one.kind === "text" ? [one.text] : []));
  if (result.isError || refusal.test(text)) return "failed";
  if (readingVerbs.has(verb)) return "ok";
  if (verb === "ran" || verb === "called") return outcomeOf(result, object.replace(/^`/, ""));
  return complaint.test(text) ? "failed" : "ok";
}

export function hasFailed({ outcome }: Act): boolean {
  return outcome !== undefined && outcome !== "ok";
}

/** Maximum numbers of characters, for much and for little room. */
export const happeningLengths = [170, 70] as const;

/** What happened in a run of messages, in one sentence, changes first: `edited a.ts; ran npm test (failed)`. */
export function happeningIn(
  acts: readonly Act[],
  longest: (typeof happeningLengths)[number] = happeningLengths[0],
): string {
  const byVerb = new Map<string, Set<string>>();
  for (const act of acts.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    const { deed } = act;
    const objects = byVerb.get(deed.verb) ?? new Set();
    byVerb.set(deed.verb, objects.add(objectOf(act)));
  }
  const phrases: string[] = [];
  let characters = 0;
  let leftOut = 0;
  for (const [verb, objects] of byVerb) {
    const fitting: string[] = [];
    for (const object of objects) {
      if (characters + object.length > longest) leftOut++;
      else {
        fitting.push(object);
        characters += object.length + 2;
      }
    }
    if (fitting.length > 0) phrases.push(storyTexts.changed(verb, fitting));
  }
  if (leftOut > 0) phrases.push(storyTexts.moreCalls(leftOut));
  return phrases.join("; ");
}

function rankOf({ deed }: Act): number {
  return deed.isEffect ? 0 : 1;
}

function objectOf(act: Act): string {
  const { object } = act.deed;
  if (act.isRefused) return storyTexts.refusedCall(object);
  return hasFailed(act) ? storyTexts.failedCall(object, "") : object;
}

/** Maximum numbers of characters of an error, for much and for little room. */
export const reportLengths = [120, 50, 0] as const;

/** The last of some calls, with the error that it reported. */
export function lastHappening(
  acts: readonly Act[],
  longest: (typeof reportLengths)[number] = reportLengths[0],
): string {
  const last = acts.at(-1);
  if (last === undefined) return "";
  const { deed, error } = last;
  const report = error === undefined || longest === 0 ? "" : quoted(shortened(error, longest));
  const object = hasFailed(last) ? storyTexts.failedCall(deed.object, report) : deed.object;
  return storyTexts.changed(deed.verb, [last.isRefused ? objectOf(last) : object]);
}
