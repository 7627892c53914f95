/** Requests that no client should send, and some that only few do: each gets a clear verdict, and none breaks a turn. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  answered,
  called,
  requestOf,
  result,
  said,
  tokensOfText,
  tool,
} from "../../test/generate/bodies.ts";
import { requestsOf, WIRES } from "../../test/generate/conversations.ts";
import {
  MESSAGES_FIELD,
  openWith,
  type Passed,
  pass,
  passAll,
  receive,
  roomyModel,
  violationsOf,
} from "../../test/generate/rehearsal.ts";
import { plainScript, scripts } from "../../test/generate/script.ts";
import { tries } from "../../test/harness/effort.ts";
import type { JsonObject, Wire } from "../../test/harness/json.ts";
import { messageTexts } from "../../test/harness/kept.ts";
import { type Engine, openEngine } from "../engine.ts";
import type { PlimsollError } from "../message/error.ts";

const LIMIT = 1500;
const WORDS = tokensOfText(100);

async function opened(about: (plimsoll: Engine) => Promise<void>): Promise<void> {
  const plimsoll = await openWith(LIMIT);
  try {
    await about(plimsoll);
  } finally {
    await plimsoll.close();
  }
}

/** Sends a conversation that grows by some messages each time; whatever they are, each request must be answered. */
async function sendGrowing(
  plimsoll: Engine,
  wire: Wire,
  steps: readonly (readonly JsonObject[])[],
  head: JsonObject = {},
): Promise<readonly Passed[]> {
  const passed: Passed[] = [];
  const messages: JsonObject[] = [];
  for (const step of steps) {
    messages.push(...step);
    const one = await pass(plimsoll, wire, requestOf(wire, messages, head, []));
    expect(violationsOf(one)).toEqual([]);
    const { outcome, tokensAfter, target } = one.turn.fitted;
    // What cannot be cut without breaking something goes as it came, when nothing of it was ever cut.
    const isOurs = outcome !== "passthrough" && outcome !== "refused";
    if (isOurs) expect(tokensAfter).toBeLessThanOrEqual(target.limit.window);
    passed.push(one);
  }
  return passed;
}

const COUNT = 16;
const times = <T>(make: (index: number) => T): readonly T[] =>
  Array.from({ length: COUNT }, (_, index) => make(index));

const ODD: Readonly<Record<string, (wire: Wire, index: number) => readonly JsonObject[]>> = {
  "calls without results": (wire, index) => [said(WORDS), called(wire, `c${index}`)],
  "results without calls": (wire, index) => [
    said(`${index}`),
    answered("Aye."),
    result(wire, `c${index}`, WORDS),
    answered("Aye."),
  ],
  "results before their calls": (wire, index) => [
    said(`${index}`),
    answered("Aye."),
    result(wire, `c${index}`, WORDS),
    called(wire, `c${index}`),
  ],
  "the same call id again and again": (wire, index) => [
    said(`${index}`),
    called(wire, "c"),
    result(wire, "c", WORDS),
    answered("Aye."),
  ],
  "two results for one call": (wire, index) => [
    said(`${index}`),
    called(wire, `c${index}`),
    result(wire, `c${index}`, WORDS),
    result(wire, `c${index}`, WORDS),
    answered("Aye."),
  ],
  "nothing but the user's words": (_, index) => [said(`${index} ${WORDS}`)],
  "nothing but the model's words": (_, index) => [answered(`${index} ${WORDS}`)],
  "roles and contents that nobody knows": (_, index) => [
    { role: "captain", content: WORDS },
    { role: "user", content: null },
    { role: "user", content: [] },
    { role: "assistant", content: 5, index },
    {},
  ],
  "handles of somebody else in the text": (_, index) => [
    said(`${index} pl_0123456789ABCDEFGHIJKL ${WORDS}`),
    answered("kept under pl_ZZZZZZZZZZZZZZZZZZZZZZ."),
  ],
};

describe.each(WIRES)("%s: a conversation of", (wire) => {
  test.each(Object.entries(ODD))("%s", (_, make) =>
    opened(async (plimsoll) => {
      const passed = await sendGrowing(
        plimsoll,
        wire,
        times((index) => make(wire, index)),
      );
      expect(passed).toHaveLength(COUNT);
      expect(await plimsoll.store.archived("t", "pl_0123456789ABCDEFGHIJKL")).toBeUndefined();
    }),
  );

  test("no messages at all", () =>
    opened(async (plimsoll) => {
      const { turn } = await pass(plimsoll, wire, requestOf(wire, [], {}, []));
      expect(turn.body).toBeUndefined();
    }));

  test.each<readonly [string, string, string]>([
    ["a message that is no object", `{"model":"m","FIELD":[5]}`, "must be an object"],
    ["a conversation that is none", `{"model":"m","FIELD":5}`, "FIELD"],
    ["half of a body", `{"model":"m","FIELD":[`, "is not complete"],
    ["no JSON", "hello", "JSON object"],
    ["nesting beyond reason", `{"FIELD":${"[".repeat(300)}${"]".repeat(300)}}`, "nests deeper"],
  ])("%s is the client's own to mend, and is told so", (_, text, sentence) =>
    opened(async (plimsoll) => {
      const body = new TextEncoder().encode(text.replaceAll("FIELD", MESSAGES_FIELD[wire]));
      const error = await receive(plimsoll, wire, body).then(
        () => undefined,
        (thrown: PlimsollError) => thrown,
      );
      expect(error).toMatchObject({ isPlimsollError: true, status: 400 });
      expect(error?.message).toContain(sentence.replaceAll("FIELD", MESSAGES_FIELD[wire]));
      expect((await pass(plimsoll, wire, requestOf(wire, [said("hi")]))).turn.body).toBeUndefined();
    }),
  );
});

