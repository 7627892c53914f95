/** Results of one answer that do not fit together: with every turn as many as must become references, and the conversation goes on. */

import { expect, test } from "vitest";
import {
  limitedTo,
  limitIn,
  parallel,
  requestOf,
  said,
  tokensOfText,
  tool,
  withSystem,
} from "../../test/generate/bodies.ts";
import { WIRES } from "../../test/generate/conversations.ts";
import { providerOf, receive, violationsOf } from "../../test/generate/rehearsal.ts";
import { isSoak } from "../../test/harness/effort.ts";
import type { JsonObject, Wire } from "../../test/harness/json.ts";
import type { Config } from "../config/schema.ts";
import { openEngine } from "../engine.ts";

interface Scene {
  readonly window: number;
  readonly system: number;
  readonly tools: number;
  readonly maxTokens: number;
  readonly count: number;
  /** Of each. */
  readonly tokens: number;
  readonly agent?: Config["agent"];
}

const SCENES: Readonly<Record<string, Scene>> = {
  "ten of 3.9 KB in a window of 8k": {
    ...{ window: 8192, system: 500, tools: 1000, maxTokens: 2000, count: 10, tokens: 1000 },
  },
  "twenty of 3.9 KB beside a head of two thirds": {
    ...{ window: 32_768, system: 6000, tools: 14_000, maxTokens: 8000, count: 20, tokens: 1000 },
  },
  "sixty of 3.5 KB": {
    ...{ window: 32_768, system: 2000, tools: 4000, maxTokens: 8000, count: 60, tokens: 900 },
  },
  "twelve that only by our best estimate are too many": {
    ...{ window: 32_768, system: 2000, tools: 4000, maxTokens: 8000, count: 12, tokens: 2400 },
  },
  "eight below a threshold that somebody has set": {
    ...{ window: 16_384, system: 1000, tools: 3000, maxTokens: 4000, count: 8, tokens: 4000 },
    agent: { result_offload_threshold: 20_000 },
  },
};

/** So many tokens, in lines of their own. */
function lines(name: string, tokens: number): string {
  const count = Math.ceil((tokens * 4) / 38);
  const line = (at: number): string => `row ${name}.${at}: value = compute(${at * 7919})`;
  return Array.from({ length: count }, (_, at) => line(at)).join("\n");
}

/** A soak run takes each scene on every wire, `npm test` on one. */
const cases = WIRES.flatMap((wire, place) =>
  Object.entries(SCENES)
    .filter((_, index) => isSoak || index % WIRES.length === place)
    .map(([name, scene]): [Wire, string, Scene] => [wire, name, scene]),
);

test.each(cases)("%s: %s", async (wire, _, scene) => {
  const { window, agent = {} } = scene;
  const settings = { contextWindow: window, tokenizer: "approximate" };
  const config = { agent, providers: { [providerOf(wire)]: settings } };
  const plimsoll = await openEngine({ store: "memory", config });
  const { messages: opening, head } = withSystem(wire, tokensOfText(scene.system), [said("Look.")]);
  const messages = [...opening];
  let overflows = 0;
  for (let at = 0; at < 4; at++) {
    const { body } = requestOf(wire, messages, {
      ...head,
      tools: [tool(wire, tokensOfText(scene.tools))],
      ...limitedTo(wire, scene.maxTokens),
    });
    const turn = await receive(plimsoll, wire, body);
    const sentTokens = (): { readonly input: number; readonly output: number } => {
      const sent = JSON.parse(new TextDecoder().decode(turn.body ?? body)) as JsonObject;
      return { input: turn.fitted.measured.total, output: limitIn(wire, sent) };
    };
    const { input, output } = sentTokens();
    // The provider counts as we do.
    if (input + output > window) {
      overflows++;
      const figures = { needTokens: input + output, limitTokens: window };
      const overflow = { kind: "input+output", inputTokens: input, ...figures } as const;
      expect(await turn.overflowed({ ...overflow, maxTokens: output }), `turn ${at}`).toBe(true);
    }
    const taken = sentTokens();
    expect(taken.input + taken.output, `turn ${at}`).toBeLessThanOrEqual(window);
    const sentText = new TextDecoder().decode(turn.body ?? body);
    const { outcome, measured } = turn.fitted;
    expect(["passthrough", "edited", "compacted"], `turn ${at}`).toContain(outcome);
    const clientText = new TextDecoder().decode(body);
    expect(violationsOf({ wire, clientText, sentText, turn })).toEqual([]);
    const outputs = Array.from({ length: scene.count }, (_one, number) =>
      lines(`${at}.${number}`, scene.tokens),
    );
    const added = parallel(wire, outputs, `c${at}x`);
    const answer = added.slice(0, wire === "openai-responses" ? scene.count : 1);
    await turn.end({
      status: "complete",
      answer: {
        outcome: "message",
        choices: [answer],
        usage: { inputTokens: measured.total, outputTokens: 30 },
      },
    });
    messages.push(...added);
  }
  // Only results of which nothing was reported yet may be too much.
  expect(overflows).toBeLessThanOrEqual(1);
  await plimsoll.close();
});

