/** More images than a provider takes: the oldest become handles, the newest stay, and the request is valid. */

import { describe, expect, test } from "vitest";
import { answered, called, requestOf, said } from "../../test/generate/bodies.ts";
import { openWith, type Passed, pass, violationsOf } from "../../test/generate/rehearsal.ts";
import { imageData } from "../../test/generate/texts.ts";
import { archivedText } from "../../test/generate/whole.ts";
import type { JsonObject, Wire } from "../../test/harness/json.ts";
import { handlesIn } from "../../test/harness/kept.ts";
import type { Engine } from "../engine.ts";

/** Far more than any of these conversations. */
const LIMIT = 700_000;
const PIXELS = 600;

function image(wire: Wire, seed: number, pixels = PIXELS): JsonObject {
  const data = imageData(seed, pixels);
  const url = `data:image/png;base64,${data}`;
  switch (wire) {
    case "anthropic":
      return { type: "image", source: { type: "base64", media_type: "image/png", data } };
    case "openai-chat":
      return { type: "image_url", image_url: { url, detail: "low" } };
    case "openai-responses":
      return { type: "input_image", image_url: url, detail: "low" };
    case "gemini":
      return { inlineData: { mimeType: "image/png", data } };
  }
}

const images = (wire: Wire, count: number, from = 0, pixels = PIXELS): readonly JsonObject[] =>
  Array.from({ length: count }, (_, index) => image(wire, from + index, pixels));

/** One question with some images after the other, each answered but the last. */
function talkWith(wire: Wire, counts: readonly number[], pixels = PIXELS): readonly JsonObject[] {
  let from = 0;
  return counts.flatMap((count, index) => {
    const content = [
      ...images(wire, count, from, pixels),
      { type: wire === "openai-responses" ? "input_text" : "text", text: `What is ${index}?` },
    ];
    from += count;
    const isLast = index === counts.length - 1;
    return isLast ? [said(content)] : [said(content), answered(`It is ${index}.`)];
  });
}

const imagesIn = (text: string): number =>
  text.match(/"type":"(?:image|image_url|input_image)"/g)?.length ?? 0;

async function sending(
  wire: Wire,
  messages: readonly JsonObject[],
  about: (passed: Passed, plimsoll: Engine) => Promise<void>,
): Promise<void> {
  const plimsoll = await openWith(LIMIT, { config: { agent: { context_budget: "window" } } });
  try {
    await about(await pass(plimsoll, wire, requestOf(wire, messages)), plimsoll);
  } finally {
    await plimsoll.close();
  }
}

const MOST: readonly { readonly wire: Wire; readonly most: number }[] = [
  { wire: "anthropic", most: 100 },
  { wire: "openai-chat", most: 500 },
  { wire: "openai-responses", most: 500 },
];

describe.each(MOST)("$wire takes $most images", ({ wire, most }) => {
  test("as many go out as they came", () =>
    sending(wire, talkWith(wire, [most - 1, 1]), async ({ turn }) => {
      expect(turn.body).toBeUndefined();
    }));

  test("of one more, which the newest message shows, some of the older ones become handles", () =>
    sending(wire, talkWith(wire, [most - 60, 60, 1]), async (passed) => {
      expect(passed.turn.fitted.outcome).toBe("compacted");
      expect(violationsOf(passed)).toEqual([]);
      expect(imagesIn(passed.sentText)).toBeLessThanOrEqual(most);
      expect(passed.sentText).toContain(JSON.stringify(image(wire, most)));
    }));

  test("the oldest become handles that open them again, and half of what is allowed stays", () =>
    sending(wire, talkWith(wire, [most - 40, 60, 1]), async (passed, plimsoll) => {
      const { sentText, turn, newEdits } = passed;
      expect(turn.fitted.outcome).toBe("compacted");
      expect(violationsOf(passed)).toEqual([]);
      const left = imagesIn(sentText);
      expect(left).toBeLessThanOrEqual(most / 2 + 1);
      const handles = handlesIn(sentText);
      expect(handles).toHaveLength(most + 21 - left);
      expect(newEdits).toHaveLength(handles.length);
      for (const [index, handle] of handles.entries())
        expect(await archivedText(plimsoll, handle)).toBe(JSON.stringify(image(wire, index)));
      for (let index = handles.length; index < left; index++)
        expect(sentText).toContain(JSON.stringify(image(wire, index)));
    }));

  test("what the newest message shows stays, and the older ones make room for it", () =>
    sending(wire, talkWith(wire, [most - 40, 50]), async (passed) => {
      expect(imagesIn(passed.sentText)).toBeLessThanOrEqual(most);
      expect(violationsOf(passed)).toEqual([]);
      for (const one of images(wire, 50, most - 40))
        expect(passed.sentText).toContain(JSON.stringify(one));
    }));

  test("images that are smaller than their notice become handles too: it is their number that counts", () =>
    sending(wire, talkWith(wire, Array<number>(most + 20).fill(1), 28), async (passed) => {
      expect(imagesIn(passed.sentText)).toBeLessThanOrEqual(most);
      expect(violationsOf(passed)).toEqual([]);
    }));

  test("more than that in the newest message alone are the client's own doing", () =>
    sending(wire, talkWith(wire, [1, most + 1]), async (passed) => {
      expect(imagesIn(passed.sentText)).toBeGreaterThan(most);
      expect(violationsOf(passed)).toEqual([]);
    }));
});

test.each(MOST)(
  "$wire: an undo that brings more images back than the provider takes is refused",
  async ({ wire, most }) => {
    const plimsoll = await openWith(LIMIT);
    const request = requestOf(wire, talkWith(wire, [most - 40, 60, 1]));
    const { turn } = await pass(plimsoll, wire, request);
    await expect(plimsoll.steering.undo(turn.session, {})).rejects.toMatchObject({
      code: "TOKEN_LIMIT_EXCEEDED",
      fields: { tooManyMedia: 21 },
    });
    await plimsoll.close();
  },
);

test("anthropic: images inside results become handles inside them", () => {
  const results = Array.from({ length: 4 }, (_, index): readonly JsonObject[] => {
    const content = images("anthropic", 40, index * 40);
    const block = { type: "tool_result", tool_use_id: `c${index}`, content };
    return [called("anthropic", `c${index}`), said([block])];
  });
  return sending("anthropic", [said("look"), ...results.flat()], async (passed) => {
    expect(passed.turn.fitted.outcome).toBe("compacted");
    expect(imagesIn(passed.sentText)).toBeLessThanOrEqual(100);
    expect(violationsOf(passed)).toEqual([]);
  });
});
