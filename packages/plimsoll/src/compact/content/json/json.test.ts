import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../../test/harness/effort.ts";
import { type CutOptions, compressContent } from "../content.ts";
import { cutJsonString } from "./cut-string.ts";

const count = (text: string): number => Math.ceil(text.length / 4);

function compressJson(text: string, options: Partial<CutOptions> = {}): string {
  return compressContent(text, { ratio: 0.4, count, ...options })?.text ?? text;
}

function users(many: number, change: (id: number) => object = () => ({})): readonly object[] {
  return Array.from({ length: many }, (_, id) => ({
    id,
    name: `user ${id}`,
    state: "ok",
    ...change(id),
  }));
}

test("a hundred thousand levels", () => {
  const text = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
  const shorter = compressJson(text);
  expect(shorter.length).toBeLessThan(text.length * 0.4);
  expect(() => JSON.parse(shorter)).not.toThrow();
});

describe("strings", () => {
  test("cut in the middle, between escapes", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", minLength: 80, maxLength: 300 }),
        fc.integer({ min: 1, max: 60 }),
        (value, limit) => {
          for (const raw of [JSON.stringify(value), escaped(value)]) {
            const cut = cutJsonString(raw, limit);
            expect(typeof JSON.parse(cut)).toBe("string");
            expect(cut.length).toBeLessThanOrEqual(raw.length);
          }
        },
      ),
      tries({ runs: 300, seed: 22 }),
    );
  });

  test("pairs of surrogates stay together, written or escaped", () => {
    for (const raw of [JSON.stringify("😀".repeat(100)), escaped("😀".repeat(100))])
      for (let limit = 1; limit < 60; limit++)
        expect(String(JSON.parse(cutJsonString(raw, limit))).isWellFormed()).toBe(true);
  });

  test("a short one stays", () => {
    expect(cutJsonString('"short"', 3)).toBe('"short"');
  });

  test("a text inside is compressed by its own kind", () => {
    const log = Array.from(
      { length: 60 },
      (_, index) => `2026-01-01 INFO did thing ${index}\n`,
    ).join("");
    const shorter = JSON.parse(
      compressJson(JSON.stringify({ exit: 0, output: `${log}2026-01-01 ERROR broke\n` })),
    );
    expect(shorter.exit).toBe(0);
    expect(shorter.output).toContain("more like this");
    expect(shorter.output).toContain("2026-01-01 ERROR broke\n");
  });
});

function escaped(value: string): string {
  const units = Array.from({ length: value.length }, (_, index) =>
    value.charCodeAt(index).toString(16).padStart(4, "0"),
  );
  return `"${units.map((unit) => `\\u${unit}`).join("")}"`;
}

