/** Limits of all kinds, and what becomes of requests that reach them: a clear verdict, never an exception. */

import { describe, expect, test } from "vitest";
import {
  answered,
  called,
  limitIn,
  requestOf,
  result,
  said,
  tokensOfText,
  tool,
  withSystem,
} from "../../test/generate/bodies.ts";
import { requestsOf, WIRES } from "../../test/generate/conversations.ts";
import {
  BUFFER_TOKENS,
  MODELS,
  openWith,
  type Passed,
  pass,
  passAll,
  providerOf,
  receive,
  roomyModel,
  violationsOf,
  type Wishes,
} from "../../test/generate/rehearsal.ts";
import { plainScript } from "../../test/generate/script.ts";
import { MAX_OUTPUT_TOKENS } from "../../test/generate/writer.ts";
import type { JsonObject, Wire } from "../../test/harness/json.ts";
import { handlesIn, messageTexts } from "../../test/harness/kept.ts";
import { truncate } from "../compact/strategies/truncate.ts";
import type { Config } from "../config/schema.ts";
import { type Engine, type EngineOptions, openEngine } from "../engine.ts";
import { recognizeOverflow } from "../wire/overflow.ts";
import { newViolations } from "../wire/validate/validate.ts";
import { wires } from "../wire/wires.ts";
import type { Debug } from "./fit/debug.ts";

const LIMIT = 1500;
const WINDOW = LIMIT + BUFFER_TOKENS + MAX_OUTPUT_TOKENS;

function opened(about: (plimsoll: Engine) => Promise<void>, config: Config = {}): Promise<void> {
  return openedWith({ config }, about);
}

async function openedWith(
  options: EngineOptions,
  about: (plimsoll: Engine) => Promise<void>,
): Promise<void> {
  const plimsoll = await openWith(LIMIT, options);
  try {
    await about(plimsoll);
  } finally {
    await plimsoll.close();
  }
}

const bodyOf = ({ sentText }: Passed): JsonObject => JSON.parse(sentText) as JsonObject;
const calling = (mode: string): JsonObject => ({ toolConfig: { functionCallingConfig: { mode } } });
/** How a request forces the model to call a tool, and how it forbids it. */
const choices: Readonly<Record<Wire, { readonly forced: JsonObject; readonly none: JsonObject }>> =
  {
    anthropic: {
      forced: { tool_choice: { type: "any" } },
      none: { tool_choice: { type: "none" } },
    },
    "openai-chat": { forced: { tool_choice: "required" }, none: { tool_choice: "none" } },
    "openai-responses": { forced: { tool_choice: "required" }, none: { tool_choice: "none" } },
    gemini: { forced: calling("ANY"), none: calling("NONE") },
  };

const lastMessage = ({ wire, sentText }: Passed): string =>
  messageTexts(wire, sentText).at(-1) ?? "";

/** In the provider's own words, so that a client knows what to do. */
function expectRefused({ wire, turn }: Passed, windowTokens = WINDOW): void {
  expect(turn.fitted.outcome).toBe("refused");
  const { needTokens = 0, limitTokens = -1 } = turn.fitted.refusal ?? {};
  expect(limitTokens).toBe(windowTokens);
  expect(needTokens).toBeGreaterThan(limitTokens);
  const body = wires[wire].errors.tooLong(needTokens, limitTokens);
  expect(recognizeOverflow({ status: 400, body })).toMatchObject({ kind: "input", needTokens });
}

