/** Document E: "When the same file appears multiple times, all but the last occurrence are replaced with a compact notice." */

import { describe, expect, test } from "vitest";
import { chainOn } from "../../../test/generate/chained.ts";
import {
  assistant,
  exchange,
  linesOf,
  read,
  shell,
  shown,
  user,
} from "../../../test/generate/said.ts";
import { applyProposals, count, HANDLE, seenFrom } from "../../../test/generate/seen.ts";
import type { Message } from "../../message/message.ts";
import { olderCopies } from "./older-copies.ts";

const goal = { limitTokens: 1_000, tokens: 1, floorTokens: 0 };
/** The same file at four times. Every line of it has changed. */
const version = (number: number): readonly string[] => linesOf(`v${number}`, 12);
const notice = (file: string, number: number): string =>
  `[Plimsoll: ${file} comes again in #${number}. This older copy is kept under ${HANDLE}.]`;

function textsAfter(messages: readonly Message[]): ReadonlyMap<number, string> {
  const before = seenFrom([user("Mend it."), ...messages, assistant("Done."), user("And now?")]);
  const proposals = olderCopies({ count }).propose(before, goal);
  if (proposals instanceof Promise) throw new Error("olderCopies proposes at once.");
  return shown(applyProposals(before, proposals).conversation);
}

describe("all but the last occurrence are replaced", () => {
  test("also when the content of the file changed", () => {
    const texts = textsAfter([1, 2, 3, 4].flatMap((number) => read("src/a.ts", version(number))));
    for (const at of [2, 4, 6]) expect(texts.get(at)).toBe(notice("src/a.ts", 8));
    expect(texts.get(8)).toBe(version(4).join("\n"));
  });

  test("of read_file, cat, a write and a mention of the same file, however its path is spelled", () => {
    const texts = textsAfter([
      user("Working directory: /srv/app"),
      ...read("./src/a.ts", version(1)),
      ...shell("cat /srv/app/src/a.ts", version(2).join("\n")),
      user(`See <file_content path="src/a.ts">\n${version(3).join("\n")}\n</file_content> now.`),
      ...exchange("write_file", { path: "src/a.ts", content: version(4).join("\n") }, "ok"),
    ]);
    expect(texts.get(3)).toBe(notice("src/a.ts", 7));
    expect(texts.get(5)).toBe(notice("src/a.ts", 7));
    expect(texts.get(6)).toBe(
      `See <file_content path="src/a.ts">\n${notice("src/a.ts", 7)}\n</file_content> now.`,
    );
    expect(texts.get(7)).toContain("compute_v4");
  });

  test("several files in one message, each on its own", () => {
    const block = (path: string, number: number): string =>
      `<file_content path="${path}">\n${version(number).join("\n")}\n</file_content>`;
    const texts = textsAfter([
      user(`${block("a.ts", 1)}\n${block("b.ts", 2)}`),
      assistant("I see."),
      ...read("b.ts", version(3)),
    ]);
    expect(texts.get(1)).toBe(
      `${block("a.ts", 1)}\n<file_content path="b.ts">\n${notice("b.ts", 4)}\n</file_content>`,
    );
  });

  test("final_file_content in the result of an editing tool counts as a copy", () => {
    const result = `Saved.\n<final_file_content path="a.ts">\n${version(2).join("\n")}\n</final_file_content>`;
    const texts = textsAfter([
      ...read("a.ts", version(1)),
      ...exchange("replace_in_file", { path: "a.ts", diff: "…" }, result),
    ]);
    expect(texts.get(2)).toBe(notice("a.ts", 4));
    expect(texts.get(4)).toBe(result);
  });

  test("an older part of a file that is shown whole later", () => {
    const part = exchange(
      "read_file",
      { path: "a.ts", offset: 10, limit: 5 },
      version(1).join("\n"),
    );
    expect(textsAfter([...part, ...read("a.ts", version(2))]).get(2)).toBe(notice("a.ts", 4));
  });
});

describe("stay as they are", () => {
  const isSame = (messages: readonly Message[]): void => {
    const texts = textsAfter(messages);
    expect([...texts.values()].join()).not.toContain("comes again");
  };

  test("a whole file of which only a part is read later", () => {
    isSame([
      ...read("a.ts", version(1)),
      ...exchange("read_file", { path: "a.ts", offset: 10 }, version(2).join("\n")),
      ...shell("sed -n 1,12p a.ts", version(2).join("\n")),
      ...shell("cat a.ts | head -12", version(2).join("\n")),
    ]);
  });

  test("an older copy that the model has not answered yet", () => {
    const messages = [...read("a.ts", version(1)), ...read("a.ts", version(2))];
    const all = [user("Mend it."), ...messages, assistant("Done."), user("And now?")];
    const unseen = seenFrom(all, { pinned: [2] });
    expect(olderCopies({ count }).propose(unseen, goal)).toEqual([]);
    expect(olderCopies({ count }).propose(seenFrom(all), goal)).toHaveLength(1);
  });

  test("the output of a command that does more than read", () => {
    isSame([...shell("cat a.ts && npm test", version(1).join("\n")), ...read("a.ts", version(2))]);
  });

  test("a file before a change of a part of it", () => {
    const edit = { path: "a.ts", old_str: "x", new_str: version(2).join("\n") };
    isSame([...read("a.ts", version(1)), ...exchange("edit_file", edit, "ok")]);
  });

  test("a file before a read that failed", () => {
    const [call, result] = read("a.ts", version(2));
    const failed = {
      ...result,
      parts: result?.parts.map((part) => ({ ...part, isError: true })),
    } as Message;
    isSame([...read("a.ts", version(1)), ...(call === undefined ? [] : [call]), failed]);
  });

  test("a file before a write that failed", () => {
    const content = version(2).join("\\n");
    const [call, result] = exchange("write_file", { path: "a.ts", content }, "No such folder.");
    const failed = {
      ...result,
      parts: result?.parts.map((part) => ({ ...part, isError: true })),
    } as Message;
    isSame([...read("a.ts", version(1)), ...(call === undefined ? [] : [call]), failed]);
  });

  test("short texts, which the notice would only make longer", () => {
    isSame([...read("a.ts", ["one"]), ...read("a.ts", ["two"])]);
  });
});

describe("file_reads: last", () => {
  const talk = seenFrom([
    user("Mend it."),
    ...[1, 2, 3, 4].flatMap((number) => read("src/a.ts", version(number))),
    ...shell("npm test", linesOf("passed", 40).join("\n")),
    assistant("Done."),
    user("And now?"),
  ]);
  const deep = { limitTokens: talk.tokens, tokens: Math.floor(talk.tokens * 0.4), floorTokens: 0 };

  test("the excerpt does not bring older copies back", async () => {
    const { conversation, taken } = await chainOn(talk, deep, { file_reads: "last" }, []);
    expect(taken.map(({ name }) => name)).toEqual(["older_copies", "excerpt"]);
    const all = [...shown(conversation).values()].join("\n");
    for (const number of [1, 2, 3]) expect(all).not.toContain(`compute_v${number}`);
    expect(all).toContain("compute_v4");
  });

  test("is off by default: lines that differ stay until the excerpt chooses", async () => {
    const { taken } = await chainOn(talk, deep, undefined, []);
    expect(taken.map(({ name }) => name)).not.toContain("older_copies");
  });
});
