/** `plimsoll simulate`: what it prints can be compacted at once, and wrong options get one sentence. */

import { afterEach, describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../message/json.ts";
import { bodyOfMessages, wireOfBody } from "../../wire/detect.ts";
import { wireNames } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";
import { runSimulate, type SimulateFlags } from "./simulate.ts";

afterEach(() => vi.restoreAllMocks());

function printed(flags: Partial<SimulateFlags>): JsonObject {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  runSimulate({ tokens: 3_000, seed: 1, ...flags });
  return JSON.parse(String(log.mock.lastCall?.[0])) as JsonObject;
}

describe("plimsoll simulate", () => {
  test.each(wireNames)("--format %s is a request of that format", (format) => {
    const body = printed({ format });
    const { fields } = wires[format];
    const messages = body[fields.messages];
    expect(Array.isArray(messages) && messages.length > 5).toBe(true);
    expect(wireOfBody(bodyOfMessages(messages as JsonObject[]))).toBe(format);
  });

  test("the same seed gives the same conversation, and another seed another one", () => {
    const one = printed({ seed: 7 });
    expect(printed({ seed: 7 })).toEqual(one);
    expect(printed({ seed: 8 })).not.toEqual(one);
  });

  test("--json has the units with types and priorities, and the areas that give them these", () => {
    const { units, priority_areas: areas } = printed({ json: true, p1Share: 1, tokens: 9_000 });
    expect(areas).toMatchObject([{ name: "To Do List", priority: 1 }, {}]);
    const middle = (units as { readonly priority: number; readonly type: string }[]).slice(1, -2);
    expect(middle.every(({ priority }) => priority === 1)).toBe(true);
    expect(new Set(middle.map(({ type }) => type)).size).toBeGreaterThan(2);
  });

  test.each<[Partial<SimulateFlags>, string]>([
    [{ format: "gopher" }, 'There is no format "gopher".'],
    [{ tokens: 5 }, "`tokens` must be a whole number"],
    [{ type: ["poem"] }, "`types` must be message, code"],
    [{ shape: "round" }, "`shape` must be mixed"],
  ])("%j: one sentence", (flags, sentence) => {
    expect(() => printed(flags)).toThrow(sentence);
  });
});
