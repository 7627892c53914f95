/** The exact cost of the kept pieces in tokens. Each text is counted only once. */

import type { Message } from "../../message/message.ts";
import type { VisibleConversation } from "../../message/strategy.ts";
import type { RenderedChoice } from "./render-choice.ts";

export class Scales {
  readonly #conversation: VisibleConversation;
  readonly #known = new Map<string, number>();

  constructor(conversation: VisibleConversation) {
    this.#conversation = conversation;
  }

  /** Tokens of everything after the head, without the digest. The cost of an unchanged message is already known. */
  async tokensOf({ messages, gone }: RenderedChoice): Promise<number> {
    const gaps = gone.map(({ text }) => text).filter((text) => text !== "");
    const changed: Message[] = gaps.map(ownMessage);
    let known = 0;
    for (const [index, { message, changes }] of messages) {
      const { tokens, original } = this.#conversation.messages[index] ?? { tokens: 0 };
      if (changes.length > 0) changed.push(message);
      else known += original?.tokens ?? tokens;
    }
    return (await this.#weigh(changed)).reduce((sum, tokens) => sum + tokens, known);
  }

  async weighText(text: string): Promise<number> {
    const [tokens = 0] = await this.#weigh([ownMessage(text)]);
    return tokens;
  }

  async #weigh(messages: readonly Message[]): Promise<readonly number[]> {
    const keys = messages.map((message) => JSON.stringify(message));
    const unknown = messages.filter((_, index) => !this.#known.has(keys[index] ?? ""));
    const weights = await this.#conversation.weigh(unknown);
    for (const [index, message] of unknown.entries())
      this.#known.set(JSON.stringify(message), weights[index] ?? 0);
    return keys.map((key) => this.#known.get(key) ?? 0);
  }
}

export function ownMessage(text: string): Message {
  return { role: "user", parts: [{ kind: "text", text }] };
}
