import { describe, expect, it } from "vitest";
import type { Message } from "../message/message.ts";
import { findModel } from "./catalogue.ts";
import { addCounts, countables, measurement, schemaTokens, toolText } from "./measure.ts";
import type { Count } from "./tokenizer.ts";

const rule = findModel("anthropic", "claude-3-opus").media;
const exact = (tokens: number): Count => ({ tokens, certainty: "exact" });
const estimate = (tokens: number): Count => ({ tokens, certainty: "estimate" });
const bound = (tokens: number): Count => ({ tokens, certainty: "bound" });
const bytes = "A".repeat(100_000);

describe("what of a message is counted", () => {
  it("is every text in it, and media by their rule", () => {
    const message: Message = {
      role: "assistant",
      parts: [
        { kind: "text", text: "hello" },
        { kind: "reasoning", text: "thinking", signature: "c2ln" },
        { kind: "tool-call", id: "call_1", name: "read_file", input: '{"path":"/a"}' },
        {
          kind: "tool-result",
          callId: "call_1",
          isError: false,
          content: [
            { kind: "text", text: "result" },
            { kind: "image", media: { kind: "base64", mediaType: "image/png", data: bytes } },
          ],
        },
        { kind: "document", media: { kind: "base64", mediaType: "application/pdf", data: bytes } },
        { kind: "opaque", type: "citation", json: { type: "citation", text: "x" } },
      ],
    };
    expect(countables(message, rule)).toEqual({
      texts: [
        "hello",
        "thinking",
        "read_file",
        '{"path":"/a"}',
        "result",
        '{"type":"citation","text":"x"}',
      ],
      media: estimate(1_600 + 3 * rule.pageTokens),
      overheadTokens: 4,
    });
  });

  it("is the text of a document that is text", () => {
    const data = Buffer.from("naïve 中文").toString("base64");
    const document = {
      kind: "document",
      media: { kind: "base64", mediaType: "text/plain", data },
    } as const;
    const { texts, media } = countables({ role: "user", parts: [document] }, rule);
    expect(texts).toEqual(["naïve 中文"]);
    expect(media.tokens).toBe(0);
  });

  it("of an empty message is its overhead", () => {
    expect(countables({ role: "user", parts: [] }, rule)).toEqual({
      texts: [],
      media: exact(0),
      overheadTokens: 4,
    });
  });
});

describe("a sum of counts", () => {
  it("is as certain as its weakest part", () => {
    expect(addCounts([])).toEqual(exact(0));
    expect(addCounts([exact(1), exact(2)])).toEqual(exact(3));
    expect(addCounts([exact(1), bound(2)])).toEqual(bound(3));
    expect(addCounts([bound(1), exact(2)])).toEqual(bound(3));
    expect(addCounts([estimate(1), bound(2)])).toEqual(estimate(3));
    expect(addCounts([bound(1), estimate(2), exact(3)])).toEqual(estimate(6));
  });

  it("makes a measurement by component", () => {
    const components = {
      system: exact(10),
      skills: exact(0),
      tools: estimate(20),
      conversation: bound(30),
    };
    expect(measurement(components)).toEqual({
      system: 10,
      skills: 0,
      tools: 20,
      conversation: 30,
      total: 60,
      certainty: "estimate",
      components,
    });
  });
});

describe("tool schemas", () => {
  it("are scaled × 2.09 if the configuration says so, whatever the tokenizer, and are never more than an estimate", () => {
    expect(schemaTokens(estimate(100), 2.09)).toEqual(estimate(209));
    expect(schemaTokens(exact(100), 2.09)).toEqual(estimate(209));
    expect(schemaTokens(bound(100), 2.09)).toEqual(estimate(209));
    expect(schemaTokens(exact(0), 2.09)).toEqual(exact(0));
  });

  it("are counted with their name, description and parameters", () => {
    const text = toolText({
      name: "grep",
      description: "Search.",
      parameters: { type: "object" },
      source: "mcp",
    });
    expect(JSON.parse(text)).toEqual({
      name: "grep",
      description: "Search.",
      parameters: { type: "object" },
    });
  });
});
