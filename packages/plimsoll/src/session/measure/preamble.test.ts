import { expect, test } from "vitest";
import { wires } from "../../wire/wires.ts";
import { preambleInBody } from "./preamble.ts";

const tools = [{ name: "read" }];
const stored = new TextEncoder().encode(JSON.stringify({ system: "Be brief.", tools }));

test.each([
  ["anthropic", { system: "Be brief.", tools }, []],
  ["openai-responses", { instructions: "Be brief.", tools }, []],
  ["openai-chat", { tools }, [{ role: "system", content: "Be brief." }]],
] as const)(
  "a stored head goes back to where a body of its wire has it: %s",
  (wire, fields, leadingMessages) => {
    expect(preambleInBody(wires[wire], stored)).toEqual({ fields, leadingMessages });
  },
);

test("a turn without a head brings nothing", () => {
  for (const wire of Object.values(wires))
    expect(preambleInBody(wire, undefined)).toEqual({ fields: {}, leadingMessages: [] });
});
