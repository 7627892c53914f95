/**
 * A provider that counts otherwise than we do, on windows of all sizes: what it would have taken goes, old results leave before
 * new ones, and after its first report at most one request is too long, which its client never learns.
 */

import fc from "fast-check";
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
import { WIRES } from "../../test/generate/conversations.ts";
import { providerOf, receive, violationsOf } from "../../test/generate/rehearsal.ts";
import { tries } from "../../test/harness/effort.ts";
import type { JsonObject, Wire } from "../../test/harness/json.ts";
import { type Engine, openEngine } from "../engine.ts";
import type { Overflow } from "../wire/overflow.ts";
import type { ReceivedTurn } from "./turn/turn.ts";

const TURNS = 18;

interface Scene {
  readonly window: number;
  readonly systemTokens: number;
  readonly toolTokens: number;
  readonly maxTokens: number;
  readonly isThinking: boolean;
  /** The provider's tokens for one of our estimate. */
  readonly factors: { readonly system: number; readonly tools: number; readonly talk: number };
  /** How it says that a request is too long. */
  readonly words: "figures" | "bare";
  /** Of the window, by turn. */
  readonly results: readonly number[];
}

const factor = fc.double({ min: 0.4, max: 2, noNaN: true });
const scene: fc.Arbitrary<Scene> = fc
  .record({
    window: fc.constantFrom(8_192, 16_384, 32_768, 60_000, 65_536, 128_000, 256_000),
    systemTokens: fc.integer({ min: 500, max: 12_000 }),
    toolTokens: fc.integer({ min: 1_500, max: 28_000 }),
    maxTokens: fc.constantFrom(1_100, 4_000, 8_192, 32_000, 64_000),
    isThinking: fc.boolean(),
    factors: fc.record({ system: factor, tools: factor, talk: factor }),
    words: fc.constantFrom("figures" as const, "bare" as const),
    results: fc.array(fc.double({ min: 0.01, max: 0.09, noNaN: true }), {
      minLength: TURNS,
      maxLength: TURNS,
    }),
  })
  // With a head that fills the window by itself nothing can be sent at all.
  .filter((one) => headShare(one) < 0.75);

/** Of the window, as the provider counts. */
function headShare({ window, systemTokens, toolTokens, factors }: Scene): number {
  return (systemTokens * factors.system + (toolTokens + 400) * factors.tools) / window;
}

interface Sent {
  readonly turn: ReceivedTurn;
  readonly text: string;
  /** As the provider counts. */
  readonly tokens: number;
  readonly maxTokens: number;
}

class Provider {
  readonly #scene: Scene;
  reports = 0;
  overSinceReport = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** What it makes of a request that we measured so. */
  count({ system, skills, tools, conversation }: ReceivedTurn["fitted"]["measured"]): number {
    const { factors } = this.#scene;
    return Math.ceil(
      (system + skills) * factors.system + tools * factors.tools + conversation * factors.talk,
    );
  }

  takes(tokens: number, maxTokens: number): boolean {
    return tokens + maxTokens <= this.#scene.window;
  }

  refusal({ tokens, maxTokens }: Sent): Overflow {
    const { window, words } = this.#scene;
    const isInput = tokens > window;
    if (words === "bare") return { kind: isInput ? "input" : "input+output" };
    return isInput
      ? { kind: "input", needTokens: tokens, limitTokens: window }
      : {
          kind: "input+output",
          inputTokens: tokens,
          maxTokens,
          needTokens: tokens + maxTokens,
          limitTokens: window,
        };
  }
}

const decoder = new TextDecoder();

function sentOf(wire: Wire, body: Uint8Array, turn: ReceivedTurn, provider: Provider): Sent {
  const text = decoder.decode(turn.body ?? body);
  const maxTokens = limitIn(wire, JSON.parse(text) as JsonObject);
  const tokens = provider.count(turn.fitted.measured);
  return { turn, text, tokens, maxTokens: Number(maxTokens) };
}

/** Results of about so many tokens, each with words of its own. */
function output(number: number, tokens: number): string {
  const line = (at: number): string => `row ${number}.${at}: value = compute(${at * 7919})`;
  return Array.from({ length: Math.max(3, Math.ceil((tokens * 4) / 38)) }, (_, at) =>
    line(at),
  ).join("\n");
}

function headOf(
  wire: Wire,
  { systemTokens, toolTokens, maxTokens, isThinking }: Scene,
): JsonObject {
  const thinks = wire === "anthropic" && isThinking;
  return {
    ...withSystem(wire, tokensOfText(systemTokens), []).head,
    tools: [tool(wire, tokensOfText(toolTokens))],
    ...limitedTo(wire, maxTokens),
    ...(thinks ? { thinking: { type: "enabled", budget_tokens: maxTokens - 1 } } : {}),
  };
}

async function open(wire: Wire, { window }: Scene): Promise<Engine> {
  const settings = { contextWindow: window, tokenizer: "approximate" };
  return openEngine({ store: "memory", config: { providers: { [providerOf(wire)]: settings } } });
}

interface Turned {
  readonly scene: Scene;
  readonly wire: Wire;
  readonly provider: Provider;
  readonly plimsoll: Engine;
  readonly messages: readonly JsonObject[];
  /** Of the newest results, and of those before. */
  readonly fresh: readonly string[];
  readonly old: readonly string[];
}

