/** Small conversations, written by hand. */

import { type Message, messageText, type Part } from "../../src/message/message.ts";
import type { VisibleConversation } from "../../src/message/strategy.ts";

export function user(words: string): Message {
  return { role: "user", parts: [{ kind: "text", text: words }] };
}

export function assistant(words: string): Message {
  return { role: "assistant", parts: [{ kind: "text", text: words }] };
}

export function system(words: string): Message {
  return { role: "system", parts: [{ kind: "text", text: words }] };
}

let calls = 0;

/** A call and its result, each in a message of its own. */
export function exchange(
  name: string,
  input: Readonly<Record<string, unknown>> | string,
  output: string | readonly Part[],
  words?: string,
): readonly Message[] {
  const id = `call_${++calls}`;
  const said: readonly Part[] = words === undefined ? [] : [{ kind: "text", text: words }];
  const content: readonly Part[] =
    typeof output === "string" ? [{ kind: "text", text: output }] : output;
  const json = typeof input === "string" ? input : JSON.stringify(input);
  return [
    { role: "assistant", parts: [...said, { kind: "tool-call", id, name, input: json }] },
    { role: "tool", parts: [{ kind: "tool-result", callId: id, content, isError: false }] },
  ];
}

export function read(path: string, lines: readonly string[]): readonly Message[] {
  return exchange("read_file", { path }, lines.join("\n"));
}

export function shell(command: string, output: string): readonly Message[] {
  return exchange("bash", { command }, output);
}

/** About so many tokens of prose about something. */
export function prose(about: string, tokens: number): string {
  const sentence = `The ${about} was looked at again and nothing new was found about it. `;
  return sentence.repeat(Math.ceil((tokens * 4) / sentence.length)).slice(0, tokens * 4);
}

export function linesOf(name: string, count: number): readonly string[] {
  return Array.from(
    { length: count },
    (_, line) => `${name}_${line} = compute_${name}(${line}, "value of ${name} number ${line}")`,
  );
}

/** The messages of a view as text, by their numbers. */
export function shown({ messages }: VisibleConversation): ReadonlyMap<number, string> {
  return new Map(messages.map(({ number, message }) => [number, messageText(message)]));
}

export function numbersOf({ messages }: VisibleConversation): readonly number[] {
  return messages.map(({ number }) => number);
}
