/**
 * A head between the limit and the window: system prompt, tools or a first paste take so much that reserve and buffer have no
 * room beside them. The window holds it, so the conversation goes on as with any other head, only in less room.
 */

import { expect, test } from "vitest";
import {
  called,
  limitedTo,
  limitIn,
  requestOf,
  result,
  said,
  tokensOfText,
  tool,
  withSystem,
} from "../../test/generate/bodies.ts";
import { providerOf, receive } from "../../test/generate/rehearsal.ts";
import type { JsonObject, Wire } from "../../test/harness/json.ts";
import type { Config } from "../config/schema.ts";
import { openEngine } from "../engine.ts";

interface Scene {
  readonly wire: Wire;
  readonly window: number;
  readonly system: number;
  readonly tools: number;
  /** Of the user's first message. */
  readonly paste?: number;
  readonly maxTokens: number;
  readonly thinking?: number;
  /** Of each result. */
  readonly result: number;
  /** The provider's tokens for one that Plimsoll estimates. */
  readonly factor: number;
  /** As the catalogue has it, instead of four characters for a token. */
  readonly hasTokenizer?: true;
  readonly budget?: number;
  /** The window as the configuration has it, where that is not the provider's. */
  readonly configured?: number;
  /** The provider says "too long", and not how much is. */
  readonly isBare?: true;
  /** Nor whether the request is, or the answer that it asks for. */
  readonly isVague?: true;
  /** The server keeps no room for the answer. */
  readonly ignoresAnswer?: true;
  /** So many times the tokens of a request are reported for it, by turn. */
  readonly reports?: Readonly<Record<number, number>>;
  readonly turns: number;
  readonly mostCompactions: number;
}

const BASE = { wire: "anthropic", maxTokens: 32_000, factor: 1 } as const;

const SCENES: Readonly<Record<string, Scene>> = {
  "two thirds of the window": {
    ...{ ...BASE, window: 60_000, system: 12_000, tools: 28_000, result: 2400, turns: 16 },
    mostCompactions: 5,
  },
  "seven tenths, of tools": {
    ...{ ...BASE, window: 60_000, system: 2000, tools: 40_000, maxTokens: 8000, result: 1200 },
    ...{ turns: 20, mostCompactions: 4 },
  },
  "two thirds of a small window, with thinking": {
    ...{ ...BASE, window: 32_768, system: 8000, tools: 14_000, thinking: 31_999, result: 800 },
    ...{ turns: 15, mostCompactions: 4 },
  },
  "a paste of four fifths of the window": {
    ...{ ...BASE, wire: "openai-chat", window: 60_000, system: 500, tools: 500, paste: 48_000 },
    ...{ maxTokens: 4000, result: 300, turns: 15, mostCompactions: 3 },
  },
  "more than the window, by a count that is twice too high": {
    ...{ ...BASE, window: 32_768, system: 12_000, tools: 28_000, maxTokens: 8000, result: 2400 },
    ...{ factor: 0.5, turns: 15, mostCompactions: 4 },
  },
  "less than it is, by a count that is too low": {
    ...{ ...BASE, window: 40_960, system: 6000, tools: 14_000, result: 600 },
    ...{ factor: 1.3, turns: 15, mostCompactions: 3 },
  },
  "more than the budget": {
    ...{ ...BASE, window: 200_000, system: 12_000, tools: 12_000, maxTokens: 8000, result: 800 },
    ...{ budget: 20_000, turns: 15, mostCompactions: 5 },
  },
  "seven tenths, with an answer that would take the rest": {
    ...{ ...BASE, window: 40_000, system: 10_000, tools: 18_000, result: 1150 },
    ...{ turns: 30, mostCompactions: 8 },
  },
  "more than a small budget, with results that are larger than the rest of it": {
    ...{ ...BASE, window: 200_000, system: 10_000, tools: 10_000, maxTokens: 8000, result: 2400 },
    ...{ budget: 10_000, turns: 25, mostCompactions: 5 },
  },
  "a third of a window that is half of what the configuration says": {
    ...{ ...BASE, window: 32_768, system: 6000, tools: 14_000, maxTokens: 8000, result: 1150 },
    ...{ configured: 65_536, isBare: true, turns: 24, mostCompactions: 5 },
  },
  "a third of a window that is a quarter of what the configuration says, on a server that says next to nothing":
    {
      ...{ ...BASE, window: 32_768, system: 5000, tools: 6000, result: 2300, turns: 40 },
      ...{ configured: 128_000, isBare: true, isVague: true, mostCompactions: 12 },
    },
  "the same, on a server that keeps no room for answers": {
    ...{ ...BASE, window: 32_768, system: 5000, tools: 6000, result: 2300, turns: 40 },
    ...{ configured: 128_000, isBare: true, isVague: true, ignoresAnswer: true },
    mostCompactions: 12,
  },
  "half of the window, and a report that is twice too high": {
    ...{ ...BASE, window: 65_536, system: 10_000, tools: 28_000, maxTokens: 8000, result: 600 },
    ...{ reports: { 0: 2, 3: 2.9 }, turns: 12, mostCompactions: 2 },
  },
  "more than the window that the configuration says": {
    ...{ ...BASE, window: 128_000, system: 10_000, tools: 28_000, maxTokens: 8000, result: 600 },
    ...{ configured: 32_768, turns: 12, mostCompactions: 12 },
  },
  "of schemas whose JSON has more tokens than the window, and of which the provider makes half": {
    ...{ ...BASE, wire: "openai-chat", window: 32_768, system: 12_000, tools: 36_000 },
    ...{ maxTokens: 8000, result: 1200, factor: 0.55, hasTokenizer: true, turns: 8 },
    mostCompactions: 2,
  },
};

