import { expect, test } from "vitest";
import type { EditPlace } from "../../message/edit.ts";
import type { Message } from "../../message/message.ts";
import type { Proposal, VisibleConversation } from "../../message/strategy.ts";
import { withPlaces } from "./file-calls.ts";

function conversationOf(messages: readonly Message[]): VisibleConversation {
  return {
    messages: messages.map((message, number) => ({
      message,
      tokens: 1,
      bytes: 1,
      isPinned: false,
      number,
    })),
    units: [],
    tokens: messages.length,
    mustAlternate: false,
    hasArchive: true,
    weigh: async (some) => some.map(() => 1),
  };
}

const replacing = (place: EditPlace): Proposal => ({
  kind: "replace",
  message: 1,
  part: 0,
  inner: 0,
  place,
  reason: "",
  textFor: () => "",
});

test.each<[string, object, EditPlace]>([
  ["read_file", { path: "a.ts" }, "read-tool"],
  ["bash", { command: "cat a.ts" }, "read-tool"],
  ["write_file", { path: "a.ts", content: "x" }, "alter-tool"],
  ["bash", { command: "npm test" }, "no-file-read"],
])("an edit of a result says whether %s %j read or changed a file", (name, fields, place) => {
  const conversation = conversationOf([
    {
      role: "assistant",
      parts: [{ kind: "tool-call", id: "c1", name, input: JSON.stringify(fields) }],
    },
    {
      role: "tool",
      parts: [
        {
          kind: "tool-result",
          callId: "c1",
          content: [{ kind: "text", text: "x" }],
          isError: false,
        },
      ],
    },
  ]);
  expect(withPlaces(conversation, [replacing("no-file-read")])).toMatchObject([{ place }]);
  expect(withPlaces(conversation, [replacing("undefined")])).toMatchObject([
    { place: "undefined" },
  ]);
});
