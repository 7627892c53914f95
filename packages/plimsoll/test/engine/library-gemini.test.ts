/** The library with Google's own SDK: a conversation beyond the window, with tools, against the strict upstream. */

import { type GenerateContentParameters, GoogleGenAI } from "@google/genai";
import { afterEach, expect, test } from "vitest";
import { openPlimsoll } from "../../src/index.ts";
import { call, reply, text } from "../harness/answer.ts";
import { startUpstream, type Upstream } from "../harness/upstream.ts";

const MODEL = "gemini-3-pro-preview";
const WINDOW = 8_000;
const TOOL = {
  name: "read_log",
  description: "Reads a log.",
  parameters: { type: "object", properties: { number: { type: "integer" } } },
};

/** The arguments of Google's SDK, which are not those of its API. */
function argumentsOf(request: unknown): GenerateContentParameters {
  const { model, contents, generationConfig, ...rest } = request as GenerateContentParameters & {
    generationConfig: object;
  };
  return { model, contents, config: { ...(rest as object), ...generationConfig } };
}

let upstream: Upstream | undefined;
afterEach(() => upstream?.close());

test("a conversation beyond the window goes on, signed and valid, and what left it can be recalled", async () => {
  let calls = 0;
  upstream = await startUpstream({
    window: { tokens: WINDOW },
    script: () =>
      calls < 12
        ? reply(call(`c${++calls}`, TOOL.name, { number: calls }))
        : reply(text("All twelve are read.")),
  });
  const ai = new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: upstream.url } });
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: { providers: { gemini: { models: { [MODEL]: { contextWindow: WINDOW } } } } },
  });
  const session = await plimsoll.session({ agent: "reader" });
  await session.append({ role: "user", content: "Read the logs." });
  const kinds = new Set<string>();
  let said = "";
  for (let turns = 0; turns < 30 && said === ""; turns++) {
    const turn = await session.prepare({
      target: `gemini/${MODEL}`,
      tools: [TOOL],
      maxOutputTokens: 500,
    });
    kinds.add(turn.outcome.kind);
    const answer = await ai.models.generateContent(argumentsOf(turn.request));
    await session.commit(answer);
    for (const asked of turn.toolCalls(answer)) {
      const line = (at: number): string =>
        `${asked.input} line ${at}: crate ${at * 7919} is stowed`;
      const output = Array.from({ length: 40 }, (_, at) => line(at)).join("\n");
      await session.append(session.toolBudget.reserve(asked, output).message);
    }
    if (turn.toolCalls(answer).length === 0) said = answer.text ?? "";
  }
  expect(said).toBe("All twelve are read.");
  expect(kinds).toContain("compacted");
  expect(upstream.refusals).toEqual({ overflow: 0, invalid: [] });
  const found = await session.answer({
    kind: "tool-call",
    id: "own",
    name: "recall",
    input: JSON.stringify({ query: "log 1 crate 7919 stowed" }),
  });
  expect(found?.text).toContain("crate 7919 is stowed");
  await plimsoll.close();
});