describe("reduction", () => {
  test("white space goes first, and nothing else if that is enough", () => {
    const text = JSON.stringify({ a: [1, { b: "c" }], d: null }, null, 20);
    expect(compressJson(text, { ratio: 0.6 })).toBe('{"a":[1,{"b":"c"}],"d":null}');
  });

  test("similar objects become a table", () => {
    const { columns, rows } = JSON.parse(compressJson(JSON.stringify(users(20)), { ratio: 0.8 }));
    expect(columns).toEqual(["id", "name", "state"]);
    expect(rows[3]).toEqual([3, "user 3", "ok"]);
  });

  test("the first, the last, and what is unlike the others", () => {
    const odd = (id: number): object =>
      id === 33 ? { state: "failed: quota" } : id === 47 ? { id: 9_000_000 } : {};
    const { rows } = JSON.parse(compressJson(JSON.stringify(users(80, odd)), { ratio: 0.1 }));
    const names = rows.filter(Array.isArray).map((row: unknown[]) => row[1]);
    for (const name of ["user 0", "user 33", "user 47", "user 79"]) expect(names).toContain(name);
  });

  test("those left out are counted", () => {
    const { rows } = JSON.parse(compressJson(JSON.stringify(users(80)), { ratio: 0.1 }));
    const left = rows
      .filter((row: unknown) => typeof row === "string")
      .map((row: string) => Number(/\d+/.exec(row)?.[0]));
    const kept = rows.filter(Array.isArray).length;
    expect(kept + left.reduce((sum: number, number: number) => sum + number, 0)).toBe(80);
  });

  test("an object with another shape is kept", () => {
    const odd = (id: number): object => (id === 40 ? { extra: { deep: true } } : {});
    expect(compressJson(JSON.stringify(users(80, odd)), { ratio: 0.15 })).toContain('"deep":true');
  });

  test("a bad status is kept", () => {
    const calls = users(80, (id) => ({ status: id === 52 ? 503 : 200, parts: [id] }));
    expect(compressJson(JSON.stringify(calls), { ratio: 0.1 })).toContain("503");
  });

  test("what matters is kept, wherever it is", () => {
    const deep = { a: { b: { c: { d: { e: { f: { needle: "here" } } } } } }, filler: users(200) };
    const weigh = (line: string): number => (line.includes("needle") ? 1 : 0);
    expect(compressJson(JSON.stringify(deep), { ratio: 0.05, weigh })).toContain('"needle":"here"');
  });

  test("keys left out are counted and named", () => {
    const map = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`key${index}`, `value ${index}`]),
    );
    const shorter = JSON.parse(compressJson(JSON.stringify(map), { ratio: 0.2 }));
    const left = Number(/^\d+/.exec(shorter["…"])?.[0]);
    expect(left + Object.keys(shorter).length - 1).toBe(200);
  });

  test("large numbers, double keys and lone surrogates are written as they were", () => {
    const odd = '{"big":12345678901234567890,"twice":1,"twice":2,"lone":"\\ud800","tiny":1.10e-7}';
    const text = `{"odd":${odd},"filler":${JSON.stringify(users(100))}}`;
    expect(compressJson(text, { ratio: 0.3 })).toContain(odd);
  });

  test("lines of JSON stay lines of JSON", () => {
    const text = users(60)
      .map((user) => `${JSON.stringify(user)}\n`)
      .join("");
    const lines = compressJson(text, { ratio: 0.3 }).trimEnd().split("\n");
    expect(lines.length).toBeLessThan(40);
    expect(JSON.parse(lines[0] ?? "")).toEqual(users(1)[0]);
    for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
  });

  test("a mark of an earlier compression counts as what it stood for", () => {
    const once = compressJson(JSON.stringify(users(80, (id) => ({ parts: [id] }))), { ratio: 0.4 });
    const twice = JSON.parse(compressJson(once, { ratio: 0.3 }));
    const kept = twice.filter((row: unknown) => typeof row === "object").length;
    const left = twice
      .filter((row: unknown) => typeof row === "string")
      .reduce((sum: number, row: string) => sum + Number(/\d+/.exec(row)?.[0]), 0);
    expect(kept + left).toBe(80);
  });

  test("JSON that is cut off is cut by lines", () => {
    const text = JSON.stringify(users(60), null, 2).slice(0, -40);
    const shorter = compressContent(text, { ratio: 0.4, count });
    expect(shorter?.text).toContain("lines …");
  });

  test("valid JSON stays valid JSON", () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: "medium" },
        fc.jsonValue(),
        fc.array(tie("any"), { maxLength: 12 }),
        fc.dictionary(fc.string({ unit: "binary", maxLength: 12 }), tie("any"), { maxKeys: 12 }),
        fc.string({ unit: "binary", maxLength: 200 }),
      ),
    }));
    fc.assert(
      fc.property(
        value.any,
        fc.double({ min: 0.05, max: 1, noNaN: true }),
        fc.constantFrom(0, 2),
        (any, ratio, indent) => {
          const text = JSON.stringify([any, any], null, indent);
          const shorter = compressJson(text, { ratio });
          expect(() => JSON.parse(shorter)).not.toThrow();
          expect(shorter.length).toBeLessThanOrEqual(text.length);
        },
      ),
      tries({ runs: 300, seed: 23 }),
    );
  });
});
