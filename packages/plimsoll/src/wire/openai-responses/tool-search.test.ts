/** Searches for tools that Plimsoll answers in the provider's own form. */

import { expect, test } from "vitest";
import type { JsonObject } from "../../message/json.ts";
import type { IsOwn, StreamEvent } from "../format/wire.ts";
import { wires } from "../wires.ts";

const wire = wires["openai-responses"];
const { deferral } = wire.tools;
const search = {
  type: "tool_search_call",
  id: "tsc_1",
  call_id: "c",
  execution: "client",
  status: "completed",
  arguments: { query: "a" },
};
const served = { ...search, id: "tsc_2", call_id: null, execution: "server" };
const called = {
  type: "function_call",
  id: "fc_1",
  call_id: "d",
  name: "tool_search",
  arguments: "{}",
};
const message = { type: "message", id: "msg_1", role: "assistant", content: [] };
/** Only the search is Plimsoll's, not a function with the same name. */
const isOwn: IsOwn = (_name, isToolSearch) => isToolSearch === true;

function responseOf(...output: readonly JsonObject[]): JsonObject {
  const tools = [
    { type: "tool_search", execution: "client" },
    { type: "function", name: "f" },
  ];
  return { id: "resp_1", status: "completed", tools, output };
}

test("a search is a call that says so, and a function of its name is not", () => {
  const asked = { kind: "tool-call", id: "c", name: "tool_search", input: '{"query":"a"}' };
  expect(wire.messages.toolCalls(search)).toEqual([{ ...asked, isToolSearch: true }]);
  expect(wire.messages.toolCalls(called)).toEqual([{ ...asked, id: "d", input: "{}" }]);
  const { id: _id, ...item } = search;
  expect(wire.messages.encode([wire.messages.decode(search)])).toEqual([item]);
});

test.each<[string, readonly JsonObject[], readonly JsonObject[]]>([
  [
    "tools",
    [{ type: "function", name: "f" }],
    [{ type: "function", name: "f", defer_loading: true }],
  ],
  [
    "members of a namespace",
    [{ type: "namespace", name: "n", tools: [{ type: "function", name: "f" }] }],
    [
      {
        type: "namespace",
        name: "n",
        tools: [{ type: "function", name: "f", defer_loading: true }],
      },
    ],
  ],
  ["nothing", [], []],
])("an answer with %s is an item under the id of its call", (_what, tools, expected) => {
  const content = (deferral?.found(tools) ?? []).map(
    (json) => ({ kind: "opaque", type: "tool_search_output", json }) as const,
  );
  const parts = [{ kind: "tool-result", callId: "c", content, isError: false } as const];
  expect(wire.messages.encode([{ role: "tool", parts }])).toEqual([
    {
      type: "tool_search_output",
      call_id: "c",
      execution: "client",
      status: "completed",
      tools: expected,
    },
  ]);
});

test("of an answer in one piece only our search is left out, and the tool itself", () => {
  const merged = wire.rounds.merge([responseOf(search, served, called, message)], isOwn);
  expect(merged["output"]).toEqual([served, called, message]);
  expect(merged["tools"]).toEqual([{ type: "function", name: "f" }]);
  expect(wire.rounds.withoutOwnCalls([search, served, called], isOwn)).toEqual([served, called]);
  expect(wire.rounds.withoutOwnCalls([search], () => false)).toEqual([search]);
});

test("of a stream only our search is left out, and what follows is numbered on", () => {
  const merger = wire.rounds.open(isOwn);
  const items = [search, called, message];
  const events = [
    ...items.flatMap((item, index) => [
      {
        type: "response.output_item.added",
        output_index: index,
        item: { ...item, status: "in_progress" },
      },
      { type: "response.output_item.done", output_index: index, item },
    ]),
    { type: "response.completed", response: responseOf(...items) },
  ].map(
    (data, sequence_number): StreamEvent => ({
      name: data.type,
      data: JSON.stringify({ ...data, sequence_number }),
    }),
  );
  const said = [...events.flatMap((event) => merger.take(event)), ...merger.end()].map(
    ({ data }) => JSON.parse(data) as JsonObject,
  );
  expect(said.map(({ output_index: at }) => at)).toEqual([0, 0, 1, 1, undefined]);
  expect(said.map(({ sequence_number: at }) => at)).toEqual([0, 1, 2, 3, 4]);
  expect(said.at(-1)?.["response"]).toMatchObject({ output: [called, message] });
});

test("reasoning that led only to a search goes with it", () => {
  const bytes = (item: JsonObject): Uint8Array => new TextEncoder().encode(JSON.stringify(item));
  const thought = { type: "reasoning", id: "rs_1", summary: [] };
  const output = { type: "tool_search_output", call_id: "c", execution: "client", tools: [] };
  const inner = [thought, search, output, message].map(bytes);
  expect(wire.rounds.withoutLookups(bytes(thought), inner)).toBe("nothing");
  const beside = [thought, search, called, output].map(bytes);
  expect(wire.rounds.withoutLookups(bytes(thought), beside)).not.toBe("nothing");
});

test("for models that know nothing of it a search is a function, and its answer names", () => {
  const tools = [
    { type: "function", name: "f" },
    { type: "function", name: "g" },
  ];
  const output = { type: "tool_search_output", call_id: "c", execution: "client", tools };
  expect(deferral?.plain(search)).toEqual({
    type: "function_call",
    call_id: "c",
    name: "tool_search",
    arguments: '{"query":"a"}',
  });
  expect(deferral?.plain(output)).toEqual({
    type: "function_call_output",
    call_id: "c",
    output: "Found: f, g",
  });
  for (const item of [served, called, message]) expect(deferral?.plain(item)).toBe(item);
});