describe.each(WIRES)("%s: what cannot fit", (wire) => {
  test("a system prompt larger than the window is refused, and a shorter one goes", () =>
    opened(async (plimsoll) => {
      const prompt = (tokens: number) => {
        const { messages, head } = withSystem(wire, tokensOfText(tokens), [said("hi")]);
        return requestOf(wire, messages, head);
      };
      const refused = await pass(plimsoll, wire, prompt(WINDOW));
      expectRefused(refused);
      expect(
        await plimsoll.store.errors({ session: refused.turn.session, limit: 9 }),
      ).toMatchObject([{ code: "TOKEN_LIMIT_EXCEEDED" }, { code: "BREAKER_FAILED" }]);
      const events = await plimsoll.store.events({ after: 0, limit: 99 });
      expect(events.map(({ event }) => event)).toContainEqual(
        expect.objectContaining({
          type: "guard-enforced",
          action: "refused",
          limit: LIMIT + BUFFER_TOKENS,
        }),
      );
      expect((await pass(plimsoll, wire, prompt(100))).turn.fitted.outcome).toBe("passthrough");
    }));

  test("tools larger than the window are refused", () =>
    opened(async (plimsoll) => {
      const tools = [tool(wire, tokensOfText(WINDOW))];
      expectRefused(await pass(plimsoll, wire, requestOf(wire, [said("hi")], { tools })));
    }));

  test("a first message larger than the window is refused", () =>
    opened(async (plimsoll) => {
      expectRefused(await pass(plimsoll, wire, requestOf(wire, [said(tokensOfText(WINDOW))])));
    }));

  test("of a newest message larger than the window the model sees an excerpt; the conversation can go on without it", () =>
    opened(async (plimsoll) => {
      const requests = requestsOf(wire, plainScript({ rounds: 12, characters: 600 }));
      const passed = await passAll(plimsoll, wire, requests.slice(0, -1));
      expect(passed.some(({ turn }) => turn.fitted.outcome === "compacted")).toBe(true);
      const known = (requests.at(-1)?.messages ?? []).map((text) => JSON.parse(text) as JsonObject);
      const { head } = withSystem(wire, "You load ships.", []);
      const words = tokensOfText(WINDOW);
      const large = [...known.slice(0, -1), said(words)];
      const cut = await pass(plimsoll, wire, requestOf(wire, large, head));
      expect(cut.turn.fitted.tokensAfter).toBeLessThanOrEqual(LIMIT);
      expect(cut.sentText).toContain(words.slice(0, 150));
      expect(violationsOf(cut)).toEqual([]);
      const { turn } = await pass(plimsoll, wire, requestOf(wire, known, head));
      expect(turn.fitted.refusal).toBeUndefined();
      expect(turn.fitted.tokensAfter).toBeLessThanOrEqual(LIMIT);
    }));

  test("a window of nothing takes nothing", async () => {
    const providers = { [providerOf(wire)]: { contextWindow: 0, tokenizer: "approximate" } };
    const plimsoll = await openEngine({ store: "memory", config: { providers } });
    const { turn } = await pass(plimsoll, wire, requestOf(wire, [said("hi")]));
    expect(turn.fitted).toMatchObject({ outcome: "refused", limit: 0 });
    expect(turn.fitted.refusal).toMatchObject({ limitTokens: 0 });
    await plimsoll.close();
  });

  test("what cannot be made smaller is let go as long as the window holds it and an answer", () =>
    opened(async (plimsoll) => {
      const conversation = [said(tokensOfText(LIMIT * 0.9))];
      const request = requestOf(wire, conversation, { tools: [tool(wire, tokensOfText(220))] });
      const { turn, sentText } = await pass(plimsoll, wire, request);
      expect(turn.fitted.tokensAfter).toBeGreaterThan(LIMIT);
      expect(turn.fitted.isFinal).toBe(false);
      expect(sentText).toContain(tokensOfText(LIMIT * 0.9));
      const tools = [tool(wire, tokensOfText(WINDOW))];
      expectRefused(
        await pass(plimsoll, wire, requestOf(wire, [said("hi"), ...conversation], { tools })),
      );
    }));
});

