/**
 * Checks an OpenAI Responses body like a strict provider, from this one body and from the provider's own record of its
 * answers: required fields, item shapes, and the rules R1 to R7 of wire-fixtures/rules.json. Unknown item types are
 * accepted. Written from the rules and the provider's texts, independently of the product's validator.
 */
import type { Issued } from "./issued.ts";
import { elements, isObject, isString, type JsonObject, objects } from "./json.ts";
import { type Finding, repeated, shape } from "./judge.ts";
import { type Item, inputItems, isFromModel, itemType, nameIn } from "./responses-items.ts";

interface Body {
  readonly model?: unknown;
  readonly input?: unknown;
  readonly instructions?: unknown;
  readonly tools?: unknown;
  readonly stream?: unknown;
  readonly store?: unknown;
  readonly max_output_tokens?: unknown;
  readonly conversation?: unknown;
}
interface Part {
  readonly type?: unknown;
  readonly text?: unknown;
}
interface Tool {
  readonly type?: unknown;
  readonly name?: unknown;
  readonly defer_loading?: unknown;
}
interface Place {
  readonly item: Item;
  readonly index: number;
}

const ROLES: readonly unknown[] = ["user", "assistant", "system", "developer"];
const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,64}$/;
const OUTPUT_TOKENS_MIN = 16;

export function judgeResponses(body: unknown, issued?: Issued): Finding[] {
  if (!isObject(body)) return [shape("We could not parse the JSON body of your request.")];
  const fields: Body = body;
  const places = inputItems(fields.input).map((item, index) => ({ item, index }));
  return [
    ...judgeFields(fields),
    ...places.flatMap(judgeItem),
    ...judgeRepeated(places),
    ...judgeHeldHistory(body, issued),
    ...judgeUnstored(fields, places, issued),
    ...judgePairs(body, issued),
    ...judgeSearches(fields, places),
    ...places.flatMap((place) => judgeFollowed(place, places)),
    ...(issued === undefined ? [] : judgeReasoning(places, issued)),
  ];
}

/** The items that the model would read: first those of an earlier response, and with references replaced. */
export function resolvedItems(body: JsonObject, issued: Issued): readonly JsonObject[] {
  const heard = issued.conversation(nameIn(body, "previous_response_id") ?? "") ?? [];
  const own = inputItems(body["input"]).map((item) =>
    itemType(item) === "item_reference" ? (issued.storedItem(String(item["id"])) ?? item) : item,
  );
  return [...heard, ...own];
}

/* Fields */

function judgeFields(body: Body): Finding[] {
  const findings: Finding[] = [];
  if (!isString(body.model) || body.model === "") {
    findings.push(shape("Missing required parameter: 'model'.", "model"));
  }
  if (isEmptyInput(body.input)) {
    findings.push(shape("Missing required parameter: 'input'.", "input"));
  }
  if (elements(body.input).some((item) => !isObject(item))) {
    findings.push(shape("Invalid type for 'input[0]': expected an input item.", "input"));
  }
  for (const [name, type] of [
    ["instructions", "string"],
    ["stream", "boolean"],
    ["store", "boolean"],
  ] as const) {
    const value = body[name];
    if (value !== undefined && value !== null && typeof value !== type) {
      findings.push(shape(`Invalid type for '${name}': expected a ${type}.`, name));
    }
  }
  if (isTooSmall(body.max_output_tokens)) {
    const message = `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${OUTPUT_TOKENS_MIN}.`;
    findings.push(shape(message, "max_output_tokens"));
  }
  return [...findings, ...judgeTools(body.tools)];
}

function isEmptyInput(input: unknown): boolean {
  return isString(input) ? input === "" : elements(input).length === 0;
}

function isTooSmall(maximum: unknown): boolean {
  if (maximum === undefined || maximum === null) return false;
  return !(Number.isInteger(maximum) && Number(maximum) >= OUTPUT_TOKENS_MIN);
}

