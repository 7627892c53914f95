/** How Codex writes a history: items with keys of its own, in an order of its own. */
import { isObject, type JsonObject, objects } from "../harness/json.ts";
import type { AgentShape } from "./shape.ts";
import type { Messages, Spoken } from "./spelling.ts";

/** Codex writes these keys in this order, and null where the provider gave none. */
const CODEX_KEYS: Readonly<Record<string, readonly string[]>> = {
  reasoning: ["type", "id", "summary", "content", "encrypted_content"],
  message: ["type", "status", "id", "role", "content"],
  custom_tool_call: ["type", "id", "status", "call_id", "name", "input"],
  function_call: ["type", "id", "name", "arguments", "call_id"],
};

function codexItem(item: JsonObject): JsonObject {
  const keys = CODEX_KEYS[String(item["type"])] ?? Object.keys(item);
  const spelled = Object.fromEntries(keys.map((key) => [key, item[key] ?? null]));
  if (item["type"] !== "message") return spelled;
  const content = objects<JsonObject>(item["content"]).map(
    ({ type, text, annotations, logprobs }) => ({
      type,
      text,
      annotations,
      logprobs,
    }),
  );
  return { ...spelled, content };
}

/** With the public address of OpenAI, every item says which turn it belongs to. */
const TURN_KEY = "internal_chat_message_metadata_passthrough";

export function codexTalk({ shape, exchanges }: Spoken): Messages {
  const about = shape.opening.map((item) => item[TURN_KEY]).find(isObject);
  const turn = about === undefined ? undefined : { turn_id: about["turn_id"] };
  const belongs = (further: JsonObject = {}): JsonObject =>
    turn === undefined ? {} : { [TURN_KEY]: { ...turn, ...further } };
  const [intro = {}, given = {}] = codexOutput(shape);
  return [
    ...shape.opening,
    ...exchanges.flatMap(({ message, results }) => [
      ...objects<JsonObject>(message["output"]).map((item) => ({
        ...codexItem(item),
        ...belongs(item["type"] === "message" ? { content_item_kinds: ["unknown"] } : {}),
      })),
      ...results.map(({ id, text }) => ({
        type: "custom_tool_call_output",
        id: `ctco_${id}`,
        call_id: id,
        output: [intro, { ...given, text }],
        ...belongs({ create_time: 1_794_801_660 }),
      })),
    ]),
  ];
}

/** The two parts of a result: what Codex says of the run, and what the run gave. */
function codexOutput(shape: AgentShape): Messages {
  const items = shape.recorded.flatMap(({ conversation }) => conversation);
  const found = items.find(({ type }) => type === "custom_tool_call_output");
  return objects<JsonObject>(found?.["output"]);
}

/** Codex writes these keys in another order in every request. */
export function codexFields({ shape, exchanges }: Spoken): JsonObject {
  const about = shape.fields["client_metadata"];
  if (!isObject(about)) return {};
  const entries = Object.entries(about);
  const places = exchanges.length % entries.length;
  const turned = [...entries.slice(places), ...entries.slice(0, places)];
  return { client_metadata: Object.fromEntries(turned) };
}