function configOf({ wire, window, configured = window, hasTokenizer, budget }: Scene): Config {
  const tokenizer = hasTokenizer === true ? {} : { tokenizer: "approximate" };
  return {
    providers: { [providerOf(wire)]: { contextWindow: configured, ...tokenizer } },
    ...(budget === undefined ? {} : { agent: { context_budget: budget } }),
  };
}

function headOf({ wire, system, tools, maxTokens, thinking }: Scene): JsonObject {
  return {
    ...withSystem(wire, tokensOfText(system), []).head,
    tools: [tool(wire, tokensOfText(tools))],
    ...limitedTo(wire, maxTokens),
    ...(thinking === undefined ? {} : { thinking: { type: "enabled", budget_tokens: thinking } }),
  };
}

/** So many tokens, in lines of their own. */
function lines(name: string, tokens: number): string {
  const count = Math.ceil((tokens * 4) / 38);
  const line = (at: number): string => `row ${name}.${at}: value = compute(${at * 7919})`;
  return Array.from({ length: count }, (_, at) => line(at)).join("\n");
}

interface Seen {
  readonly outcome: string;
  readonly isFreshThere: boolean;
  /** How often the provider said that it is too long. */
  readonly refusals: number;
  readonly isTaken: boolean;
}

async function talk(scene: Scene): Promise<readonly Seen[]> {
  const { wire, window, factor, paste = 0 } = scene;
  const plimsoll = await openEngine({ store: "memory", config: configOf(scene) });
  const first = said(`Look at everything. ${lines("paste", paste)}`);
  const messages = [...withSystem(wire, tokensOfText(scene.system), [first]).messages];
  const seen: Seen[] = [];
  let fresh = "";
  for (let at = 0; at < scene.turns; at++) {
    const { body } = requestOf(wire, messages, headOf(scene));
    const turn = await receive(plimsoll, wire, body);
    const sent = (): { text: string; tokens: number; isTaken: boolean } => {
      const text = new TextDecoder().decode(turn.body ?? body);
      const maxTokens = limitIn(wire, JSON.parse(text) as JsonObject);
      const tokens = Math.ceil(turn.fitted.measured.total * factor);
      const answer = scene.ignoresAnswer === true ? 0 : Number(maxTokens);
      return { text, tokens, isTaken: tokens + answer <= window };
    };
    let refusals = 0;
    let isGoingOn = true;
    while (!sent().isTaken && isGoingOn) {
      refusals++;
      const { tokens } = sent();
      const isInput = tokens > window || scene.isVague === true;
      const kind = isInput ? "input" : "input+output";
      const figures = scene.isBare === true ? {} : { inputTokens: tokens, limitTokens: window };
      isGoingOn = await turn.overflowed({ kind, ...figures });
    }
    const { text, tokens, isTaken } = sent();
    const isFreshThere = text.includes(JSON.stringify(fresh).slice(1, -1));
    seen.push({ outcome: turn.fitted.outcome, isFreshThere, refusals, isTaken });
    await turn.end({
      status: "complete",
      answer: {
        outcome: "message",
        choices: [[called(wire, `c${at}`)]],
        usage: { inputTokens: tokens * (scene.reports?.[at] ?? 1), outputTokens: 30 },
      },
    });
    fresh = lines(`${at}`, scene.result);
    messages.push(called(wire, `c${at}`), result(wire, `c${at}`, fresh));
  }
  await plimsoll.close();
  return seen;
}

test.each(Object.entries(SCENES))("%s", async (_, scene) => {
  const seen = await talk(scene);
  expect(seen.filter(({ isTaken }) => !isTaken)).toEqual([]);
  expect(seen.filter(({ isFreshThere }) => !isFreshThere)).toEqual([]);
  const outcomes = seen.map(({ outcome }) => outcome);
  expect(outcomes).not.toContain("final");
  expect(outcomes).not.toContain("refused");
  expect(outcomes).not.toContain("recovered");
  const compactions = outcomes.filter((outcome) => outcome === "compacted");
  expect(compactions.length).toBeLessThanOrEqual(scene.mostCompactions);
  // Before the first report nobody knows how a provider counts; and a window that is smaller than anybody says is met once.
  const known = scene.isBare === true ? 1 : 0;
  const refused = seen.slice(1).filter(({ refusals }) => refusals > 0);
  expect(refused.length).toBeLessThanOrEqual(known);
});