describe.each(WIRES)("%s: the last turn", (wire) => {
  /** No cut can help, and the window holds it, but hardly an answer. */
  const LAST = LIMIT + BUFFER_TOKENS + 50;

  /** A provider that takes no reference in the place of a result. */
  const validate: NonNullable<EngineOptions["parts"]>["validate"] = (judged) =>
    judged.bodyText?.includes("result of look") === true
      ? [{ rule: "X0", message: "the result must stay", place: "" }]
      : newViolations(judged);

  const expectLast = (passed: Passed): void => {
    expect(passed.turn.fitted).toMatchObject({ outcome: "final", isFinal: true });
    expect(lastMessage(passed)).toContain("Do not call any tool");
    expect(violationsOf(passed)).toEqual([]);
    const answer = limitIn(wire, bodyOf(passed));
    expect(passed.turn.fitted.measured.total + answer).toBeLessThanOrEqual(WINDOW);
  };

  test("what leaves hardly any room for an answer goes without tools, and the model is told", () =>
    opened(async (plimsoll) => {
      const request = requestOf(wire, [said(tokensOfText(LAST))], {
        tools: [tool(wire)],
        ...choices[wire].forced,
      });
      const passed = await pass(plimsoll, wire, request);
      expectLast(passed);
      expect(bodyOf(passed)).toMatchObject(choices[wire].none);
      expect(bodyOf(passed)["tools"]).toEqual([tool(wire)]);
      // The document's words for this: "context guard enforced", and "Still over limit after shrink".
      const errors = await plimsoll.store.errors({ session: passed.turn.session, limit: 9 });
      expect(errors).toMatchObject([
        {
          code: "TOKEN_LIMIT_EXCEEDED",
          message: expect.stringMatching(/^Context guard enforced: still over limit after shrink/),
        },
        { code: "BREAKER_FAILED" },
      ]);
    }));

  test("with final_turn: final_report, Restrict tools to agent__final_report only, and ask for it", () =>
    openedWith(
      {
        config: { agent: { final_turn: "final_report" } },
        parts: { strategies: [truncate], validate },
      },
      async (plimsoll) => {
        const messages = [said("look"), called(wire, "c1"), result(wire, "c1", tokensOfText(LAST))];
        const listed = { tools: [tool(wire)], ...choices[wire].forced };
        const passed = await pass(plimsoll, wire, requestOf(wire, messages, listed));
        expect(passed.turn.fitted).toMatchObject({ outcome: "final", isFinal: true });
        expect(lastMessage(passed)).toContain("Call agent__final_report now");
        expect(violationsOf(passed)).toEqual([]);
        const body = bodyOf(passed);
        expect(body).not.toMatchObject(choices[wire].none);
        // Gemini wants the list to have every tool that was called, so there the choice restricts the model.
        const [own, report] = [tool(wire), "agent__final_report"];
        if (wire === "gemini") {
          const only = { mode: "ANY", allowedFunctionNames: [report] };
          expect(body["toolConfig"]).toEqual({ functionCallingConfig: only });
        } else expect(JSON.stringify(body["tools"])).not.toContain(JSON.stringify(own));
        expect(JSON.stringify(body["tools"])).toContain(report);
      },
    ));

  test("behind results too, and only for this turn", () =>
    openedWith({ parts: { strategies: [truncate], validate } }, async (plimsoll) => {
      const tools = [tool(wire)];
      const messages = [said("look"), called(wire, "c1"), result(wire, "c1", tokensOfText(LAST))];
      expectLast(await pass(plimsoll, wire, requestOf(wire, messages, { tools })));
      const next = [...messages, answered("Aye."), said("short")];
      const passed = await pass(plimsoll, wire, requestOf(wire, next, { tools }));
      expect(passed.sentText).not.toContain("Do not call any tool");
      expect(passed.turn.fitted.outcome).toBe("compacted");
    }));

  test("without tools there is no choice to forbid", () =>
    opened(async (plimsoll) => {
      const passed = await pass(plimsoll, wire, requestOf(wire, [said(tokensOfText(LAST))]));
      expectLast(passed);
      expect(bodyOf(passed)["tool_choice"]).toBeUndefined();
    }));

  test("up to the last token of the window: what is added must have room too", () =>
    opened(async (plimsoll) => {
      for (let tokens = LIMIT; tokens <= WINDOW; tokens += 5) {
        const passed = await pass(plimsoll, wire, requestOf(wire, [said(tokensOfText(tokens))]), {
          wishes: { hints: { clientKey: `test:${tokens}`, isCompacted: false } },
        });
        const { fitted } = passed.turn;
        if (fitted.refusal !== undefined) break;
        const answer = limitIn(wire, bodyOf(passed));
        expect(answer).toBeGreaterThan(0);
        expect(fitted.measured.total + answer).toBeLessThanOrEqual(WINDOW);
      }
    }));
});

test("openai-responses: a conversation that is one text can be the last turn too", () =>
  opened(async (plimsoll) => {
    const request = requestOf("openai-responses", tokensOfText(LIMIT + BUFFER_TOKENS + 50), {
      tools: [tool("openai-responses")],
    });
    const { turn, sentText } = await pass(plimsoll, "openai-responses", request);
    expect(turn.fitted.outcome).toBe("final");
    expect(sentText).toContain("Do not call any tool");
  }));

