/** The Gemini wire: functions, which are all in one element of the request's list of tools. */

import { isObject, type JsonObject, type JsonValue, stringOr } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { namedTool } from "../format/named-tool.ts";
import { type BodySlices, parseJson, readSlices, type Slice } from "../format/slices.ts";
import { joinElements, type Splice, within } from "../format/splice.ts";
import { toolSplices } from "../format/tool-list.ts";
import type { WireToolList, WireTools } from "../format/wire.ts";
import { fieldOf, listOf, spellingIn, withoutField } from "./fields.ts";

const list: WireToolList = {
  read: (body, slices) => groupsIn(body, slices).flat(),
  splices: (body, slices, change) => {
    const groups = groupsIn(body, slices).filter((group) => group.length > 0);
    const last = groups.at(-1) ?? [];
    return change.isWhole && groups.length > 1
      ? rewritten(body, slices, change.elements)
      : toolSplices(last, change);
  },
  toolsIn: (tools) => listOf(tools).flatMap(declarationsIn),
  changed: (tools, { elements, isWhole }) => {
    const known = isWhole ? [] : listOf(tools).flatMap(declarationsIn);
    return [...otherTools(tools), { functionDeclarations: [...known, ...elements] }];
  },
};

export const geminiTools: WireTools = {
  list,
  encode: encodeTool,
  decode: (tool) => namedTool(tool, "parametersJsonSchema", "parameters_json_schema", "parameters"),
  nameOf: (tool) => (isObject(tool) ? stringOr(tool["name"], "") || undefined : undefined),
  inside: () => [],
  // From the provider's error (google-gemini/gemini-cli#19083).
  max: 512,
  // Seen in watt-mind/coach#280. The provider's words do not say why it refuses.
  declaresCalled: true,
  isDeferring: () => false,
};

export function encodeTool({ name, description, parameters }: ToolDefinition): JsonObject {
  const described = description === undefined ? {} : { description };
  return { name, ...described, parametersJsonSchema: parameters };
}

/** The elements of the list, as slices of the body. A single element may be written without brackets. */
function elementsIn({ fields, elements }: BodySlices): readonly Slice[] {
  const single = fields.get("tools");
  return elements.get("tools") ?? (single === undefined ? [] : [single]);
}

/** The functions of each element of the list, as slices of the body. Elements with other tools have no functions. */
function groupsIn(body: Uint8Array, slices: BodySlices): readonly (readonly Slice[])[] {
  return elementsIn(slices).map((element) => {
    const bytes = body.subarray(element.start, element.end);
    if (!isObject(parseJson(body, element))) return [];
    const inside = readSlices(bytes);
    const name = spellingIn(inside.fields, "functionDeclarations");
    const declared = inside.elements.get(name) ?? [];
    return declared.map((slice) => within(element, slice));
  });
}

/** One element with all functions, followed by the client's other tools. */
function rewritten(
  body: Uint8Array,
  slices: BodySlices,
  functions: readonly Uint8Array[],
): readonly Splice[] {
  const field = slices.fields.get("tools");
  if (field === undefined) return [];
  const others = otherTools(parseJson(body, field)).map((tool) => `,${JSON.stringify(tool)}`);
  const text = Buffer.concat([
    Buffer.from('[{"functionDeclarations":['),
    joinElements(functions),
    Buffer.from(`]}${others.join("")}]`),
  ]);
  return [{ ...field, text }];
}

function declarationsIn(tool: JsonValue): readonly JsonValue[] {
  return isObject(tool) ? listOf(fieldOf(tool, "functionDeclarations")) : [];
}

/** The client's tools that are not functions, such as the provider's own search. */
function otherTools(tools: JsonValue | undefined): readonly JsonValue[] {
  return listOf(tools).flatMap((tool): readonly JsonValue[] => {
    if (!isObject(tool)) return [tool];
    const rest = withoutField(tool, "functionDeclarations");
    return Object.keys(rest).length === 0 ? [] : [rest];
  });
}