function judgeTools(tools: unknown): Finding[] {
  if (tools !== undefined && !Array.isArray(tools)) {
    return [shape("Invalid type for 'tools': expected an array.", "tools")];
  }
  return objects<Tool>(tools).flatMap(({ type, name }, index) => {
    const param = `tools[${index}]`;
    if (!isString(type)) return [shape(`Missing required parameter: '${param}.type'.`, param)];
    if (type !== "function" || (isString(name) && NAME_PATTERN.test(name))) return [];
    return [shape(`Invalid '${param}.name': string does not match pattern.`, `${param}.name`)];
  });
}

/* Items */

type Fault = readonly [field: string, message: string] | undefined;

/** Unknown types are accepted, because a provider may know more types than this table. */
const ITEM_FAULTS: Readonly<Record<string, (item: Item) => Fault>> = {
  message: messageFault,
  function_call: (item) => missingString(item, ["call_id", "name", "arguments"]) ?? nameFault(item),
  function_call_output: (item) => missingString(item, ["call_id"]) ?? outputFault(item),
  custom_tool_call: (item) => missingString(item, ["call_id", "name", "input"]),
  custom_tool_call_output: (item) => missingString(item, ["call_id"]) ?? outputFault(item),
  reasoning: (item) => {
    const fault = missingString(item, ["id"]);
    return fault ?? (Array.isArray(item.summary) ? undefined : missing("summary"));
  },
  item_reference: (item) => missingString(item, ["id"]),
  compaction: (item) => missingString(item, ["encrypted_content"]),
  additional_tools: (item) =>
    judgeTools(item.tools).length > 0 ? ["tools", "Invalid tool"] : undefined,
  tool_search_call: (item) =>
    item.execution === "server" || isObject(item.arguments) ? undefined : missing("arguments"),
  tool_search_output: (item) =>
    Array.isArray(item.tools) ? toolFault(item.tools) : missing("tools"),
};

/** A search returns tools in the form of a request's tools, marked as deferred. */
function toolFault(tools: unknown): Fault {
  if (judgeTools(tools).length > 0) return ["tools", "Invalid tool"];
  const isMarked = objects<Tool>(tools).every(({ defer_loading: mark }) => mark === true);
  return isMarked ? undefined : ["tools", "Missing required parameter 'defer_loading'"];
}

function missing(field: string): Fault {
  return [field, "Missing required parameter"];
}

function missingString(item: Item, fields: readonly (keyof Item)[]): Fault {
  const field = fields.find((name) => !isString(item[name]));
  return field === undefined ? undefined : missing(field);
}

function nameFault({ name }: Item): Fault {
  return NAME_PATTERN.test(String(name))
    ? undefined
    : ["name", "String does not match pattern '^[a-zA-Z0-9_-]+$'"];
}

function outputFault({ output }: Item): Fault {
  if (isString(output) || objects(output).length > 0) return undefined;
  return ["output", "Invalid type: expected a string or a list of content"];
}

const PARTS_OF_THE_OTHER_SIDE: ReadonlyMap<string, (role: unknown) => boolean> = new Map([
  ["input_text", (role: unknown) => role === "assistant"],
  ["input_image", (role: unknown) => role === "assistant"],
  ["input_file", (role: unknown) => role === "assistant"],
  ["output_text", (role: unknown) => role !== "assistant"],
  ["refusal", (role: unknown) => role !== "assistant"],
]);

function messageFault({ role, content }: Item): Fault {
  if (!ROLES.includes(role)) return ["role", `Invalid value '${String(role)}'`];
  if (isString(content)) {
    return content === "" ? ["content", "Invalid value: expected a non-empty string"] : undefined;
  }
  const parts = objects<Part>(content);
  if (parts.length === 0 || parts.length < elements(content).length) {
    return ["content", "Invalid value: expected a non-empty list of content"];
  }
  const position = parts.findIndex((part) => partFault(part, role) !== undefined);
  const part = parts[position];
  return part && [`content[${position}]`, partFault(part, role) ?? ""];
}