describe("points and messages that do not exist", () => {
  const refusals: readonly (readonly [
    string,
    string,
    (p: Engine, session: string) => Promise<unknown>,
  ])[] = [
    ["an edit", "POINT_UNKNOWN", (p, s) => p.steering.undo(s, { edit: 4711 })],
    ["a checkpoint", "POINT_UNKNOWN", (p, s) => p.steering.restore(s, { checkpoint: "cp_4711" })],
    [
      "a name of a checkpoint",
      "POINT_UNKNOWN",
      (p, s) => p.steering.restore(s, { checkpoint: "x" }),
    ],
    ["a number", "POINT_UNKNOWN", (p, s) => p.steering.restore(s, { seq: -1 })],
    ["no point at all", "USAGE", (p, s) => p.steering.restore(s, {})],
    ["a message to pin", "POINT_UNKNOWN", (p, s) => p.steering.pin(s, { first: 4711 })],
    ["half a message", "POINT_UNKNOWN", (p, s) => p.steering.pin(s, { first: 1.5 })],
    ["a range turned round", "POINT_UNKNOWN", (p, s) => p.steering.pin(s, { first: 3, last: 1 })],
    ["a pin", "POINT_UNKNOWN", (p, s) => p.steering.release(s, { pin: 4711 })],
    ["a session", "SESSION_UNKNOWN", (p) => p.steering.undo("ses_unknown", {})],
    ["a branch", "SESSION_UNKNOWN", (p, s) => p.steering.undo(s, { branch: "br_unknown" })],
  ];

  test.each(refusals)("%s: %s, and nothing is changed", (_, code, wish) =>
    opened(async (plimsoll) => {
      const requests = requestsOf("anthropic", plainScript({ rounds: 12, characters: 600 }));
      const passed = await passAll(plimsoll, "anthropic", requests);
      const last = passed.at(-1);
      const error = await wish(plimsoll, last?.turn.session ?? "").then(
        () => undefined,
        (thrown: PlimsollError) => thrown,
      );
      expect(error).toMatchObject({ isPlimsollError: true, code });
      expect(error?.message).toMatch(/^[A-Z].*\.$/s);
      expect(await plimsoll.store.edits(last?.turn.session ?? "")).toEqual(last?.edits);
    }),
  );

  test("going back and forth often does not make the edits more and more for each step", () =>
    opened(async (plimsoll) => {
      const wire = "openai-chat";
      const requests = requestsOf(wire, plainScript({ rounds: 12, characters: 600 }));
      const roomy = requestsOf(wire, plainScript({ rounds: 12, characters: 600 }), () => ({
        model: roomyModel(wire),
      }));
      await passAll(plimsoll, wire, requests.slice(0, -1));
      const { turn, edits } = await pass(plimsoll, wire, roomy.at(-1) ?? requestOf(wire, []));
      const seq = edits.at(-1)?.seq ?? 0;
      for (let step = 0; step < 6; step++) {
        await plimsoll.steering.restore(turn.session, { seq: 0 });
        await plimsoll.steering.restore(turn.session, { seq });
      }
      const after = await plimsoll.store.edits(turn.session);
      expect(after.length).toBeLessThan(edits.length + 12 * 4 * edits.length);
    }));
});

