/** The promises again, where conversations do not simply grow: rewound, sent at once, under a date, or held by the provider. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Request, requestsOf, WIRES } from "../../test/generate/conversations.ts";
import {
  openWith,
  type Passed,
  pass,
  receive,
  violationsOf,
  withMessages,
} from "../../test/generate/rehearsal.ts";
import { type Script, scripts } from "../../test/generate/script.ts";
import { hadIn, lostOf } from "../../test/generate/whole.ts";
import { tries } from "../../test/harness/effort.ts";
import { messageTexts } from "../../test/harness/kept.ts";
import type { Engine } from "../engine.ts";
import { validate } from "../wire/validate/validate.ts";

const LIMIT = 1500;
const seed = 20261115;
const script = scripts({ roundsMin: 8, roundsMax: 10 });

async function holds(
  property: (plimsoll: Engine, one: Script, other: Script) => Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(script, script, async (one, other) => {
      const plimsoll = await openWith(LIMIT);
      try {
        await property(plimsoll, one, other);
      } finally {
        await plimsoll.close();
      }
    }),
    tries({ runs: 2, soak: 8, seed }),
  );
}

/** It fits, it is valid, and nothing is lost. */
async function expectPromises(plimsoll: Engine, passed: Passed): Promise<void> {
  const { wire, turn, sentText, request } = passed;
  expect(violationsOf(passed)).toEqual([]);
  const { tokensAfter, measurement, refusal, isFinal } = turn.fitted;
  if (refusal === undefined && !isFinal)
    expect(tokensAfter - measurement.tools).toBeLessThanOrEqual(LIMIT);
  const had = await hadIn(plimsoll, wire, sentText);
  expect(lostOf(had, request.messages)).toEqual([]);
}

describe.each(WIRES)("%s", (wire) => {
  test("rewound, gone another way, and taken up again", () =>
    holds(async (plimsoll, one, other) => {
      const turned = (at: number): readonly Request[] => {
        const rounds = [...one.rounds.slice(0, at), ...other.rounds.slice(at)];
        return requestsOf(wire, { ...one, rounds });
      };
      const first = requestsOf(wire, one);
      const way = [...first, ...turned(5).slice(-6), ...turned(2).slice(-8), ...first.slice(-2)];
      for (const request of way)
        await expectPromises(plimsoll, await pass(plimsoll, wire, request));
    }));

  test("several requests of one conversation at once", () =>
    holds(async (plimsoll, one) => {
      const requests = requestsOf(wire, one);
      for (let index = 0; index < requests.length; index += 3) {
        const group = requests.slice(index, index + 3);
        const passed = await Promise.all(group.map((request) => pass(plimsoll, wire, request)));
        for (const each of passed) await expectPromises(plimsoll, each);
      }
    }));
});

test("openai-chat: under a system prompt whose date moves on, what was cut stays cut", () =>
  holds(async (plimsoll, one) => {
    const wire = "openai-chat";
    let before: readonly string[] = [];
    for (const [day, request] of requestsOf(wire, { ...one, hasMarks: false }).entries()) {
      const dated = (text: string): string => text.replace("the 15th", `the ${15 + day}th`);
      const body = Buffer.from(dated(Buffer.from(request.body).toString()));
      const messages = request.messages.map(dated);
      const passed = await pass(plimsoll, wire, { ...request, messages, body });
      await expectPromises(plimsoll, passed);
      const texts = messageTexts(wire, passed.sentText);
      const isCut = passed.newEdits.some(({ action }) => action.kind !== "insert");
      const count = Math.max(1, before.length - 2);
      if (!isCut) expect(texts.slice(1, count)).toEqual(before.slice(1, count));
      before = texts;
    }
  }));

test("openai-responses: a history that the provider holds is put into the request once something of it is cut", () =>
  holds(async (plimsoll, one) => {
    const wire = "openai-responses";
    const requests = requestsOf(wire, { ...one, hasMarks: false, isReworded: false });
    const isCut = new Set<boolean>();
    for (const [index, request] of requests.entries()) {
      const turn = await receive(plimsoll, wire, heldBody(requests, index), {
        hints: { isCompacted: false },
      });
      expect(turn.fitted.refusal).toBeUndefined();
      isCut.add(turn.body !== undefined);
      if (turn.body !== undefined) {
        const bodyText = new TextDecoder().decode(turn.body);
        const body = JSON.parse(bodyText) as Record<string, string | null>;
        expect(body["previous_response_id"]).toBeNull();
        const findings = validate({ wire, body, bodyText });
        // Lone surrogates are the client's own.
        expect(findings.filter(({ rule }) => rule !== "X4")).toEqual([]);
        const had = await hadIn(plimsoll, wire, bodyText);
        expect(lostOf(had, request.messages)).toEqual([]);
      }
      const response = { id: `resp_${index}`, object: "response" };
      const answer = { outcome: "message", response, choices: [request.answer] } as const;
      await turn.end({ status: "complete", answer });
    }
    expect(isCut).toContain(true);
  }));

/** Only what is new, behind the name of the last answer. */
function heldBody(requests: readonly Request[], index: number): Uint8Array {
  const [request, before] = [requests[index], requests[index - 1]];
  if (request === undefined) throw new RangeError(`There is no request ${index}.`);
  const known = before === undefined ? 0 : before.messages.length + before.answer.length;
  const whole = Buffer.from(request.body)
    .toString()
    .replace(/"store":false/, '"store":true');
  const body = withMessages("openai-responses", whole, request.messages.slice(known));
  const name = before === undefined ? "" : `"previous_response_id":"resp_${index - 1}",`;
  return Buffer.from(body.replace("{", `{${name}`));
}
