/** The current task: what the user asked first and last, what the model said last, and how near a text is to that. */

import type { Message } from "../message/message.ts";
import { termsOf } from "../search/words.ts";
import type { SeenConversation } from "./strategy.ts";
import { isSpoken } from "./truncate.ts";

/** Of one message no more than this says what it is about. */
const queryCharacters = 4000;

/** Goal, the user's last words, the model's last words. */
export function taskText({ messages }: Pick<SeenConversation, "messages">): string {
  const isSaid = ({ role, parts }: Message): boolean =>
    role === "assistant" && parts.some(({ kind }) => kind === "text");
  const places = [
    messages.findIndex(({ message }) => isSpoken(message)),
    messages.findLastIndex(({ message }) => isSpoken(message)),
    messages.findLastIndex(({ message }) => isSaid(message)),
  ];
  return [...new Set(places)]
    .flatMap((index) => messages[index]?.message.parts ?? [])
    .flatMap((part) => (part.kind === "text" ? [part.text.slice(0, queryCharacters)] : []))
    .join("\n");
}

/** So much shared rarity, in natural logarithms, makes a text as near as can be: about two rare words. */
const enough = 8;

/** 0…1 for each text: the rarity of the terms that it shares with the task. `groups` says which texts are one message. */
export function nearnessTo(
  task: string,
  texts: readonly string[],
  groups: readonly number[],
): Float64Array {
  const wanted = new Set(termsOf(task));
  const shared = texts.map((text) => termsOf(text).filter((term) => wanted.has(term)));
  const messages = new Map<string, Set<number>>();
  for (const [index, terms] of shared.entries())
    for (const term of terms) {
      const held = messages.get(term) ?? new Set();
      messages.set(term, held.add(groups[index] ?? 0));
    }
  const all = new Set(groups).size;
  const rarity = (term: string): number =>
    Math.log(1 + all / ((messages.get(term)?.size ?? 0) + 0.5));
  return Float64Array.from(shared, (terms) => {
    let sum = 0;
    for (const term of new Set(terms)) sum += rarity(term);
    return Math.min(1, sum / enough);
  });
}
