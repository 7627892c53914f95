/** The conversation of a translated request: checks that every part has a counterpart, and makes ids that every wire accepts. Pure. */

import { isObject, type JsonObject } from "../../message/json.ts";
import type { Message, Part } from "../../message/message.ts";
import { translationTexts } from "../../text/for-models.ts";
import type { Wire } from "../format/wire.ts";
import type { Losses } from "./neutral.ts";

/** The messages in neutral form. Refuses those with content that only one provider understands. */
export function readMessages(
  wire: Wire,
  elements: readonly unknown[],
  losses: Losses,
): readonly Message[] {
  const messages = elements.flatMap((element) => {
    const json = wire.messages.asMessage(element as JsonObject);
    if (json === undefined) {
      losses.refuse("one of its messages cannot be read");
      return [];
    }
    const message = wire.messages.decode(json);
    if (message.stays !== undefined)
      losses.refuse("one of its messages has an unknown role or part");
    return [{ role: message.role, parts: message.parts.flatMap((part) => keptPart(part, losses)) }];
  });
  return withPlainIds(messages);
}

function keptPart(part: Part, losses: Losses): readonly Part[] {
  switch (part.kind) {
    case "text":
      return [part];
    case "tool-call":
      if (part.isToolSearch === true) losses.refuse("it contains the provider's own tool search");
      return [part];
    case "tool-result":
      return [{ ...part, content: resultContent(part, losses), isError: false }];
    case "image":
      if (part.media.kind === "file") losses.refuse("an image in it is stored with one provider");
      return [part];
    case "document":
      losses.refuse("it contains a document");
      return [];
    case "reasoning":
      // Only the model that had the thoughts can use them.
      losses.leaveOut("reasoning");
      return [];
    case "opaque":
      if (part.type === "redacted_thinking") {
        losses.leaveOut("reasoning");
        return [];
      }
      losses.refuse(`its content of type ${part.type} means nothing to the other provider`);
      return [];
  }
}

function resultContent(
  { content, isError }: Extract<Part, { readonly kind: "tool-result" }>,
  losses: Losses,
): readonly Part[] {
  const kept = content.flatMap((inner) => keptPart(inner, losses));
  // Not every wire can mark a result as an error.
  return isError ? [{ kind: "text", text: translationTexts.failed }, ...kept] : kept;
}

/** Ids of calls that all providers accept. */
const plainId = /^[A-Za-z0-9_-]{1,40}$/;

/** Gives other ids to calls whose ids a provider would refuse. The same conversation always gets the same ids. */
function withPlainIds(messages: readonly Message[]): readonly Message[] {
  const ids = new Map<string, string>();
  const taken = new Set(messages.flatMap(({ parts }) => parts.flatMap(idOf)));
  const plain = (id: string): string => {
    if (plainId.test(id)) return id;
    const known = ids.get(id);
    if (known !== undefined) return known;
    let number = ids.size + 1;
    while (taken.has(`call_${number}`)) number++;
    const made = `call_${number}`;
    taken.add(made);
    ids.set(id, made);
    return made;
  };
  return messages.map(({ role, parts }) => ({
    role,
    parts: parts.map((part) => {
      if (part.kind === "tool-call") return { ...part, id: plain(part.id) };
      return part.kind === "tool-result" ? { ...part, callId: plain(part.callId) } : part;
    }),
  }));
}

function idOf(part: Part): readonly string[] {
  if (part.kind === "tool-call") return [part.id];
  return part.kind === "tool-result" ? [part.callId] : [];
}

/** The system prompt at the beginning, and the rest. Refuses system messages further down, which not every wire has. */
export function withSystemFirst(
  messages: readonly Message[],
  losses: Losses,
): { readonly system: readonly string[]; readonly rest: readonly Message[] } {
  const first = messages.findIndex(({ role }) => role !== "system");
  const head = first < 0 ? messages : messages.slice(0, first);
  const rest = first < 0 ? [] : messages.slice(first);
  if (rest.some(({ role }) => role === "system"))
    losses.refuse("it has a system message in the middle of the conversation");
  const texts = head.map(({ parts }) =>
    parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n\n"),
  );
  return { system: texts.filter((text) => text !== ""), rest };
}

/** If a request ends with the beginning of an answer, some models continue it, and others reply to it. */
export function checkEnd(messages: readonly Message[], losses: Losses): void {
  if (messages.at(-1)?.role === "assistant")
    losses.refuse("the client has written the beginning of the answer itself");
}

export function hasImageInResult(messages: readonly Message[]): boolean {
  return messages.some(({ parts }) =>
    parts.some(
      (part) => part.kind === "tool-result" && part.content.some(({ kind }) => kind === "image"),
    ),
  );
}

export function listIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
