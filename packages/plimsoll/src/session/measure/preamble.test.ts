import { expect, test } from "vitest";
import { wires } from "../../wire/wires.ts";
import { bodyWithHead } from "./preamble.ts";

const tools = [{ name: "read" }];
const spoken = { model: "m", messages: [{ role: "user", content: "Hello." }] };
const stored = new TextEncoder().encode(JSON.stringify({ system: "Be brief.", tools }));

test.each([
  ["anthropic", { system: "Be brief.", tools }, []],
  ["openai-responses", { instructions: "Be brief.", tools }, []],
  ["openai-chat", { tools }, [{ role: "system", content: "Be brief." }]],
] as const)(
  "a stored head goes back to where a body of its wire has it: %s",
  (wire, fields, leadingMessages) => {
    const { messages } = wires[wire].fields;
    expect(bodyWithHead(wires[wire], stored, spoken)).toEqual({
      ...fields,
      model: "m",
      [messages]: [...leadingMessages, ...spoken.messages],
    });
  },
);

test("a turn without a head brings nothing", () => {
  for (const wire of Object.values(wires))
    expect(bodyWithHead(wire, undefined, spoken)).toEqual({
      model: "m",
      [wire.fields.messages]: spoken.messages,
    });
});