describe("limits beside the window", () => {
  const limitFor = async (config: Config, wishes: Wishes = {}): Promise<number> => {
    let limit = -1;
    await opened(async (plimsoll) => {
      const turn = await receive(
        plimsoll,
        "openai-chat",
        requestOf("openai-chat", [said("hi")]).body,
        {
          ...wishes,
        },
      );
      limit = turn.fitted.limit;
      await turn.end({ status: "failed" });
    }, config);
    return limit;
  };
  const agent = (name: string): Wishes => ({
    hints: { clientKey: "test:agent", agent: name, isCompacted: false },
  });
  /** Document A: "type: local_14b", for example Qwen3-14B and Phi-4. */
  const group = (models: readonly string[]) => ({ type: "local_14b", limit: 900, models });
  const kind = (limit: number, follow_default?: boolean) => ({
    type: "GPT-5.1",
    limit,
    ...(follow_default === undefined ? {} : { follow_default }),
  });

  test.each([
    ["nothing is named", {}, {}, LIMIT],
    ["an agent's", { min_limit: 500, per_agent: { scout: 800 } }, agent("scout"), 800],
    ["another agent's", { min_limit: 500, per_agent: { scout: 800 } }, agent("cook"), LIMIT],
    ["below the floor", { min_limit: 700, per_agent: { scout: 100 } }, agent("scout"), 700],
    ["of a kind of model", { min_limit: 500, per_llm: [kind(900)] }, {}, 900],
    [
      "of a type with its models",
      { min_limit: 500, per_llm: [group(["GPT-*", "Phi-4*"])] },
      {},
      900,
    ],
    [
      "of a type with provider and model",
      { min_limit: 500, per_llm: [group(["*/gpt-5.1"])] },
      {},
      900,
    ],
    [
      "of a type of other models",
      { min_limit: 500, per_llm: [group(["Phi-4*", "gpt"])] },
      {},
      LIMIT,
    ],
    ["the default", { min_limit: 500, default_limit: 600, per_llm: [kind(900, true)] }, {}, 600],
    [
      "the lower one",
      { min_limit: 1, per_agent: { a: 700 }, per_llm: [kind(650)] },
      agent("a"),
      650,
    ],
    ["more than the window", { per_agent: { scout: 99_000 } }, agent("scout"), LIMIT],
    [
      "a fifth more for the highest priority",
      { min_limit: 500, per_agent: { scout: 800 } },
      { ...agent("scout"), priority: 1 },
      960,
    ],
    [
      "never more than the window",
      { per_agent: { a: 1400 }, min_limit: 1 },
      { ...agent("a"), priority: 1 },
      LIMIT,
    ],
  ] as const)("%s", async (_, contextConfig, wishes, limit) => {
    const config = JSON.parse(JSON.stringify({ context_config: contextConfig })) as Config;
    expect(await limitFor(config, wishes as Wishes)).toBe(limit);
  });

  test("the usual floor is 3,500", async () => {
    const plimsoll = await openWith(9000, { config: { context_config: { per_agent: { a: 10 } } } });
    const turn = await receive(
      plimsoll,
      "anthropic",
      requestOf("anthropic", [said("hi")]).body,
      agent("a"),
    );
    expect(turn.fitted.limit).toBe(3500);
    await turn.end({ status: "failed" });
    await plimsoll.close();
  });

  test("a budget over everything", async () => {
    expect(await limitFor({ agent: { context_budget: 1000 } })).toBe(1000);
    const agentConfig = { context_budget: 1000, max_output_tokens: 100, output_in_budget: true };
    expect(await limitFor({ agent: agentConfig })).toBe(900);
  });

  test.each(WIRES)("%s: an agent's conversation is cut from four fifths of its limit on", (wire) =>
    opened(
      async (plimsoll) => {
        const requests = requestsOf(wire, plainScript({ rounds: 10, characters: 300 }));
        const passed = await passAll(plimsoll, wire, requests, { wishes: agent("scout") });
        const first = passed.findIndex(({ turn }) => turn.fitted.outcome === "compacted");
        expect(first).toBeGreaterThan(0);
        expect(passed[first]?.turn.fitted.tokensBefore).toBeLessThan(900);
        for (const one of passed) {
          expect(one.turn.fitted.tokensAfter).toBeLessThanOrEqual(900);
          expect(violationsOf(one)).toEqual([]);
        }
      },
      { context_config: { min_limit: 500, per_agent: { scout: 900 } } },
    ),
  );
});

