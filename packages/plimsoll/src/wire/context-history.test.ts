/** Document E, "Data Structures": `Map<messageIndex, [editType, Map<blockIndex, ContextUpdate[]>]>`, as it is on the disk. */

import { describe, expect, test } from "vitest";
import { readContextHistory, withContextHistory } from "./context-history.ts";

/** The document's own example. */
const example = [
  [1, [0, [[0, [[1_234_567_890, "text", ["[NOTE] Previous context truncated..."], []]]]]]],
  [
    5,
    [
      2,
      [
        [
          1,
          [
            [
              1_234_567_891,
              "text",
              ["<file_content>...DUPLICATE CONTENT NOTICE...</file_content>"],
              [],
            ],
          ],
        ],
      ],
    ],
  ],
];

const block = (text: string) => ({ type: "text", text });
const talk = Array.from({ length: 6 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: [block(`first ${index}`), block(`second ${index}`)],
}));

describe("a context_history.json", () => {
  test("is read with time, place, message, block and text, oldest first", () => {
    expect(readContextHistory(example.toReversed())).toEqual([
      {
        message: 1,
        block: 0,
        place: "undefined",
        at: 1_234_567_890,
        text: "[NOTE] Previous context truncated...",
      },
      {
        message: 5,
        block: 1,
        place: "read-tool",
        at: 1_234_567_891,
        text: "<file_content>...DUPLICATE CONTENT NOTICE...</file_content>",
      },
    ]);
  });

  test("applies to its conversation, which itself stays as it is", () => {
    const before = structuredClone(talk);
    const { messages, unknown } = withContextHistory(talk, readContextHistory(example));
    expect(messages[1]).toEqual({
      role: "assistant",
      content: [block("[NOTE] Previous context truncated..."), block("second 1")],
    });
    expect(messages[5]).toMatchObject({ content: [block("first 5"), { type: "text" }] });
    expect(unknown).toEqual([]);
    expect(talk).toEqual(before);
  });

  test("the latest of several changes of a block counts, or the latest until a time", () => {
    const history = [
      [
        0,
        [
          4,
          [
            [
              1,
              [
                [10, "text", ["one"], []],
                [20, "text", ["two"], []],
              ],
            ],
          ],
        ],
      ],
    ];
    const updates = readContextHistory(history);
    const textAt = (until?: number) => withContextHistory(talk, updates, until).messages[0];
    expect(textAt()).toMatchObject({ content: [block("first 0"), block("two")] });
    expect(textAt(15)).toMatchObject({ content: [block("first 0"), block("one")] });
    expect(textAt(5)).toEqual(talk[0]);
  });

  test("changes of what the conversation does not have are named, and change nothing", () => {
    const history = [[99, [0, [[0, [[1, "text", ["x"], []]]]]]]];
    const { messages, unknown } = withContextHistory(talk, readContextHistory(history));
    expect(messages).toEqual(talk);
    expect(unknown).toMatchObject([{ message: 99 }]);
  });

  test.each<[string, unknown, string]>([
    ["an object", {}, "a list is missing where a message should be"],
    ["a bare list", [1, 2], "a message is not a pair"],
    ["a wrong index", [[-1, [0, []]]], "a message has the index -1"],
    ["an unknown kind", [[1, [9, []]]], "message 1 has the kind 9, which is unknown"],
    ["a block without changes", [[1, [0, [[0, 7]]]]], "block 1.0 has no list of changes"],
    [
      "a change without a time",
      [[1, [0, [[0, [["now", "text", ["x"], []]]]]]]],
      'a change of block 1.0 is not [time, "text", [text], metadata]',
    ],
  ])("%s: one sentence", (_, history, problem) => {
    expect(() => readContextHistory(history)).toThrow(
      `This is no context_history.json of MarieCoder or Cline: ${problem}. Give the file from the folder of the task.`,
    );
  });
});
