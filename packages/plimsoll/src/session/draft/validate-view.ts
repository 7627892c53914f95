/** Validates a view. Faults that the client's own body has too are ignored. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { errorMessage } from "../../message/error.ts";
import { parseRuleInput } from "../../wire/validate/rules/rule.ts";
import {
  type Finding,
  type RuleInput,
  type RuleTexts,
  rules,
} from "../../wire/validate/validate.ts";
import { wholeView } from "../log/view.ts";
import { type Draft, renderingOf, type Sized } from "./draft.ts";
import { type Patch, renderView } from "./render.ts";

const decoder = new TextDecoder();

export type Validity =
  | { readonly kind: "valid" }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "unknown"; readonly reason: string };

/** If a body has more characters than this, Plimsoll lets other work run before it composes the second body. */
const largeChars = 1_048_576;

export interface Validator {
  readonly validate: (input: RuleInput) => readonly Finding[];
  /** Like `validate`, but in another thread if a body is large. If absent, all bodies are validated in this thread. */
  readonly validateAside?: (input: RuleTexts) => Promise<readonly Finding[]>;
}

/** Validates a view. Reports only faults that the client's own body does not have. */
export function validateView(world: Validator, draft: Draft, sized: Sized): Promise<Validity> {
  return validityOf(async () => {
    const { headers, compose } = draft.request;
    const sent = sentBody(draft, sized);
    if (sent.bodyText.length > largeChars) await nextTurn();
    return findings(world, {
      ...sent,
      originalText: decoder.decode(compose({ patches: uneditedPatches(draft, sized) })),
      ...(headers === undefined ? {} : { originalHeaders: headers }),
    });
  });
}

async function findings(
  { validate, validateAside }: Validator,
  texts: RuleTexts,
): Promise<readonly Finding[]> {
  return validateAside === undefined ? validate(parseRuleInput(texts)) : validateAside(texts);
}

/** The client's messages, plus the lookups of those answers that the view shows in full. */
function uneditedPatches(draft: Draft, { view, tools: visibleTools }: Sized): readonly Patch[] {
  const { expansions, contractions, tools } = view;
  if (expansions.length + contractions.length === 0) return [];
  const unedited = { ...wholeView, ...(tools && { tools }), expansions, contractions };
  return renderView(unedited, draft.path, renderingOf(draft, { tools: visibleTools }));
}

/**
 * Validates a view that was valid before and has only grown. First validates only the view, because it is far smaller than the
 * client's body. If there is a fault, compares the view with the client's own body.
 */
export async function validateAgain(
  world: Validator,
  draft: Draft,
  sized: Sized,
): Promise<Validity> {
  const alone = await validityOf(() => findings(world, sentBody(draft, sized)));
  return alone.kind === "valid" ? alone : validateView(world, draft, sized);
}

function sentBody(draft: Draft, { patches, tools }: Sized): RuleTexts {
  const { compose, headers } = draft.request;
  const bodyText = decoder.decode(compose({ patches, tools }));
  const [target] = draft.targets;
  return {
    wire: draft.wire.name,
    bodyText,
    ...(headers === undefined ? {} : { headers }),
    ...(target.profile === undefined ? {} : { profile: target.profile }),
    model: target.model,
    synthetic: [],
  };
}

/** The rule that a reason names, or undefined. Failures are reported as text, but metrics count them by rule. */
export function brokenRule(reason: string): string | undefined {
  const rule = /\brule (\S+) would be broken/.exec(reason)?.[1];
  return rule !== undefined && Object.hasOwn(rules, rule) ? rule : undefined;
}

async function validityOf(find: () => Promise<readonly Finding[]>): Promise<Validity> {
  try {
    const found = await find();
    const [first] = found;
    if (first === undefined) return { kind: "valid" };
    const more = found.length === 1 ? "" : `, and ${found.length - 1} more`;
    return {
      kind: "invalid",
      reason: `rule ${first.rule} would be broken (${first.message})${more}`,
    };
  } catch (error) {
    return { kind: "unknown", reason: `the validator failed: ${errorMessage(error)}` };
  }
}