/** Our conversation counts this much at the provider, the head as much as here. */
interface SeenScene {
  readonly window: number;
  readonly head: number;
  readonly factor: number;
  readonly count: number;
  readonly tokens: number;
  /** In any turn. */
  readonly mostHidden: number;
}

const SEEN: Readonly<Record<string, SeenScene>> = {
  "eight small ones, of which the provider makes half": {
    ...{ window: 8192, head: 5000, factor: 0.5, count: 8, tokens: 300, mostHidden: 0 },
  },
  "a large one, of which the provider makes half": {
    ...{ window: 32_768, head: 20_000, factor: 0.5, count: 1, tokens: 12_000, mostHidden: 0 },
  },
  "three large ones, of which the provider makes half": {
    ...{ window: 65_536, head: 36_000, factor: 0.5, count: 3, tokens: 10_000, mostHidden: 0 },
  },
  "eight of which one is too many": {
    ...{ window: 32_768, head: 20_000, factor: 1, count: 8, tokens: 1500, mostHidden: 1 },
  },
};

test.each(Object.entries(SEEN))("no more is hidden than must be: %s", async (_, scene) => {
  const { window, head, factor, count, tokens } = scene;
  const wire = "anthropic";
  const settings = { contextWindow: window, tokenizer: "approximate" };
  const plimsoll = await openEngine({
    store: "memory",
    config: { providers: { [wire]: settings } },
  });
  const opening = withSystem(wire, tokensOfText(head / 2), [said("Look.")]);
  const tools = [tool(wire, tokensOfText(head / 2))];
  const messages = [...opening.messages];
  let fresh: readonly string[] = [];
  for (let at = 0; at < 4; at++) {
    const { body } = requestOf(wire, messages, { ...opening.head, tools, max_tokens: 32_000 });
    const turn = await receive(plimsoll, wire, body);
    const sentText = new TextDecoder().decode(turn.body ?? body);
    const hidden = fresh.filter((text) => !sentText.includes(JSON.stringify(text).slice(1, -1)));
    expect(hidden.length, `turn ${at}`).toBeLessThanOrEqual(scene.mostHidden);
    const { total, conversation } = turn.fitted.measured;
    const inputTokens = Math.ceil(total - conversation + conversation * factor);
    expect(inputTokens + 1024, `turn ${at}`).toBeLessThanOrEqual(window);
    fresh = Array.from({ length: count }, (_one, number) => lines(`${at}.${number}`, tokens));
    const added = parallel(wire, fresh, `c${at}x`);
    const answer = { outcome: "message", choices: [added.slice(0, 1)] } as const;
    const usage = { inputTokens, outputTokens: 30 };
    await turn.end({ status: "complete", answer: { ...answer, usage } });
    messages.push(...added);
  }
  await plimsoll.close();
});