describe("anthropic", () => {
  const wire = "anthropic";
  const thinking = { type: "thinking", thinking: "Hm.", signature: "c2lnbmVk" };
  const loopCall = (id: string, isFirst: boolean): JsonObject => {
    const use = { type: "tool_use", id, name: "look", input: { place: id } };
    return { role: "assistant", content: isFirst ? [thinking, use] : [use] };
  };

  test("a tool loop of which only the first answer thinks can be cut like any other", () =>
    opened(async (plimsoll) => {
      const head = { thinking: { type: "enabled", budget_tokens: 1024 }, tools: [tool(wire)] };
      const steps = times((index) => [
        ...(index === 0 ? [said("one"), answered("Aye."), said("now look")] : []),
        loopCall(`c${index}`, index === 0),
        result(wire, `c${index}`, tokensOfText(200)),
      ]);
      const passed = await sendGrowing(plimsoll, wire, steps, head);
      expect(passed.filter(({ turn }) => turn.fitted.isFinal || turn.fitted.refusal)).toEqual([]);
    }));

  test("also when the user speaks beside results: what was valid then must be so when the loop goes on", () =>
    opened(async (plimsoll) => {
      const head = { thinking: { type: "enabled", budget_tokens: 1024 }, tools: [tool(wire)] };
      const steps = times((index) => {
        const block = { type: "tool_result", tool_use_id: `c${index}`, content: tokensOfText(200) };
        const words = index % 2 === 1 ? [{ type: "text", text: "Mind the tide." }] : [];
        return [
          ...(index === 0 ? [said("one"), answered("Aye."), said("now look")] : []),
          loopCall(`c${index}`, index === 0),
          said([block, ...words]),
        ];
      });
      const passed = await sendGrowing(plimsoll, wire, steps, head);
      expect(passed.some(({ turn }) => turn.fitted.outcome === "compacted")).toBe(true);
    }));

  test("what the model is to go on from stays the last message", () =>
    opened(async (plimsoll) => {
      const prefill: JsonObject = { role: "assistant", content: "The answer is:" };
      for (const tokens of [1230, 1400, 1510]) {
        const messages = [said(tokensOfText(tokens)), prefill];
        const { wire: of, sentText } = await pass(plimsoll, wire, requestOf(wire, messages), {
          wishes: { hints: { clientKey: `test:${tokens}`, isCompacted: false } },
        });
        expect(messageTexts(of, sentText).at(-1)).toBe(JSON.stringify(prefill));
      }
    }));

  test("instructions in mid-conversation stay where they may stand", () =>
    opened(async (plimsoll) => {
      const model = "claude-opus-4-8";
      const steps = times((index) => [
        said(`${index} ${WORDS}`),
        ...(index % 3 === 0 ? [{ role: "system", content: `From now on: ${index}.` }] : []),
        answered(`Aye. ${WORDS}`),
      ]);
      const requests = steps.map((_, index) => {
        const last = steps[index] ?? [];
        return [...steps.slice(0, index).flat(), ...last.slice(0, -1)];
      });
      for (const messages of requests) {
        const one = await pass(plimsoll, wire, requestOf(wire, messages, { model }));
        expect(violationsOf(one)).toEqual([]);
        expect(one.turn.fitted.refusal).toBeUndefined();
        expect(one.turn.fitted.isFinal).toBe(false);
      }
    }));
});

describe.each(["openai-chat", "openai-responses"] as const)("%s", (wire) => {
  test("a loop can be cut where it began, though that began with reasoning and is what is largest", () =>
    opened(async (plimsoll) => {
      const reasoning: readonly JsonObject[] =
        wire === "openai-chat"
          ? [{ ...called(wire, "c0"), reasoning_content: "Hm." }]
          : [
              { type: "reasoning", id: "rs_0", summary: [], encrypted_content: "c2VjcmV0" },
              called(wire, "c0"),
            ];
      const steps = times((index) =>
        index === 0
          ? [
              said("one"),
              answered("Aye."),
              said("now look"),
              ...reasoning,
              result(wire, "c0", tokensOfText(LIMIT * 0.9)),
            ]
          : [called(wire, `c${index}`), result(wire, `c${index}`, tokensOfText(200))],
      );
      const passed = await sendGrowing(plimsoll, wire, steps);
      expect(passed.filter(({ turn }) => turn.fitted.isFinal || turn.fitted.refusal)).toEqual([]);
    }));
});

test.each(["mistral", "deepseek"])(
  "openai-chat of %s: its own rules are kept, whatever is cut",
  async (provider) => {
    const config = {
      providers: {
        [provider]: {
          wire: "openai" as const,
          contextWindow: 3000,
          contextWindowBufferTokens: 300,
          tokenizer: "approximate",
        },
      },
    };
    await fc.assert(
      fc.asyncProperty(scripts({ roundsMin: 8, roundsMax: 12 }), async (script) => {
        const plimsoll = await openEngine({ store: "memory", config });
        const requests = requestsOf("openai-chat", script);
        for (const one of await passAll(plimsoll, "openai-chat", requests, {
          wishes: { provider },
        }))
          expect(violationsOf(one)).toEqual([]);
        await plimsoll.close();
      }),
      tries({ runs: 4, soak: 16, seed: 20261115 }),
    );
  },
);

test("bytes that are no text, and fields given twice, go through as they are", () =>
  opened(async (plimsoll) => {
    const twice = `{"model":"x","messages":[],"model":"gpt-5.1","messages":[{"role":"user","content":"hi"}]}`;
    const bytes = Buffer.concat([
      Buffer.from(`{"model":"gpt-5.1","messages":[{"role":"user","content":"`),
      Buffer.from([0xff, 0xfe, 0xc3]),
      Buffer.from(`"}]}`),
    ]);
    for (const body of [Buffer.from(twice), bytes]) {
      const turn = await receive(plimsoll, "openai-chat", body);
      expect(turn.body).toBeUndefined();
      expect(turn.fitted.target.model).toBe("gpt-5.1");
      await turn.end({ status: "failed" });
    }
  }));
