/** The scripted provider's record of its own answers. Like a real provider, it can tell its own items from invented ones. */
import type { Reply } from "./answer-parts.ts";
import { isString, type JsonObject } from "./json.ts";
import { type Item, itemType } from "./responses-items.ts";

/** An answer of the Responses wire. */
export interface IssuedResponse {
  readonly id: string;
  /** Everything that the model had read for it, including earlier responses. */
  readonly heard: readonly JsonObject[];
  readonly output: readonly JsonObject[];
  readonly isStored: boolean;
}

export class Issued {
  readonly #conversations = new Map<string, readonly JsonObject[]>();
  readonly #items = new Map<string, JsonObject>();
  /** Ids of reasoning items, each with its encrypted content. */
  readonly #encrypted = new Set<string>();
  /** The reasoning item that belongs to an item, by item id and by call id. */
  readonly #reasoningOf = new Map<string, string>();
  readonly #thinking = new Map<string, string>();
  readonly #signed = new Map<string, readonly string[]>();

  rememberResponse({ id, heard, output, isStored }: IssuedResponse): void {
    if (isStored) {
      this.#conversations.set(id, [...heard, ...output]);
      for (const item of output) this.#items.set(String(item["id"]), item);
    }
    let reasoning: string | undefined;
    for (const item of output) {
      if (itemType(item) === "reasoning") {
        reasoning = String(item["id"]);
        const encrypted = item["encrypted_content"];
        if (isString(encrypted)) this.#encrypted.add(`${reasoning} ${encrypted}`);
        continue;
      }
      if (reasoning === undefined) continue;
      for (const name of namesOf(item)) this.#reasoningOf.set(name, reasoning);
    }
  }

  /** Anthropic signs each thinking block. */
  rememberThinking({ parts }: Reply): void {
    for (const part of parts) {
      if (part.kind === "reasoning") this.#thinking.set(part.signature, part.chunks.join(""));
    }
  }

  /** Gemini signs some parts of an answer. A client may send such a part back in several forms. */
  rememberSigned(forms: ReadonlyMap<string, readonly string[]>): void {
    for (const [signature, each] of forms) this.#signed.set(signature, each);
  }

  /** All items up to the end of a stored response. */
  conversation(responseId: string): readonly JsonObject[] | undefined {
    return this.#conversations.get(responseId);
  }

  storedItem(id: string): JsonObject | undefined {
    return this.#items.get(id);
  }

  isEncryptedReasoning(id: string, encryptedContent: string): boolean {
    return this.#encrypted.has(`${id} ${encryptedContent}`);
  }

  /** The reasoning item that belongs to an item of the model, by its id or by its call id. */
  reasoningOf(name: string): string | undefined {
    return this.#reasoningOf.get(name);
  }

  /** The text that has this signature. */
  thinkingWith(signature: string): string | undefined {
    return this.#thinking.get(signature);
  }

  /** The forms of the part that has this signature on the Gemini wire. */
  formsSignedBy(signature: string): readonly string[] {
    return this.#signed.get(signature) ?? [];
  }
}

function namesOf(item: Item): string[] {
  return [item.id, item.call_id].filter(isString);
}
