/** The OpenAI Responses wire: tools, tools in namespaces, and tools in an input item instead of the request's list. */

import { isObject, type JsonObject, type JsonValue, stringOr } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { namedTool } from "../format/named-tool.ts";
import { parseJson, readSlices, type Slice } from "../format/slices.ts";
import { plainToolList } from "../format/tool-list.ts";
import type { ToolsInMessage, WireTools } from "../format/wire.ts";
import { responsesDeferral } from "./tool-search.ts";

export const responsesTools: WireTools = {
  list: plainToolList("tools"),
  encode: encodeTool,
  decode: decodeTool,
  nameOf: (tool) => (isObject(tool) ? stringOr(tool["name"], "") || undefined : undefined),
  inside: toolsInside,
  isDeferring,
  deferral: responsesDeferral,
};

/** Sets `strict: false`, because otherwise the provider would apply a stricter schema than on other wires. */
export function encodeTool(tool: ToolDefinition): JsonObject {
  const { name, description, parameters } = tool;
  const described = description === undefined ? {} : { description };
  return { type: "function", name, ...described, parameters, strict: false };
}

/** Maximum number of items to check for tools. Codex puts the tools before everything else. */
const itemsLookedAt = 16;

const itemType = "additional_tools";

/**
 * The first item that contains tools (`ResponseInputItem.AdditionalTools` of OpenAI's SDK). OpenAI's models accept a list of
 * tools next to such an item, but a "lite" request of Codex must not have that list. So Plimsoll's tools go into the item too.
 */
export function additionalTools(
  body: Uint8Array,
  items: readonly Slice[],
): ToolsInMessage | undefined {
  for (const [message, { start, end }] of items.slice(0, itemsLookedAt).entries()) {
    const item = body.subarray(start, end);
    if (!Buffer.from(item.buffer, item.byteOffset, item.length).includes(itemType)) continue;
    const { fields, elements } = readSlices(item);
    const type = fields.get("type");
    const tools = elements.get("tools") ?? [];
    if (type === undefined || parseJson(item, type) !== itemType || tools.length === 0) continue;
    return { message, elements: tools };
  }
  return undefined;
}

export function bringsTools({ type }: JsonObject): boolean {
  return type === itemType;
}

/** The tools of a namespace. */
function toolsInside(tool: JsonValue): readonly JsonValue[] {
  const tools = isObject(tool) && tool["type"] === "namespace" ? tool["tools"] : undefined;
  return Array.isArray(tools) ? tools : [];
}

/**
 * The description of a namespace includes the names and descriptions of its members, so that a search for a member finds the
 * namespace.
 */
function decodeTool(tool: JsonValue): ToolDefinition | undefined {
  const decoded = namedTool(tool, "parameters");
  const inside = toolsInside(tool).flatMap((one) => namedTool(one) ?? []);
  if (decoded === undefined || inside.length === 0) return decoded;
  const lines = inside.map(({ name, description = "" }) => `${name}: ${description}`);
  return { ...decoded, description: [decoded.description ?? "", ...lines].join("\n").trim() };
}

/** True if the client itself defers this tool or a tool inside it, or if this is the search tool. */
function isDeferring(tool: JsonValue): boolean {
  const isOwn =
    isObject(tool) && (tool["defer_loading"] === true || tool["type"] === "tool_search");
  return isOwn || toolsInside(tool).some(isDeferring);
}
