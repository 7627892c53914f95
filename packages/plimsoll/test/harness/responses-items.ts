/** The items of the Responses wire, and whether each one comes from the model or from the client. */
import { isObject, isString, type JsonObject, objects } from "./json.ts";

export interface Item {
  readonly type?: unknown;
  readonly role?: unknown;
  readonly id?: unknown;
  readonly content?: unknown;
  readonly call_id?: unknown;
  readonly name?: unknown;
  readonly arguments?: unknown;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly summary?: unknown;
  readonly encrypted_content?: unknown;
  readonly execution?: unknown;
  readonly tools?: unknown;
}

/** An item without a type is a message. */
export function itemType(item: Item): string {
  return isString(item.type) ? item.type : "message";
}

/** The items of an `input`: a string is one message of the user. */
export function inputItems(input: unknown): readonly JsonObject[] {
  if (isString(input)) return [{ role: "user", content: input }];
  return objects<JsonObject>(input);
}

const CLIENT_TYPES: ReadonlySet<string> = new Set([
  "additional_tools",
  "compaction_trigger",
  "configuration_update",
  "item_reference",
  "mcp_approval_response",
]);

/** Whether the model made the item. Unknown types count as the model's. */
export function isFromModel(item: Item): boolean {
  const type = itemType(item);
  if (type === "message") return item.role === "assistant";
  if (type.endsWith("_output")) return item.execution === "server";
  return !CLIENT_TYPES.has(type);
}

/** The number of answers: each run of model items is one. */
export function answersIn(items: readonly Item[]): number {
  return items.filter((item, index) => {
    const before = items[index - 1];
    return isFromModel(item) && (before === undefined || !isFromModel(before));
  }).length;
}

/** Whether a request asks for the encrypted form of the model's reasoning. */
export function wantsEncryptedReasoning({ include }: { readonly include?: unknown }): boolean {
  return Array.isArray(include) && include.includes("reasoning.encrypted_content");
}

/** Whether a request has a tool search that its sender answers. */
export function hasClientSearch({ tools }: { readonly tools?: unknown }): boolean {
  return objects<Item>(tools).some(
    ({ type, execution }) => type === "tool_search" && execution === "client",
  );
}

/** A field with a name; undefined if the field is absent or null. */
export function nameIn(body: unknown, field: string): string | undefined {
  const value = isObject(body) ? body[field] : undefined;
  return isString(value) ? value : undefined;
}