/** One request until the provider takes it. */
async function send(turned: Turned): Promise<void> {
  const { scene, wire, provider, plimsoll, messages } = turned;
  const { body } = requestOf(wire, messages, headOf(wire, scene));
  const client = await receive(plimsoll, wire, body, { tenant: "aside", isBypassed: true });
  await client.end({ status: "failed" });
  const whole = provider.count(client.fitted.measured);
  const turn = await receive(plimsoll, wire, body);
  let sent = sentOf(wire, body, turn, provider);
  const wouldGo = provider.takes(whole, Math.min(scene.maxTokens, 1_025));
  if (wouldGo) expect(["refused", "final"], where(turned)).not.toContain(turn.fitted.outcome);
  const before = provider.reports > 0;
  let isOver = false;
  while (!provider.takes(sent.tokens, sent.maxTokens)) {
    isOver = true;
    const isSmaller = await turn.overflowed(provider.refusal(sent));
    // Without a report, and without figures, nobody knows how much too long it was.
    if (!isSmaller && !before && scene.words === "bare")
      return void (await turn.end({ status: "failed" }));
    expect(isSmaller, `${where(turned)}: the client sees ${sent.tokens} + ${sent.maxTokens}`).toBe(
      true,
    );
    sent = sentOf(wire, body, turn, provider);
  }
  if (before && isOver) provider.overSinceReport += 1;
  expectFresh(turned, sent, wouldGo);
  // A few reports, and the factors of head and conversation are told apart.
  expectOutput(turned, sent, provider.reports > 4);
  expect(
    violationsOf({ wire, clientText: decoder.decode(body), sentText: sent.text, turn }),
  ).toEqual([]);
  const id = `c${messages.length}`;
  await turn.end({
    status: "complete",
    answer: {
      outcome: "message",
      choices: [[called(wire, id)]],
      usage: { inputTokens: sent.tokens, outputTokens: 30 },
    },
  });
  provider.reports += 1;
}

const where = ({ scene, wire, messages }: Turned): string =>
  `${wire}, message ${messages.length}, ${JSON.stringify({ ...scene, results: undefined })}`;

/** A fresh result is there whole, or everything that is older is not, and the whole would not have gone. */
function expectFresh(turned: Turned, { text }: Sent, wouldGo: boolean): void {
  const isThere = (words: string): boolean => text.includes(JSON.stringify(words).slice(1, -1));
  if (turned.fresh.every(isThere)) return;
  expect(wouldGo, `${where(turned)}: a fresh result is hidden that fits`).toBe(false);
  const whole = turned.old.filter((words) => words.length > 4_096 && isThere(words));
  expect(whole.length, `${where(turned)}: results stay whole, and a fresh one is hidden`).toBe(0);
}

/** As long an answer as the client asks for, where there is room and that is known. */
function expectOutput(
  turned: Turned,
  { tokens, maxTokens, text, turn }: Sent,
  isKnown: boolean,
): void {
  const { scene, wire } = turned;
  expect(maxTokens).toBeLessThanOrEqual(scene.maxTokens);
  const isRoomy = tokens * 1.1 + scene.maxTokens <= scene.window;
  if (isKnown && isRoomy && turn.fitted.outcome !== "compacted")
    expect(maxTokens, where(turned)).toBe(scene.maxTokens);
  const { thinking } = JSON.parse(text) as {
    readonly thinking?: { readonly budget_tokens: number };
  };
  if (wire !== "anthropic" || thinking === undefined) return;
  expect(thinking.budget_tokens).toBeLessThan(maxTokens);
  expect(thinking.budget_tokens).toBeGreaterThanOrEqual(1024);
}

async function talk(wire: Wire, scene: Scene): Promise<void> {
  const plimsoll = await open(wire, scene);
  const provider = new Provider(scene);
  const opening = withSystem(wire, tokensOfText(scene.systemTokens), [said("Look at everything.")]);
  const messages: JsonObject[] = [...opening.messages];
  const old: string[] = [];
  let fresh: readonly string[] = [];
  for (const share of scene.results) {
    await send({ scene, wire, provider, plimsoll, messages: [...messages], fresh, old: [...old] });
    const id = `c${messages.length}`;
    // Larger ones leave on arrival, however much room there is.
    const tokens = Math.min(12_000, (share * scene.window) / scene.factors.talk);
    const words = output(messages.length, tokens);
    messages.push(called(wire, id), result(wire, id, words));
    old.push(...fresh);
    fresh = [words];
  }
  expect(provider.overSinceReport, JSON.stringify(scene)).toBeLessThanOrEqual(1);
  await plimsoll.close();
}

test.each(WIRES)(
  "%s: what its provider would take goes, whatever a token is to it",
  async (wire) => {
    await fc.assert(
      fc.asyncProperty(scene, (generated) => talk(wire, generated)),
      tries({ runs: 5, soak: 60, seed: 20261116 }),
    );
  },
  120_000,
);

test("usage that jumps up and down: nothing is refused, and every request stays within what we count", async () => {
  const wire = "anthropic";
  const plimsoll = await openEngine({
    store: "memory",
    config: { providers: { anthropic: { contextWindow: 20_000, tokenizer: "approximate" } } },
  });
  const messages: JsonObject[] = [said("Look at everything.")];
  const jumps = [1, 0.1, 2.9, 0, 1, 40, 0.5, 2.5, 1, 0.01];
  for (let turn = 0; turn < 40; turn++) {
    const { body } = requestOf(wire, messages, { tools: [tool(wire)] });
    const passed = await receive(plimsoll, wire, body);
    const { outcome, measured, refusal } = passed.fitted;
    expect(refusal).toBeUndefined();
    expect(outcome).not.toBe("final");
    expect(measured.total).toBeLessThan(60_000);
    const id = `c${messages.length}`;
    await passed.end({
      status: "complete",
      answer: {
        outcome: "message",
        choices: [[called(wire, id)]],
        usage: {
          inputTokens: Math.ceil(measured.total * (jumps[turn % jumps.length] ?? 1)),
          outputTokens: 5,
        },
      },
    });
    messages.push(called(wire, id), result(wire, id, output(turn, 900)));
  }
  await plimsoll.close();
});
