/** Tests the scripted agents: each talks directly to the scripted provider, and does the same in a second run. */
import { afterEach, describe, expect, test } from "vitest";
import { AgentScript } from "./agent.ts";
import { countMessage } from "./counting.ts";
import { type JsonObject, WIRES } from "./json.ts";
import { lostMessages, messageTexts, prefixText } from "./kept.ts";
import { LongTalk, scriptOf } from "./long-talk.ts";
import { elementTexts, memberText } from "./raw-json.ts";
import { startUpstream, type Upstream } from "./upstream.ts";
import { MODELS } from "./wires.ts";

const WINDOW_TOKENS = 4_000;
const TURNS_COUNT = 40;

const open: Upstream[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((upstream) => upstream.close()));
});

const CAST = WIRES.flatMap((wire) => [
  { wire, isStreamed: false },
  { wire, isStreamed: true },
]);

async function talkDirectly(role: (typeof CAST)[number]): Promise<[LongTalk, Upstream]> {
  const talk = new LongTalk({
    ...role,
    name: "direct",
    model: MODELS[role.wire],
    seed: 7,
    windowTokens: WINDOW_TOKENS,
    outputTokensMax: 1_000,
  });
  const window = { tokens: 1_000_000 };
  const upstream = await startUpstream({ script: scriptOf([talk]), window });
  open.push(upstream);
  const service = { url: upstream.url, api: () => Promise.reject(new Error("There is no API.")) };
  await talk.goOn({ service, upstream }, () => talk.turns.length === TURNS_COUNT);
  expect(talk.failure).toBeUndefined();
  return [talk, upstream];
}

describe.each(CAST)("an agent on $wire, streamed: $isStreamed", (role) => {
  test("is understood, and sends its whole history with every request", async () => {
    const [{ turns, clientBody, lastSent }, upstream] = await talkDirectly(role);
    expect(upstream.refusals).toEqual({ overflow: 0, invalid: [] });
    expect(lastSent).toBe(clientBody);
    for (const [index, { sent, historyTokens, historyLength }] of turns.entries()) {
      expect(sent.map(({ tokens }) => tokens)).toEqual([historyTokens]);
      const earlier = turns[index - 1];
      if (earlier === undefined) continue;
      expect(historyLength).toBeGreaterThan(earlier.historyLength);
      const [before = "", after = ""] = [earlier, turns[index]].map(
        (turn) => turn?.sent[0]?.body.toString() ?? "",
      );
      const prefix = prefixText(role.wire, before, earlier.historyLength);
      expect(prefixText(role.wire, after, earlier.historyLength)).toBe(prefix);
    }
  });

  test("says the same again from the same seed", async () => {
    const [[first], [second]] = await Promise.all([talkDirectly(role), talkDirectly(role)]);
    expect(second.clientBody).toBe(first.clientBody);
  });

  test("misses what is neither sent nor archived", async () => {
    const { wire } = role;
    const [{ clientBody }] = await talkDirectly(role);
    const history = messageTexts(wire, clientBody);
    const sentBody = clientBody.replace(`${history[3]},`, () => "");
    expect(lostMessages({ wire, history, sentBody, contents: [] })).toEqual([history[3]]);
    const contents = [`[${history[3]}]`];
    expect(lostMessages({ wire, history, sentBody, contents })).toEqual([]);
  });
});

test("a script has all that a long conversation has, and nothing that is too large", () => {
  const script = new AgentScript(1, 20_000);
  const steps = Array.from({ length: 200 }, (_, number) => script.step(number));
  const calls = steps.flatMap((step) => step.calls);
  expect(new Set(steps.map((step) => step.calls.length))).toEqual(new Set([0, 1, 2, 3]));
  expect(steps.some((step) => step.question?.hasImage)).toBe(true);
  expect(steps.some((step) => step.thought !== undefined)).toBe(true);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  const tokens = calls.map(({ result }) =>
    countMessage("openai-chat", { role: "tool", content: result }),
  );
  expect(Math.min(...tokens)).toBeGreaterThanOrEqual(200);
  expect(Math.max(...tokens)).toBeLessThanOrEqual(2_600);
});

test.each([
  ['{"a":1}', "a", "1"],
  ['{ "b" : [ 1 , 2 ] , "a" : "x,}\\"y" }', "a", '"x,}\\"y"'],
  ['{"x":{"a":1},"a":{"a":[2]}}', "a", '{"a":[2]}'],
  ['{"\\u0061":true}', "a", "true"],
  ['{"b":1}', "a", undefined],
  ["{}", "a", undefined],
])("%s has for %s the text %s", (object, name, expected) => {
  expect(memberText(object, name)).toBe(expected);
});

test.each([
  "[]",
  "[1]",
  '[ {"a": "]"} , [ ] ,\n"\\\\" ]',
  '["ö😀", {"text":"a \\"quoted\\" [word],"}, null]',
])("the texts of the elements of %s are the array", (array) => {
  const texts = elementTexts(array);
  expect(texts.map((text) => JSON.parse(text) as JsonObject)).toEqual(JSON.parse(array));
  for (const text of texts) expect(array).toContain(text);
});
