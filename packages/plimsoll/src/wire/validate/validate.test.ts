import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../message/json.ts";
import { newViolations, type RuleInput, validate } from "./validate.ts";

const brokenRules = (input: RuleInput) => validate(input).map((finding) => finding.rule);
const user = (content: string): JsonObject => ({ role: "user", content });
const assistant = (content: string): JsonObject => ({ role: "assistant", content });

describe("models that no table names", () => {
  it("are not judged", () => {
    const body = {
      model: "claude-next-9",
      thinking: { type: "enabled", budget_tokens: 1 },
      temperature: 0.3,
      messages: [user("x"), { role: "system", content: "y" }, assistant("prefill")],
    };
    expect(brokenRules({ wire: "anthropic", body })).toEqual([]);
    const dated = { ...body, model: "claude-sonnet-4-5-20250929" };
    expect(brokenRules({ wire: "anthropic", body: dated })).toEqual(["A19", "A12"]);
  });
});

describe("a new edit", () => {
  const original = { messages: [user("a"), assistant("b"), user("c"), assistant("d"), user("e")] };
  const previousSent = { messages: original.messages.slice(0, 3) };
  const body = { messages: [user("a"), assistant("[stored]"), ...original.messages.slice(2)] };
  const input: RuleInput = {
    wire: "anthropic",
    body,
    original,
    previousOriginal: previousSent,
    previousSent,
  };

  it("breaks the prefix from the message on that it touches, and not before", () => {
    expect(brokenRules(input)).toEqual(["X1"]);
    expect(brokenRules({ ...input, editedFrom: 1 })).toEqual([]);
    expect(brokenRules({ ...input, editedFrom: 2 })).toEqual(["X1"]);
  });

  it("may change the tools when it says so", () => {
    const tools = [{ name: "f" }];
    const withTools = { ...input, body: { ...original, tools: [...tools, { name: "own" }] } };
    const client = {
      original: { ...original, tools },
      previousOriginal: { ...previousSent, tools },
    };
    const given = { ...withTools, ...client, previousSent: { ...previousSent, tools } };
    expect(brokenRules(given)).toEqual(["X1"]);
    expect(brokenRules({ ...given, editedFrom: -1 })).toEqual([]);
  });

  it("that removed messages holds for the next request too", () => {
    const sent = { messages: [user("[summary] a"), assistant("d"), user("e")] };
    const next = { messages: [...original.messages, assistant("f"), user("g")] };
    const turn = {
      wire: "anthropic",
      original: next,
      previousOriginal: original,
      previousSent: sent,
    } as const;
    const kept = { messages: [...sent.messages, assistant("f"), user("g")] };
    const back = { messages: [user("[summary] b"), ...kept.messages.slice(1)] };
    expect(brokenRules({ ...turn, body: kept })).toEqual([]);
    expect(brokenRules({ ...turn, body: back })).toEqual(["X2"]);
  });
});

describe("the last message of the user", () => {
  it("is missed even when the user said the same before", () => {
    const original = {
      messages: [user("go on"), assistant("a"), user("stop"), assistant("b"), user("go on")],
    };
    const lost = { messages: original.messages.slice(0, 4) };
    const noted = { messages: [...original.messages, assistant("c"), user("[note]")] };
    expect(brokenRules({ wire: "openai-chat", body: lost, original })).toEqual(["X5"]);
    expect(brokenRules({ wire: "openai-chat", body: noted, original })).toEqual([]);
  });
});

describe("arguments of a call", () => {
  const exchanges = (first: JsonObject, count: number) =>
    Array.from({ length: count }, (_, index) => {
      const id = `call_${index}`;
      const text = JSON.stringify(index === 0 ? first : {});
      const call = { id, type: "function", function: { name: "write", arguments: text } };
      return [
        { role: "assistant", tool_calls: [call] },
        { role: "tool", tool_call_id: id, content: "ok" },
      ];
    }).flat();
  const judge = (before: JsonObject, after: JsonObject, count: number, editedCalls?: string[]) =>
    newViolations({
      wire: "openai-chat",
      original: { messages: [user("x"), ...exchanges(before, count)] },
      body: { messages: [user("x"), ...exchanges(after, count)] },
      ...(editedCalls && { editedCalls }),
    }).map((finding) => finding.rule);
  const long = { path: "a", text: "y".repeat(2001) };
  const short = { path: "a", text: `${"y".repeat(40)} [Plimsoll: a part is not shown here.]` };

  it("may be shortened, but keep their beginning", () => {
    expect(judge(long, short, 11)).toEqual([]);
    const without = { ...short, text: short.text.replace("y", "") };
    expect(judge(long, without, 11)).toEqual(["C5"]);
  });

  it("of an older version may have lost their beginning", () => {
    expect(judge(long, { ...short, text: "… 3 lines #7" }, 11)).toEqual([]);
  });

  it("may be shortened only where an edit names the call", () => {
    expect(judge(long, short, 11, ["call_0"])).toEqual([]);
    expect(judge(long, short, 11, ["call_5"])).toEqual(["C5"]);
  });

  it("lose nothing but the middle of long strings, and say so", () => {
    expect(judge(long, { ...short, path: "b" }, 11)).toEqual(["C5"]);
    expect(judge(long, { path: "a" }, 11)).toEqual(["C5"]);
    expect(judge(long, { path: "a", text: "yyy" }, 11)).toEqual(["C5"]);
    const kept = { text: "y".repeat(200) };
    expect(judge(kept, { text: "y [left out]" }, 11)).toEqual(["C5"]);
    expect(judge(kept, { text: short.text }, 11)).toEqual(["C5"]);
    expect(judge({ text: "y".repeat(201) }, { text: short.text }, 11)).toEqual([]);
    const longer = { ...short, text: `${short.text}${"y".repeat(2001)}` };
    expect(judge(long, longer, 11)).toEqual(["C5"]);
    expect(judge(long, { ...short, mode: "append" }, 11)).toEqual(["C5"]);
  });

  it("may be shortened in lists and inner objects, which keep all their items", () => {
    const before = { edits: [{ text: long.text }, 7] };
    expect(judge(before, { edits: [{ text: short.text }, 7] }, 11)).toEqual([]);
    expect(judge(before, { edits: [{ text: short.text }] }, 11)).toEqual(["C5"]);
    expect(judge(before, { edits: [{ text: short.text }, 8] }, 11)).toEqual(["C5"]);
    expect(judge(before, { edits: [short.text, 7] }, 11)).toEqual(["C5"]);
  });
});

