/** The text after the head: what it says, how much it may cost, and which handle it shows. */

import { describe, expect, test } from "vitest";
import { HANDLE } from "../../../test/generate/seen.ts";
import { estimateTokens } from "./long-lines.ts";
import { readMentionWeights, type Utterance } from "./mention-weights.ts";
import { digestText, noticeFor, withHandle } from "./notice-text.ts";

const utterances: readonly Utterance[] = [
  { message: 0, voice: "user", text: "mend load_line" },
  { message: 1, voice: "call", text: "src/hull.ts" },
  { message: 2, voice: "result", text: "hull_mark anchor_depth pl_aaaaaaaaaaaaaaaaaaaaaa" },
  { message: 3, voice: "user", text: "the harbour master" },
];
const mentionWeights = readMentionWeights(utterances, {
  startOf: [0, 10, 20, 30, 40],
  headLength: 1,
});
const nobody = { isMentioned: () => false, dangling: [] };

function namesIn(text: string): readonly string[] {
  return (/ Also: ([^\]]*)\]$/.exec(text)?.[1] ?? "").split(" ").filter(Boolean);
}

describe("the notice", () => {
  test.each([
    ["little room", 500],
    ["much room", 50_000],
  ])("with %s: names one handle, and says what #n is", (_, room) => {
    const notice = noticeFor(room, true);
    const text = withHandle(digestText(notice, mentionWeights, nobody, 0), HANDLE);
    expect(text.match(/pl_[0-9A-Za-z]{22}/g)).toEqual([HANDLE]);
    expect(text).toContain("#n");
    expect(estimateTokens(text)).toBeLessThanOrEqual(notice.tokens);
  });

  test("without an archive there is no handle", () => {
    const text = withHandle(digestText(noticeFor(5_000, false), mentionWeights, nobody, 100), "");
    expect(text).not.toContain("pl_");
    expect(text).toContain("#n is message n");
  });
});

describe("what else was mentioned", () => {
  const notice = noticeFor(500, true);

  test("is named as far as the room goes, what weighs most first", () => {
    const all = namesIn(digestText(notice, mentionWeights, nobody, notice.tokens + 100));
    expect(all).toContain("hull_mark");
    expect(all.slice(0, 2).toSorted()).toEqual(["hull.ts", "src/hull.ts"]);
    for (let room = 0; room < 30; room++) {
      const some = namesIn(digestText(notice, mentionWeights, nobody, notice.tokens + room));
      const cost = some.reduce((sum, name) => sum + estimateTokens(name) + 1, 0);
      expect(cost).toBeLessThanOrEqual(room);
    }
  });

  test("leaves out what the head says, what is said elsewhere, plain words, and handles that somebody wrote", () => {
    const isMentioned = (atom: number): boolean => mentionWeights.names[atom] === "anchor_depth";
    const said = { isMentioned, dangling: [] };
    const all = namesIn(digestText(notice, mentionWeights, said, notice.tokens + 500));
    expect(all).toContain("hull_mark");
    for (const name of ["load_line", "anchor_depth", "harbour"]) expect(all).not.toContain(name);
    expect(all.join(" ")).not.toContain("pl_");
  });

  test("nothing unsaid is nothing more", () => {
    const text = digestText(
      notice,
      mentionWeights,
      { isMentioned: () => true, dangling: [] },
      1_000,
    );
    expect(text).not.toContain("Also:");
  });

  test("what is said and no longer introduced is named again", () => {
    const dangling = [mentionWeights.names.indexOf("hull_mark")];
    const text = digestText(notice, mentionWeights, { isMentioned: () => true, dangling }, 1_000);
    expect(namesIn(text)).toEqual(["hull_mark"]);
  });
});
