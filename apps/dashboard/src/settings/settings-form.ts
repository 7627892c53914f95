/** The settings as form fields, and the checks before they are saved. Pure. */

import type { BudgetSettings, ConfigAnswer, LimitSettings, ProgressSettings } from "plimsoll/api";

/** Numbers stay text while the user types. Rows are identified by keys, because their names change while the user types. */
export interface SettingsForm {
  readonly progress: ProgressSettings;
  readonly budget: BudgetChoice;
  /** Used only if `budget` is "tokens". */
  readonly budgetTokens: string;
  readonly minLimit: string;
  readonly defaultLimit: string;
  /** Warning threshold, in percent of the limit. */
  readonly warningPercent: string;
  readonly agents: readonly AgentLimitRow[];
  readonly llms: readonly LlmLimitRow[];
}

export type BudgetChoice = "auto" | "window" | "tokens";

export interface AgentLimitRow {
  readonly key: string;
  readonly name: string;
  readonly limit: string;
}

export interface LlmLimitRow {
  readonly key: string;
  readonly type: string;
  /** The models of a group. They can be changed only in the file, so they stay as they are. */
  readonly models?: readonly string[] | undefined;
  readonly limit: string;
  readonly followDefault: boolean;
}

/** Sentences that tell the user what to do, by field: `minLimit`, `agents.{key}.name` … */
export type Problems = Readonly<Record<string, string>>;

export type CheckedForm =
  | {
      readonly kind: "valid";
      readonly progress: ProgressSettings;
      readonly agent: BudgetSettings;
      readonly limits: LimitSettings;
    }
  | { readonly kind: "invalid"; readonly problems: Problems };

/** Maximum number of rows that the service accepts. */
export const maxRows = 200;
const maxName = 200;
const maxTokens = 100_000_000;
/** Names that a settings file cannot contain. */
const forbiddenNames: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** The number that the field shows if a user chooses a number. */
const proposedBudget = "200000";

export function formOf({
  progress,
  agent: { context_budget: budget },
  limits,
}: Pick<ConfigAnswer, "progress" | "agent" | "limits">): SettingsForm {
  return {
    progress,
    budget: typeof budget === "number" ? "tokens" : budget,
    budgetTokens: typeof budget === "number" ? String(budget) : proposedBudget,
    minLimit: String(limits.min_limit),
    defaultLimit: String(limits.default_limit),
    warningPercent: String(Math.round(limits.warning_threshold * 1000) / 10),
    agents: Object.entries(limits.per_agent).map(([name, limit], index) => ({
      key: `a${index}`,
      name,
      limit: String(limit),
    })),
    llms: limits.per_llm.map(({ type, models, limit, follow_default: followDefault }, index) => ({
      key: `l${index}`,
      type,
      ...(models === undefined ? {} : { models }),
      limit: String(limit),
      followDefault,
    })),
  };
}

/** Whether both forms have the same values, ignoring the keys of rows. */
export function isSame(one: SettingsForm, other: SettingsForm): boolean {
  const withoutKeys = (form: SettingsForm): string =>
    JSON.stringify(form, (key, value: unknown) => (key === "key" ? undefined : value));
  return withoutKeys(one) === withoutKeys(other);
}

/** A key that no row has yet. */
export function newKey(rows: readonly { readonly key: string }[]): string {
  const numbers = rows.map(({ key }) => Number(key.slice(1)) || 0);
  return `n${Math.max(0, ...numbers) + 1}`;
}

export function checkForm(form: SettingsForm): CheckedForm {
  const problems: Record<string, string> = {};
  const note = (field: string, sentence: string | undefined): void => {
    if (sentence !== undefined) problems[field] = sentence;
  };
  const [least, usual] = [wholeOf(form.minLimit), wholeOf(form.defaultLimit)];
  if (form.budget === "tokens") note("budgetTokens", problemOfTokens(form.budgetTokens));
  note("minLimit", problemOfTokens(form.minLimit));
  note("defaultLimit", problemOfTokens(form.defaultLimit));
  if (least !== undefined && usual !== undefined && usual < least)
    note("defaultLimit", `Give at least the lowest limit, ${least.toLocaleString("en-US")}.`);
  note("warningPercent", problemOfPercent(form.warningPercent));
  const agents = form.agents.map(({ name }) => name);
  for (const { key, limit, name } of form.agents) {
    note(`agents.${key}.name`, problemOfName(name, agents));
    note(`agents.${key}.limit`, problemOfTokens(limit));
  }
  const types = form.llms.map(({ type }) => type);
  for (const { key, limit, type } of form.llms) {
    note(
      `llms.${key}.type`,
      problemOfName(type, types, (given) => given.toLowerCase()),
    );
    note(`llms.${key}.limit`, problemOfTokens(limit));
  }
  if (Object.keys(problems).length > 0) return { kind: "invalid", problems };
  const { progress, budget } = form;
  const agent = { context_budget: budget === "tokens" ? Number(form.budgetTokens) : budget };
  return { kind: "valid", progress, agent, limits: limitsOf(form) };
}

/** The limits in a form. Contract: the form has no problems. */
function limitsOf(form: SettingsForm): LimitSettings {
  return {
    min_limit: Number(form.minLimit),
    default_limit: Number(form.defaultLimit),
    warning_threshold: Math.round(Number(form.warningPercent) * 10) / 1000,
    per_agent: Object.fromEntries(
      form.agents.map(({ name, limit }) => [name.trim(), Number(limit)]),
    ),
    per_llm: form.llms.map(({ type, models, limit, followDefault }) => ({
      type: type.trim(),
      ...(models === undefined ? {} : { models }),
      limit: Number(limit),
      follow_default: followDefault,
    })),
  };
}

/**
 * The lowest limit, if the given limit is below it. The service then uses the lowest limit instead. The page says so next to the
 * field, and the form can still be saved.
 */
export function raisedTo(form: SettingsForm, limit: string): number | undefined {
  const [least, given] = [wholeOf(form.minLimit), wholeOf(limit)];
  return least !== undefined && given !== undefined && given < least ? least : undefined;
}

function wholeOf(text: string): number | undefined {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined;
}

function problemOfTokens(text: string): string | undefined {
  const tokens = wholeOf(text);
  return tokens === undefined || tokens < 1 || tokens > maxTokens
    ? "Give a whole number of tokens, from 1 to 100,000,000."
    : undefined;
}

function problemOfPercent(text: string): string | undefined {
  const percent = /^\d{1,3}(\.\d)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  return percent >= 0 && percent <= 100 ? undefined : "Give a share from 0 to 100 percent.";
}

/**
 * The problem of a name. Two names of models are the same if they differ only in upper and lower case. Two names of agents are
 * then different.
 */
function problemOfName(
  name: string,
  others: readonly string[],
  sameAs: (name: string) => string = (given) => given,
): string | undefined {
  const wanted = sameAs(name.trim());
  if (wanted === "") return "Give a name, or remove the row.";
  if (wanted.length > maxName) return `Give a name of at most ${maxName} characters.`;
  if (forbiddenNames.has(wanted)) return "Give another name. This one cannot be stored.";
  const isTwice = others.filter((other) => sameAs(other.trim()) === wanted).length > 1;
  return isTwice ? "This name appears twice. Remove one of the rows." : undefined;
}