describe("exact texts", () => {
  it("are compared without cache marks, whatever their place and spacing", () => {
    const previousSentText = `{"messages":[{"role":"user","content":[{"cache_control": {"type":"ephemeral"}, "type":"text","text":"{,\\"a\\"]"}]}]}`;
    const bodyText = `{"messages":[ {"role":"user","content":[{"type":"text","text":"{,\\"a\\"]"}]} , {"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`;
    const input: RuleInput = {
      wire: "anthropic",
      body: JSON.parse(bodyText),
      bodyText,
      original: JSON.parse(bodyText),
      originalText: bodyText,
      previousSent: JSON.parse(previousSentText),
      previousSentText,
    };
    expect(brokenRules(input)).toEqual([]);
  });
});

describe("equal parts", () => {
  const done = { type: "text", text: "Done." };
  const cited = { ...done, citations: [{ cited_text: "x" }] };
  const turn = (block: JsonObject) => [user("x"), { role: "assistant", content: [block] }];
  const judge = (before: readonly JsonObject[], after: readonly JsonObject[]) =>
    brokenRules({
      wire: "anthropic",
      original: { messages: [...before, user("last")] },
      body: { messages: [...after, user("last")] },
    });

  it("are told apart by their order while all are there", () => {
    const both = [...turn(done), ...turn(cited)];
    expect(judge(both, both)).toEqual([]);
    expect(judge(both, [...turn(done), ...turn(done)])).toEqual(["X6"]);
  });

  it("are not judged when one of them was removed", () => {
    expect(judge([...turn(done), ...turn(cited)], turn(done))).toEqual([]);
    expect(judge([...turn(cited), ...turn(done)], turn(done))).toEqual([]);
  });

  it("of two steps do not mix up their thinking", () => {
    const step = (id: string) => {
      const thought = { type: "thinking", thinking: id, signature: id };
      const call = { type: "tool_use", id, name: "f", input: {} };
      return [
        { role: "assistant", content: [thought, { type: "text", text: "Reading." }, call] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "ok" }] },
      ];
    };
    const original = { messages: [user("x"), ...step("a"), ...step("b"), ...step("c")] };
    const body = { messages: [user("x"), ...step("b"), ...step("c")] };
    expect(brokenRules({ wire: "anthropic", body: original, original })).toEqual([]);
    expect(brokenRules({ wire: "anthropic", body, original })).toEqual([]);
  });
});

describe("fields of an answer", () => {
  it("stay when its text is replaced", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
    const answer = { role: "tool", tool_call_id: "c", content: "long", x_cost: 1 };
    const start = [user("x"), { role: "assistant", tool_calls: [call] }];
    const original = { messages: [...start, answer] };
    const body = { messages: [...start, { ...answer, content: "[stored]" }] };
    const lost = { messages: [...start, { role: "tool", tool_call_id: "c", content: "[stored]" }] };
    expect(brokenRules({ wire: "openai-chat", body, original })).toEqual([]);
    expect(brokenRules({ wire: "openai-chat", body: lost, original })).toEqual(["X6"]);
  });
});

describe("foreign JSON", () => {
  it("is judged without throwing", () => {
    for (const wire of ["anthropic", "openai-chat", "openai-responses", "gemini"] as const)
      for (const list of [
        null,
        7,
        "text",
        [null, 1, "a", [], {}],
        [{ role: 1, content: { a: 1 }, parts: 3 }],
      ]) {
        const body = { messages: list, input: list, contents: list, tools: list, system: list };
        expect(() =>
          newViolations({ wire, body, original: body, previousSent: body }),
        ).not.toThrow();
        expect(newViolations({ wire, body, original: body, previousSent: body })).toEqual([]);
      }
  });
});
