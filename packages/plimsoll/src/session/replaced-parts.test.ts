/** Parts of messages that a strategy replaces by a handle: the rest stays as it was, and the handle opens what stood there. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  answered,
  called,
  requestOf,
  result,
  said,
  tokensOfText,
} from "../../test/generate/bodies.ts";
import { requestsOf, WIRES } from "../../test/generate/conversations.ts";
import { openWith, type Passed, pass, violationsOf } from "../../test/generate/rehearsal.ts";
import { scripts } from "../../test/generate/script.ts";
import { archivedText } from "../../test/generate/whole.ts";
import { tries } from "../../test/harness/effort.ts";
import type { Json, JsonObject, Wire } from "../../test/harness/json.ts";
import type { Engine } from "../engine.ts";
import type { Part } from "../message/message.ts";
import type { Proposal, Strategy } from "../message/strategy.ts";

const LIMIT = 1500;
const LONG = 100;

/** Every long text but those of the first and of the newest unit becomes a handle. */
const hiding: Strategy = {
  name: "hiding",
  propose: ({ messages, units }) => {
    const newest = units.at(-1)?.first ?? 0;
    return messages.flatMap(({ message }, index) =>
      index === 0 || index >= newest
        ? []
        : message.parts.flatMap((part, at) => hidden(part, { message: index, part: at })),
    );
  },
};

function hidden(
  part: Part,
  place: { readonly message: number; readonly part: number; readonly inner?: number },
): readonly Proposal[] {
  if (part.kind === "tool-result")
    return part.content.flatMap((inner, index) => hidden(inner, { ...place, inner: index }));
  if (part.kind !== "text" || part.text.length < LONG) return [];
  const textFor = ({ handle }: { readonly handle: string }): string => `[See ${handle}.]`;
  return [{ kind: "replace", ...place, place: "undefined", reason: "Long.", textFor }];
}

async function hidingIn(about: (plimsoll: Engine) => Promise<void>): Promise<void> {
  const plimsoll = await openWith(LIMIT, { parts: { strategies: [hiding] } });
  try {
    await about(plimsoll);
  } finally {
    await plimsoll.close();
  }
}

/** Of each part that was just replaced, its handle and what it opens. */
async function openedBy(
  plimsoll: Engine,
  { newEdits, sentText }: Passed,
): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const { action } of newEdits) {
    if (action.kind !== "replace") continue;
    expect(sentText).toContain(action.handle);
    const text = await archivedText(plimsoll, action.handle ?? "");
    const record = await plimsoll.store.archived("t", action.handle ?? "");
    expect(record?.bytes).toBe(Buffer.byteLength(text));
    texts.push(text);
  }
  return texts;
}

function stringsIn(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value as JsonObject).flatMap(stringsIn);
}

/** A question, what is asked about, and enough behind it that something must go. */
async function hideOne(
  plimsoll: Engine,
  wire: Wire,
  turns: readonly (readonly JsonObject[])[],
  answers: readonly JsonObject[],
): Promise<Passed> {
  const messages: JsonObject[] = [];
  for (const [index, added] of turns.entries()) {
    messages.push(...added);
    await pass(plimsoll, wire, requestOf(wire, messages, {}, [answers[index] ?? answered("Aye.")]));
  }
  messages.push(answered("Aye."), said(tokensOfText(LIMIT * 0.9)));
  return pass(plimsoll, wire, requestOf(wire, messages));
}

describe.each(WIRES)("%s", (wire) => {
  test("replaced texts can be read again, and the request is valid without them", async () => {
    const script = scripts({ roundsMin: 8, roundsMax: 12 }).map((generated) => ({
      ...generated,
      isReworded: false,
    }));
    let replaced = 0;
    await fc.assert(
      fc.asyncProperty(script, (generated) =>
        hidingIn(async (plimsoll) => {
          for (const request of requestsOf(wire, generated)) {
            const one = await pass(plimsoll, wire, request);
            expect(violationsOf(one)).toEqual([]);
            const strings = stringsIn(JSON.parse(one.clientText) as JsonObject);
            const known = new Set(strings.map((text) => text.toWellFormed()));
            const texts = await openedBy(plimsoll, one);
            // What is no text by itself comes back as the JSON that it was.
            for (const text of texts)
              expect(known.has(text) || one.clientText.includes(text)).toBe(true);
            replaced += texts.length;
          }
        }),
      ),
      tries({ runs: 2, soak: 12, seed: 20261115 }),
    );
    expect(replaced).toBeGreaterThan(20);
  });

  test("a text that UTF-8 cannot hold comes back as it was", () =>
    hidingIn(async (plimsoll) => {
      const odd = `${"x".repeat(LONG * 5)}\ud800`;
      const turns = [[said("look"), called(wire, "c1"), result(wire, "c1", odd)]];
      const texts = await openedBy(plimsoll, await hideOne(plimsoll, wire, turns, []));
      expect(texts).toHaveLength(1);
      expect([odd, JSON.stringify(odd)]).toContain(texts[0]);
    }));
});

test("openai-chat: an answer that the client sent back without its reasoning is hidden as it stood there", () =>
  hidingIn(async (plimsoll) => {
    const words = tokensOfText(200);
    const answer = { ...answered(words), reasoning_content: "I think." };
    const turns = [[said("one")], [answered(words), said("two")]];
    const passed = await hideOne(plimsoll, "openai-chat", turns, [answer]);
    expect(await openedBy(plimsoll, passed)).toEqual([words]);
  }));
