/** Messages with new texts are rendered once, and again only if their texts change. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { wires } from "../../wire/wires.ts";
import type { Conversation } from "../log/path.ts";
import { type Replacement, type View, wholeView } from "../log/view.ts";
import { decodeMessage, encodeMessage } from "./encode.ts";
import { type Patch, renderView } from "./render.ts";

const wire = wires["openai-chat"];
const rendering = { wire, ownTextPlacement: wire.edit.ownTextPlacement };

function messagesOf(count: number): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({ role: "user", content: `message ${at}` }));
}

function conversation(messages: readonly object[], isKept: boolean): Conversation {
  return {
    length: messages.length,
    bytesAt: (index) => encodeMessage({ ...messages[index] }),
    innerAt: () => undefined,
    mayCarryMark: () => false,
    ...(isKept ? { keys: messages } : {}),
  };
}

function viewWith(texts: readonly (string | undefined)[]): View {
  const replacements = new Map<number, readonly Replacement[]>();
  for (const [index, text] of texts.entries())
    if (text !== undefined) replacements.set(index, [{ part: 0, text }]);
  return { ...wholeView, replacements };
}

function shown(patches: readonly Patch[]): readonly unknown[] {
  return patches.map(({ first, end, elements }) => [first, end, elements.map(decodeMessage)]);
}

describe("over many turns", () => {
  const text = fc.option(fc.constantFrom("one", "two", "three"), { nil: undefined });
  const turns = fc.array(fc.array(text, { minLength: 1, maxLength: 8 }), { maxLength: 12 });

  test("what was kept from earlier turns is what would be rendered from nothing", () =>
    fc.assert(
      fc.property(turns, (views) => {
        const messages = messagesOf(8);
        for (const texts of views) {
          const view = viewWith(texts);
          expect(shown(renderView(view, conversation(messages, true), rendering))).toEqual(
            shown(renderView(view, conversation(messages, false), rendering)),
          );
        }
      }),
      tries({ runs: 100, seed: 20261118 }),
    ));
});

test("an unchanged text is not rendered again, and a changed one is", () => {
  const messages = messagesOf(1);
  const bytesOf = (text: string): Uint8Array | undefined =>
    renderView(viewWith([text]), conversation(messages, true), rendering)[0]?.elements[0];
  const first = bytesOf("one");
  expect(bytesOf("one")).toBe(first);
  expect(decodeMessage(bytesOf("two") ?? new Uint8Array())).toEqual({
    role: "user",
    content: "two",
  });
});
