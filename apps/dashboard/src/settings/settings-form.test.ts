import { expect, test } from "vitest";
import { checkForm, formOf, isSame, newKey, raisedTo, type SettingsForm } from "./settings-form.ts";

const given = {
  progress: {
    show: true,
    detail: "normal",
    auto_hide_seconds: 3,
    highlight_p1: true,
  },
  agent: { context_budget: 90_000 },
  limits: {
    min_limit: 3500,
    default_limit: 5000,
    warning_threshold: 0.825,
    per_agent: { coder: 60_000, writer: 3000 },
    per_llm: [
      { type: "ollama", limit: 8000, follow_default: true },
      { type: "openai/gpt-5", limit: 120_000, follow_default: false },
    ],
  },
} as const;
const form: SettingsForm = formOf(given);

const problemsOf = (changed: Partial<SettingsForm>): readonly string[] => {
  const checked = checkForm({ ...form, ...changed });
  return checked.kind === "invalid" ? Object.keys(checked.problems) : [];
};

test("what was read is saved as it was when nobody changed it", () => {
  expect(checkForm(form)).toEqual({ kind: "valid", ...given });
});

test("figures must be whole and in their bounds", () => {
  for (const wrong of ["", "x", "-1", "1.5", "0", "1e3", "100000001", "9".repeat(12)])
    expect(problemsOf({ minLimit: wrong })).toContain("minLimit");
  for (const wrong of ["", "-1", "100.5", "8o", "1000"])
    expect(problemsOf({ warningPercent: wrong })).toEqual(["warningPercent"]);
  expect(problemsOf({ minLimit: " 3500 ", warningPercent: "0" })).toEqual([]);
});

test("a budget is a number only if somebody chooses one", () => {
  for (const budget of ["auto", "window"] as const) {
    expect(formOf({ ...given, agent: { context_budget: budget } }).budget).toBe(budget);
    const checked = checkForm({ ...form, budget, budgetTokens: "not a number" });
    expect(checked).toMatchObject({ kind: "valid", agent: { context_budget: budget } });
  }
  expect(problemsOf({ budget: "tokens", budgetTokens: "many" })).toEqual(["budgetTokens"]);
});

test("the default must not be below the lowest limit", () => {
  expect(problemsOf({ defaultLimit: "3499" })).toEqual(["defaultLimit"]);
  expect(problemsOf({ defaultLimit: "3500" })).toEqual([]);
});

test("rows need a name that no other row has; kinds of models in whatever case", () => {
  const agents = (...names: readonly string[]): Partial<SettingsForm> => ({
    agents: names.map((name, index) => ({ key: `a${index}`, name, limit: "4000" })),
  });
  expect(problemsOf(agents("coder", " "))).toEqual(["agents.a1.name"]);
  expect(problemsOf(agents("coder", "coder "))).toEqual(["agents.a0.name", "agents.a1.name"]);
  expect(problemsOf(agents("coder", "Coder"))).toEqual([]);
  expect(problemsOf(agents("__proto__", "x".repeat(201)))).toHaveLength(2);
  const llms = ["Ollama", "ollama"].map((type, index) => ({
    key: `l${index}`,
    type,
    limit: "4000",
    followDefault: false,
  }));
  expect(problemsOf({ llms })).toEqual(["llms.l0.type", "llms.l1.type"]);
});

test("a limit below the lowest is raised: said, and saved", () => {
  expect(raisedTo(form, "3000")).toBe(3500);
  expect(raisedTo(form, "3500")).toBeUndefined();
  expect(raisedTo(form, "x")).toBeUndefined();
});

test("a row that was added and removed again is no change", () => {
  const added = { key: newKey(form.agents), name: "new", limit: "1" };
  const more = { ...form, agents: [...form.agents, added] };
  expect(isSame(form, more)).toBe(false);
  expect(isSame(form, { ...more, agents: more.agents.slice(0, 2) })).toBe(true);
  expect(isSame(form, { ...form, agents: form.agents.map((row) => ({ ...row, key: "z" })) })).toBe(
    true,
  );
});

test("keys of rows are never the same twice", () => {
  let rows: readonly { readonly key: string }[] = form.agents;
  for (let count = 0; count < 5; count++) rows = [...rows, { key: newKey(rows) }];
  expect(new Set(rows.map(({ key }) => key)).size).toBe(7);
});