function partFault({ type, text }: Part, role: unknown): string | undefined {
  if (!isString(type)) return "Missing required parameter 'type'";
  if (PARTS_OF_THE_OTHER_SIDE.get(type)?.(role)) {
    const wanted = role === "assistant" ? "'output_text' and 'refusal'" : "'input_text'";
    return `Invalid value: '${type}'. Supported values are: ${wanted}`;
  }
  const isText = type === "input_text" || type === "output_text";
  if (isText && !isString(text)) return "Missing required parameter 'text'";
  return type === "input_text" && text === "" ? "Invalid value: expected a text" : undefined;
}

function judgeItem({ item, index }: Place): Finding[] {
  const type = itemType(item);
  const fault = Object.hasOwn(ITEM_FAULTS, type) ? ITEM_FAULTS[type]?.(item) : undefined;
  if (fault === undefined) return [];
  const [field, message] = fault;
  return [shape(`${message}: 'input[${index}].${field}'.`, `input[${index}].${field}`)];
}

function judgeRepeated(places: readonly Place[]): Finding[] {
  const ids = places.flatMap(({ item }) => (isString(item.id) ? [item.id] : []));
  const calls = places
    .filter(({ item }) => isString(item.call_id))
    .map(({ item }) => `${itemType(item)} ${item.call_id}`);
  return [...repeated(ids), ...repeated(calls)].map((id) =>
    shape(
      `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
      "input",
    ),
  );
}

/* R7, R5: what the provider holds */

function judgeHeldHistory(body: JsonObject, issued: Issued | undefined): Finding[] {
  const previous = nameIn(body, "previous_response_id");
  const { conversation }: Body = body;
  if (previous === undefined) return [];
  if (conversation !== undefined && conversation !== null) {
    const message =
      "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of: 'previous_response_id' or 'conversation'.";
    return [{ rule: "R7", message }];
  }
  if (issued === undefined || issued.conversation(previous) !== undefined) return [];
  const message = `Previous response with id '${previous}' not found.`;
  return [{ rule: "R7", message, param: "previous_response_id" }];
}

function judgeUnstored(
  { store }: Body,
  places: readonly Place[],
  issued: Issued | undefined,
): Finding[] {
  const isUnstored = store === false;
  return places.flatMap(({ item }) => {
    const type = itemType(item);
    let message: string | undefined;
    if (type === "item_reference") message = unknownItem(String(item.id), isUnstored, issued);
    if (type === "reasoning") message = unreadableReasoning(item, isUnstored, issued);
    return message === undefined ? [] : [{ rule: "R5", message, param: "input" }];
  });
}

function unknownItem(
  id: string,
  isUnstored: boolean,
  issued: Issued | undefined,
): string | undefined {
  if (isUnstored) {
    return `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
  }
  const isKnown = issued === undefined || issued.storedItem(id) !== undefined;
  return isKnown ? undefined : `Item with id '${id}' not found.`;
}

/** A reasoning item without encrypted content must be stored at the provider. */
function unreadableReasoning(
  { id, encrypted_content: encrypted }: Item,
  isUnstored: boolean,
  issued: Issued | undefined,
): string | undefined {
  const name = String(id);
  if (!isString(encrypted) || encrypted === "") return unknownItem(name, isUnstored, issued);
  if (issued === undefined || issued.isEncryptedReasoning(name, encrypted)) return undefined;
  return `The encrypted content for item ${name} could not be verified.`;
}

/* R1, R2, R3: calls and their outputs */

interface Pair {
  readonly call: string;
  readonly output: string;
  /** Name of the call in the provider's errors. */
  readonly words: string;
  readonly rules: { readonly unanswered: string; readonly uncalled: string };
}

const OTHER_RULES = { unanswered: "R3", uncalled: "R3" } as const;
const PAIRS: readonly Pair[] = [
  {
    call: "function_call",
    output: "function_call_output",
    words: "function call",
    rules: { unanswered: "R1", uncalled: "R2" },
  },
  ...[
    "custom_tool_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
    "local_shell_call",
  ].map((call) => ({
    call,
    output: `${call}_output`,
    words: call.replaceAll("_", " "),
    rules: OTHER_RULES,
  })),
  {
    call: "tool_search_call",
    output: "tool_search_output",
    words: "tool search call",
    rules: OTHER_RULES,
  },
];

/** Does not check pairs if part of the history is server-side and unknown here. */
function judgePairs(body: JsonObject, issued: Issued | undefined): Finding[] {
  const { conversation }: Body = body;
  const previous = nameIn(body, "previous_response_id");
  const isHeld = isString(conversation) || isObject(conversation);
  if (isHeld || (previous !== undefined && issued?.conversation(previous) === undefined)) return [];
  const items = issued === undefined ? inputItems(body["input"]) : resolvedItems(body, issued);
  return PAIRS.flatMap((pair) => judgePair(pair, items));
}

function judgePair({ call, output, words, rules }: Pair, items: readonly Item[]): Finding[] {
  const idsOf = (type: string): string[] =>
    items
      .filter((item) => itemType(item) === type && isClientSide(item))
      .flatMap(({ call_id: callId, id }) => [callId ?? id].filter(isString));
  const [called, answered] = [idsOf(call), idsOf(output)];
  return [
    ...called
      .filter((id) => !answered.includes(id))
      .map((id) => ({
        rule: rules.unanswered,
        message: `No tool output found for ${words} ${id}.`,
        param: "input",
      })),
    ...answered
      .filter((id) => !called.includes(id))
      .map((id) => ({
        rule: rules.uncalled,
        message: `No tool call found for ${words} output with call_id ${id}.`,
        param: "input",
      })),
  ];
}

/** Without a search tool, a request may not have deferred tools or search items. */
function judgeSearches(body: Body, places: readonly Place[]): Finding[] {
  const isHeld = objects<Tool>(body.tools).some(({ defer_loading: mark }) => mark === true);
  const hasSearch = objects<Tool>(body.tools).some(({ type }) => type === "tool_search");
  const isSearched = places.some(
    ({ item }) => itemType(item).startsWith("tool_search") && isClientSide(item),
  );
  if (hasSearch || !(isHeld || isSearched)) return [];
  return [shape("Invalid value: Deferred tools require tools.tool_search.", "tools")];
}

/** Whether the client must answer a call. Tool searches that the provider makes itself need no answer. */
function isClientSide(item: Item): boolean {
  return !itemType(item).startsWith("tool_search") || item.execution === "client";
}

/* R4, R6: reasoning */

function judgeFollowed({ item, index }: Place, places: readonly Place[]): Finding[] {
  if (itemType(item) !== "reasoning") return [];
  const next = places.slice(index + 1).find((place) => itemType(place.item) !== "reasoning")?.item;
  if (next !== undefined && (isFromModel(next) || itemType(next) === "item_reference")) return [];
  const message = `Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`;
  return [{ rule: "R4", message, param: "input" }];
}

/** In an open loop of calls, an item is also recognised by its call id, so its reasoning is always required. */
function judgeReasoning(places: readonly Place[], issued: Issued): Finding[] {
  const lastSpoken = places.findLastIndex(
    ({ item }) => itemType(item) === "message" && !isFromModel(item),
  );
  return places.flatMap(({ item, index }) => {
    if (!isFromModel(item)) return [];
    const name = isString(item.id) ? item.id : index > lastSpoken ? item.call_id : undefined;
    const needed = isString(name) ? issued.reasoningOf(name) : undefined;
    const isThere = places.slice(0, index).some((place) => place.item.id === needed);
    if (needed === undefined || isThere) return [];
    const message = `Item '${String(name)}' of type '${itemType(item)}' was provided without its required 'reasoning' item: '${needed}'.`;
    return [{ rule: "R6", message, param: "input" }];
  });
}
