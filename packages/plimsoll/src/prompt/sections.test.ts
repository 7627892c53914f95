import { expect, test } from "vitest";
import { buildPrompt, type PromptSection } from "./sections.ts";

const all: readonly PromptSection[] = [
  { name: "status", content: "42 % full" },
  { name: "skills", content: "cook" },
  { name: "base", content: "You are an agent." },
  { name: "scratchpad", content: "try again" },
  { name: "memories", content: "likes tea" },
  { name: "rules", content: "be kind" },
];

test("sections stand from what never changes to what changes, whatever order they come in", () => {
  const built = buildPrompt(all);
  expect(built.system.map(({ name }) => name)).toEqual(["base", "rules", "memories", "skills"]);
  expect(built.tail).toBe("try again\n\n42 % full");
  expect(buildPrompt(all.toReversed())).toEqual({ ...built, tail: "try again\n\n42 % full" });
});

test("the first three end where a cache mark belongs", () => {
  const { system } = buildPrompt(all);
  expect(system.filter(({ isBreakpoint }) => isBreakpoint).map(({ name }) => name)).toEqual([
    "base",
    "rules",
    "memories",
  ]);
});

test("Order 5 and 6: with sections: in_system, what changes is in the prompt too, after everything else", () => {
  const { system, tail } = buildPrompt(all, { sections: "in_system" });
  expect(tail).toBe("");
  expect(system.map(({ name }) => name)).toEqual([
    "base",
    "rules",
    "memories",
    "skills",
    "scratchpad",
    "status",
  ]);
  expect(system.filter(({ isBreakpoint }) => isBreakpoint).length).toBe(3);
});

test("what changes does not touch what stands before the conversation", () => {
  const later = all.map((section) =>
    section.name === "status" ? { ...section, content: "80 % full" } : section,
  );
  expect(buildPrompt(later).system).toEqual(buildPrompt(all).system);
});

test("whoever knows better says so", () => {
  const built = buildPrompt([
    { name: "skills", content: "changes often", cacheable: false },
    { name: "status", content: "never changes", cacheable: true },
    { name: "base", content: " " },
    { name: "rules", content: "one" },
    { name: "rules", content: "two" },
  ]);
  expect(built.system.map(({ text }) => text)).toEqual(["one\n\ntwo", "never changes"]);
  expect(built.tail).toBe("changes often");
});

test("an unknown section is named, with those that there are", () => {
  const wrong = [{ name: "memory", content: "x" } as unknown as PromptSection];
  expect(() => buildPrompt(wrong)).toThrow(
    'There is no section "memory". Use one of: base, rules, memories, skills, scratchpad, status.',
  );
});
