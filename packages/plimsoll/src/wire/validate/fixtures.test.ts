import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../message/json.ts";
import type { RuleInput, ValidatedWire } from "./rules/rule.ts";
import { newViolations, rules, validate } from "./validate.ts";

const folder = new URL("../../../test/wire-fixtures/", import.meta.url);
const wires: readonly ValidatedWire[] = ["anthropic", "openai-chat", "openai-responses", "gemini"];

interface Step {
  readonly path: string;
  readonly item?: unknown;
  readonly items?: readonly unknown[];
  readonly times: number;
}
interface Row extends RuleInput {
  readonly id: string;
  readonly rule?: string;
  readonly alsoBreaks?: readonly string[];
  readonly note: string;
  readonly bodyRaw?: string;
  readonly originalRaw?: string;
  readonly previousSentRaw?: string;
  readonly recipe?: readonly Step[];
}

function rowsOf(file: string): readonly Row[] {
  const text = readFileSync(new URL(file, folder), "utf8");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Row]));
}

/** Does the same as expand() in check.mjs. */
function expand(row: Row): JsonObject {
  const body = structuredClone(row.body);
  for (const step of row.recipe ?? []) {
    let target: unknown = body;
    for (const key of step.path.split("/").slice(1))
      target = (target as Record<string, unknown>)[key];
    for (let copy = 0; copy < step.times; copy += 1)
      for (const item of step.items ?? [step.item])
        (target as unknown[]).push(
          // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the placeholder of recipes
          JSON.parse(JSON.stringify(item).replaceAll("${i}", String(copy))),
        );
  }
  return body;
}

function judgedOf(row: Row): RuleInput {
  const { bodyRaw, originalRaw, previousSentRaw, ...given } = row;
  return {
    ...given,
    body: bodyRaw === undefined ? expand(row) : JSON.parse(bodyRaw),
    ...(bodyRaw !== undefined && { bodyText: bodyRaw }),
    ...(originalRaw !== undefined && {
      original: JSON.parse(originalRaw),
      originalText: originalRaw,
    }),
    ...(previousSentRaw !== undefined && {
      previousSent: JSON.parse(previousSentRaw),
      previousSentText: previousSentRaw,
    }),
  };
}

describe.each(wires)("recorded bodies of %s", (wire) => {
  for (const row of rowsOf(`${wire}/invalid.ndjson`))
    it(`${row.id} breaks ${row.rule}: ${row.note}`, () => {
      const found = new Set(validate(judgedOf(row)).map((finding) => finding.rule));
      expect(found).toContain(row.rule);
      const allowed = [row.rule, ...(row.alsoBreaks ?? [])];
      expect([...found].filter((rule) => !allowed.includes(rule))).toEqual([]);
    });

  for (const row of rowsOf(`${wire}/valid.ndjson`))
    it(`${row.id} breaks nothing: ${row.note}`, () => {
      expect(validate(judgedOf(row))).toEqual([]);
    });
});

describe("edits are judged, not clients", () => {
  const bodies = wires.flatMap((wire) => rowsOf(`${wire}/invalid.ndjson`)).map(judgedOf);

  it("passes every broken body that the client sent itself", () => {
    for (const { body, bodyText, ...given } of bodies) {
      const { previousSent, previousSentText, originalHeaders, ...client } = given;
      const text = bodyText === undefined ? {} : { bodyText, originalText: bodyText };
      expect(newViolations({ ...client, body, original: body, ...text })).toEqual([]);
    }
  });

  it("reports what an edit breaks beside what the client broke", () => {
    const user = { role: "user", content: "read" };
    const call = { type: "tool_use", id: "toolu_1", name: "f", input: {} };
    const result = { type: "tool_result", tool_use_id: "toolu_1", content: "ok" };
    const answer = { role: "assistant", content: [call] };
    const original = { messages: [user, user, answer, { role: "user", content: [result] }] };
    const body = { messages: [user, user, answer, { role: "user", content: "gone" }] };
    const found = newViolations({ wire: "anthropic", body, original });
    expect(found.map((finding) => finding.rule)).toEqual(["A3"]);
  });
});

describe("the table of rules", () => {
  it("holds every rule that can be checked, and no other", () => {
    const text = readFileSync(new URL("rules.json", folder), "utf8");
    const known = JSON.parse(text) as readonly { id: string; checkable: boolean }[];
    const checkable = known.filter((rule) => rule.checkable).map((rule) => rule.id);
    expect(Object.keys(rules).sort()).toEqual(checkable.sort());
  });
});