describe.each(WIRES)("%s: another target", (wire) => {
  const config: Config = {
    agent: { context_budget: "window" },
    targets: { [MODELS[wire]]: [`${providerOf(wire)}/${roomyModel(wire)}`] },
  };

  test("with a larger window takes what is too much for the first, uncut and under its own name", () =>
    opened(async (plimsoll) => {
      const requests = requestsOf(wire, plainScript({ rounds: 12, characters: 600 }));
      const passed = await passAll(plimsoll, wire, requests);
      const last = passed.at(-1);
      if (last === undefined) throw new Error("Nothing was sent.");
      const { fitted } = last.turn;
      expect(fitted.target.model).toBe(roomyModel(wire));
      // The path of a Gemini request names the model, and the proxy changes it there.
      const named = wire === "gemini" ? MODELS.gemini : roomyModel(wire);
      expect(bodyOf(last)["model"]).toBe(named);
      expect(messageTexts(wire, last.sentText).length).toBeGreaterThanOrEqual(
        last.request.messages.length,
      );
      expect(last.edits.filter(({ action }) => action.kind !== "insert")).toEqual([]);
      expect(violationsOf(last)).toEqual([]);
      expect(bodyOf(passed[0] ?? last)["model"]).toBe(MODELS[wire]);
    }, config));

  test("has a limit of its own", () =>
    opened(async (plimsoll) => {
      const request = requestOf(wire, [said(tokensOfText(LIMIT * 2))]);
      const { fitted } = (await pass(plimsoll, wire, request)).turn;
      expect(fitted.target.model).toBe(roomyModel(wire));
      expect(fitted.limit).toBe(fitted.target.limit.limit);
    }, config));

  test("with a window of a million has the budget that nobody had to set", () =>
    opened(
      async (plimsoll) => {
        const request = requestOf(wire, [said(tokensOfText(LIMIT * 2))]);
        const { fitted } = (await pass(plimsoll, wire, request)).turn;
        expect(fitted.target.model).toBe(roomyModel(wire));
        expect(fitted.limit).toBe(200_000);
      },
      { ...config, agent: {} },
    ));
});

describe("Per-provider evaluation status (ok/skip/final)", () => {
  const wire = "anthropic";
  const roomy = `${providerOf(wire)}/${roomyModel(wire)}`;

  test.each([
    ["room", 100, {}, ["ok"]],
    ["room, and another target", 100, { [MODELS[wire]]: [roomy] }, ["ok", "ok"]],
    ["no room, and another target has", LIMIT * 2, { [MODELS[wire]]: [roomy] }, ["skip", "ok"]],
    ["no room, and no other target", LIMIT * 2, {}, ["final"]],
  ] as const)("%s", async (_name, tokens, targets, statuses) => {
    const heard: unknown[] = [];
    const debug: Debug = (topic, fields) => {
      if (topic === "context-guard/provider-eval") heard.push(fields()["status"]);
    };
    const config: Config = {
      agent: { context_budget: "window" },
      targets: Object.fromEntries(Object.entries(targets).map(([key, all]) => [key, [...all]])),
    };
    await openedWith({ config, parts: { debug } }, async (plimsoll) => {
      await pass(plimsoll, wire, requestOf(wire, [said(tokensOfText(tokens))]));
      expect(heard.slice(0, statuses.length)).toEqual(statuses);
    });
  });
});

describe.each(WIRES)("%s: switched off", (wire) => {
  test("the client's bytes go out as they came, and are recorded and counted", () =>
    opened(async (plimsoll) => {
      const requests = requestsOf(wire, plainScript({ rounds: 12, characters: 600 }));
      const passed = await passAll(plimsoll, wire, requests.slice(0, -1));
      const before = passed.at(-1)?.edits ?? [];
      const last = requests.at(-1) ?? requestOf(wire, []);
      const off = await pass(plimsoll, wire, last, { wishes: { isBypassed: true } });
      expect(off.turn.body).toBeUndefined();
      expect(off.turn.session).toBe(passed[0]?.turn.session);
      expect(off.edits).toEqual(before);
      expect(off.turn.fitted.outcome).toBe("passthrough");
      expect(off.turn.fitted.tokensAfter).toBeGreaterThan(LIMIT);
      const [record] = await plimsoll.store.turns(off.turn.session, 1);
      expect(record).toMatchObject({ id: off.turn.id, outcome: "passthrough", status: "complete" });
      const on = await pass(plimsoll, wire, last);
      expect(handlesIn(on.sentText)).not.toEqual([]);
    }));
});
