/**
 * A conversation that changes its kind of text: for one token that Plimsoll estimates, the provider counts 0.55 of prose, 1 of code and
 * 1.6 of hexadecimal digits. After the first report at most one request is over the window, and its client never learns of it.
 */

import { expect, test } from "vitest";
import {
  called,
  requestOf,
  result,
  tokensOfText,
  tool,
  withSystem,
} from "../../test/generate/bodies.ts";
import { receive } from "../../test/generate/rehearsal.ts";
import type { JsonObject } from "../../test/harness/json.ts";
import { openEngine } from "../engine.ts";
import type { ReceivedTurn } from "./turn/turn.ts";

const TURNS = 26;
const TURNS_OF_A_KIND = 4;
const SHARE_OF_WINDOW = 0.1;
const FACTORS: Readonly<Record<string, number>> = { prose: 0.55, plain: 1, hexad: 1.6 };

interface Scene {
  readonly window: number;
  readonly kinds: readonly string[];
  /** The provider's tokens for one that Plimsoll estimates. */
  readonly head: { readonly system: number; readonly tools: number };
}

const decoder = new TextDecoder();

/** Every line says its kind. */
function output(kind: string, turn: number, tokens: number): string {
  const line = (at: number): string =>
    `${kind} ${turn}.${at}: ${String(at * 7919).padStart(26, "x")}`.slice(0, 39);
  return Array.from({ length: Math.ceil((tokens * 4) / 40) }, (_, at) => line(at)).join("\n");
}

/** As the provider counts: a quarter of a token for a letter, times the factor of its line. */
function countTokens(body: JsonObject, { head }: Scene): number {
  const texts = (value: unknown): string[] => {
    if (typeof value === "string") return [value];
    return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [];
  };
  const conversation = texts(body["messages"])
    .flatMap((text) => text.split("\n"))
    .reduce((sum, line) => sum + ((line.length + 1) / 4) * (FACTORS[line.slice(0, 5)] ?? 1), 0);
  const system = texts(body["system"]).join("").length / 4;
  const tools = JSON.stringify(body["tools"]).length / 4;
  return Math.ceil(conversation + system * head.system + tools * head.tools);
}

interface Sent {
  readonly tokens: number;
  readonly isOver: boolean;
}

/** Until the provider takes it. */
async function send(turn: ReceivedTurn, client: Uint8Array, scene: Scene): Promise<Sent> {
  const { window: limitTokens } = scene;
  for (let isOver = false; ; isOver = true) {
    const body = JSON.parse(decoder.decode(turn.body ?? client)) as JsonObject;
    const [inputTokens, maxTokens] = [countTokens(body, scene), Number(body["max_tokens"])];
    const needTokens = inputTokens + maxTokens;
    if (needTokens <= limitTokens) return { tokens: inputTokens, isOver };
    const kind = inputTokens > limitTokens ? "input" : "input+output";
    const again = await turn.overflowed({ kind, inputTokens, maxTokens, needTokens, limitTokens });
    expect(again).toBeDefined();
  }
}

const scenes: readonly Scene[] = [
  { window: 8192, kinds: ["prose", "hexad"], head: { system: 0.6, tools: 1.8 } },
  { window: 8192, kinds: ["prose", "plain", "hexad"], head: { system: 0.6, tools: 1.8 } },
  { window: 8192, kinds: ["prose", "plain", "hexad"], head: { system: 1.6, tools: 0.6 } },
  { window: 16_384, kinds: ["prose", "hexad"], head: { system: 0.6, tools: 1.8 } },
];

test.each(scenes)(
  "at most one request is over the window: $window tokens, $kinds",
  async (scene) => {
    const { window, kinds } = scene;
    const settings = { contextWindow: window, tokenizer: "approximate" };
    const config = { providers: { anthropic: settings } };
    const plimsoll = await openEngine({ store: "memory", config });
    const opening = withSystem("anthropic", tokensOfText(Math.round(window * 0.12)), [
      { role: "user", content: "Look at everything." },
    ]);
    const head = {
      ...opening.head,
      tools: [tool("anthropic", tokensOfText(Math.round(window * 0.15)))],
      max_tokens: window / 4,
    };
    const messages = [...opening.messages];
    let over = 0;
    for (let number = 0; number < TURNS; number++) {
      const { body } = requestOf("anthropic", messages, head);
      const turn = await receive(plimsoll, "anthropic", body);
      expect(turn.fitted.refusal).toBeUndefined();
      const { tokens, isOver } = await send(turn, body, scene);
      if (isOver) over++;
      const kind = kinds[Math.floor(number / TURNS_OF_A_KIND) % kinds.length] ?? "plain";
      const answer = called("anthropic", `c${number}`);
      const usage = { inputTokens: tokens, outputTokens: 30 };
      await turn.end({
        status: "complete",
        answer: { outcome: "message", choices: [[answer]], usage },
      });
      messages.push(
        answer,
        result("anthropic", `c${number}`, output(kind, number, window * SHARE_OF_WINDOW)),
      );
    }
    await plimsoll.close();
    expect(over).toBeLessThanOrEqual(1);
  },
);
