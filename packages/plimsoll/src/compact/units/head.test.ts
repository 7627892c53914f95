import { expect, it } from "vitest";
import type { Message, Part } from "../../message/message.ts";
import type { VisibleMessage } from "../../message/strategy.ts";
import { splitUnits } from "../../message/unit.ts";
import { headLength, isSpoken, spokenUnits } from "./head.ts";

const says = (role: Message["role"], text = "words"): Message => ({
  role,
  parts: [{ kind: "text", text }],
});
const result: Part = { kind: "tool-result", callId: "a", content: [], isError: false };
const call: Message = {
  role: "assistant",
  parts: [{ kind: "tool-call", id: "a", name: "read", input: {} } as Part],
};

function headOf(messages: readonly Message[]): number {
  return headLength({ messages: messages.map((message) => ({ message }) as VisibleMessage) });
}

it("the head ends with the first words of the user", () => {
  expect(headOf([says("system"), says("user"), says("assistant"), says("user")])).toBe(2);
  expect(headOf([says("assistant"), says("user")])).toBe(2);
});

it("a conversation in which the user has said nothing has no head", () => {
  expect(headOf([says("system"), says("assistant")])).toBe(0);
  expect(headOf([])).toBe(0);
});

it("results are not the user's words, even in a message of the user", () => {
  expect(isSpoken({ role: "user", parts: [result] })).toBe(false);
  expect(isSpoken({ role: "user", parts: [result, { kind: "text", text: "and now" }] })).toBe(true);
  expect(isSpoken(undefined)).toBe(false);
});

it("the first and the last unit of the user are found by what is in them", () => {
  const messages = [
    says("system"),
    says("user"),
    call,
    { role: "user", parts: [result] } as Message,
    says("assistant"),
    says("user"),
    says("assistant"),
  ];
  const units = splitUnits(messages);
  const { firstUser, lastUser } = spokenUnits(messages, units);
  expect([units[firstUser]?.first, units[lastUser]?.first]).toEqual([1, 5]);
  expect(spokenUnits([], [])).toEqual({ firstUser: -1, lastUser: -1 });
});
