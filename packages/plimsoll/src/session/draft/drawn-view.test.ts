/** A view that was drawn once is taken over only while everything that the drawing depends on has the same bytes. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import { wires } from "../../wire/wires.ts";
import type { LogMessage } from "../log/log.ts";
import { type Path, pathOf } from "../log/path.ts";
import type { View } from "../log/view.ts";
import { wholeView } from "../log/view.ts";
import type { Ruler } from "../measure/message-facts.ts";
import { drawView } from "./drawn-view.ts";
import type { Rendering } from "./render.ts";

const encoder = new TextEncoder();
const ruler = { key: "r" } as Ruler;
const facts = {
  learn: async (_wire: unknown, messages: readonly Uint8Array[]) =>
    messages.map((bytes) => ({ tokens: bytes.length, bytes: bytes.length }) as LogMessage),
};

interface Said {
  readonly key: object;
  readonly bytes: Uint8Array;
}

function say(index: number, words: string): Said {
  const role = index % 2 === 0 ? "user" : "assistant";
  return { key: {}, bytes: encoder.encode(JSON.stringify({ role, content: words })) };
}

function pathWith(messages: readonly Said[]): Path {
  return pathOf({
    log: { inner: new Map(), seqByChain: new Map() } as never,
    links: [],
    messages: messages.map(({ bytes }) => ({ tokens: bytes.length, bytes: bytes.length })),
    bytesAt: (index) => messages[index]?.bytes ?? new Uint8Array(),
    keys: messages.map(({ key }) => key),
  });
}

/** A gap from the third message to the fifth, and a shorter text in the eighth. */
function viewWith(text: string): View {
  const gap = { first: 2, last: 4, text, edit: {} as never };
  return { ...wholeView, gaps: [gap], replacements: new Map([[7, [{ part: 0, text: "short" }]]]) };
}

const renderings: readonly Rendering[] = [
  { wire: wires["openai-chat"], ownTextPlacement: wires["openai-chat"].edit.ownTextPlacement },
  { wire: wires.anthropic, ownTextPlacement: wires.anthropic.edit.ownTextPlacement },
];

describe.each(renderings)("on $wire.name", (rendering) => {
  test("whatever changes between two turns, the drawing is what it would be from nothing", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ at: fc.nat(14), words: fc.string({ maxLength: 12 }) }), {
          minLength: 1,
          maxLength: 8,
        }),
        async (changes) => {
          const view = viewWith("some messages are gone");
          let messages = Array.from({ length: 10 }, (_, index) => say(index, `said ${index}`));
          await drawView(facts, view, { path: pathWith(messages), rendering, ruler });
          for (const { at, words } of changes) {
            messages =
              at < messages.length
                ? messages.with(at, say(at, words))
                : [...messages, say(messages.length, words)];
            const path = pathWith(messages);
            const { patches, removed, added } = await drawView(facts, view, {
              path,
              rendering,
              ruler,
            });
            const anew = await drawView(facts, viewWith("some messages are gone"), {
              path,
              rendering,
              ruler,
            });
            expect({ patches, removed, added }).toEqual({
              patches: anew.patches,
              removed: anew.removed,
              added: anew.added,
            });
          }
        },
      ),
      tries({ runs: 60, soak: 1000, seed: 23 }),
    ));

  test("as long as messages are only added, it is the same drawing", async () => {
    const view = viewWith("some messages are gone");
    let messages = Array.from({ length: 10 }, (_, index) => say(index, `said ${index}`));
    const draw = () => drawView(facts, view, { path: pathWith(messages), rendering, ruler });
    await draw();
    const first = await draw();
    for (let turn = 0; turn < 5; turn++) {
      messages = [...messages, say(messages.length, "more")];
      expect(await draw()).toBe(first);
    }
    messages = messages.with(7, say(7, "other words"));
    expect(await draw()).not.toBe(first);
  });
});
