/** Document C, MCP Tool Description Deferral: the sentences from which Plimsoll departs by default, and their keys. */

import { afterEach, describe, expect, test } from "vitest";
import {
  type Config,
  openPlimsoll,
  type Plimsoll,
  type Session,
  type ToolDefinition,
} from "../../src/index.ts";
import { BUILT_INS, mcpTools } from "../harness/tool-catalogue.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const model = "claude-sonnet-4-6";
const target = `anthropic/${model}`;
const known = {
  contextWindow: 40_000,
  contextWindowBufferTokens: 500,
  maxOutputTokens: 1_000,
  tokenizer: "tiktoken:o200k_base",
};
const tools: readonly ToolDefinition[] = [
  ...BUILT_INS.map((tool) => ({ ...tool, source: "builtin" as const })),
  ...mcpTools(120).map((tool) => ({ ...tool, source: "mcp" as const })),
];
const found = "mcp__flights1__approve_flight";

interface Request {
  readonly tools: readonly { readonly name: string; readonly defer_loading?: boolean }[];
  readonly messages: readonly unknown[];
}

async function sessionWith(agent: Config["agent"], native = false): Promise<Session> {
  const providers = {
    anthropic: { native_tool_deferral: native, models: { [model]: known } },
  };
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: { providers, ...(agent && { agent }) },
  });
  open.push(plimsoll);
  return plimsoll.session();
}

const mcpIn = ({ tools: listed }: Request): readonly string[] =>
  listed.map(({ name }) => name).filter((name) => name.startsWith("mcp__"));

const answerWith = (...content: readonly unknown[]) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content,
  stop_reason: "end_turn",
});
const words = answerWith({ type: "text", text: "Done." });

/** The model calls a tool. Plimsoll answers its own, and the others answer "Done.". The request is the next one. */
async function requestAfterCall(session: Session, name: string, input: unknown): Promise<Request> {
  const id = `toolu_${name}_${JSON.stringify(input).length}`;
  const turn = await session.prepare<Request>({ target, tools });
  const answer = answerWith({ type: "tool_use", id, name, input });
  await session.commit(answer);
  const [call] = turn.toolCalls(answer);
  if (call === undefined) throw new Error("No call was read.");
  const own = await session.answer(call);
  const message = own?.message ?? {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: id, content: "Done." }],
  };
  await session.append(message);
  return (await session.prepare<Request>({ target, tools })).request;
}

/** The request with which the next turn of the user begins. */
async function requestAfter(session: Session, said: string): Promise<Request> {
  await session.append({ role: "user", content: said });
  return (await session.prepare<Request>({ target, tools })).request;
}

const search = { query: "approve a flight of flights1" };

describe("Matched tools promoted to active set for current turn", () => {
  test.each([false, true])(
    "with tool_deferral: each_turn, a found tool that was not called is deferred in the next turn (native_tool_deferral: %s)",
    async (native) => {
      const session = await sessionWith({ tool_deferral: "each_turn" }, native);
      const first = await requestAfter(session, "Good morning.");
      expect(first.tools.some((tool) => tool.defer_loading)).toBe(false);
      expect(mcpIn(first)).not.toContain(found);
      expect(mcpIn(await requestAfterCall(session, "tool_search", search))).toContain(found);
      expect(mcpIn(await requestAfterCall(session, "read_file", { path: "a" }))).toContain(found);
      await session.commit(words);
      expect(mcpIn(await requestAfter(session, "And now something else."))).toEqual(mcpIn(first));
    },
  );

  test("by default it stays, so that the provider's cache stays valid", async () => {
    const session = await sessionWith(undefined);
    await requestAfter(session, "Good morning.");
    const second = await requestAfterCall(session, "tool_search", search);
    await session.commit(words);
    expect(mcpIn(await requestAfter(session, "And now something else."))).toEqual(mcpIn(second));
  });
});

describe("Within category: LRU — least recently used deferred first", () => {
  /** What the second turn of the user lists, if the first has found a tool and called it. */
  async function listsAround(agent: Config["agent"]) {
    const session = await sessionWith(agent);
    const first = mcpIn(await requestAfter(session, "Approve the flight."));
    await requestAfterCall(session, "tool_search", search);
    await requestAfterCall(session, found, { flight_id: "LH 1" });
    await session.commit(words);
    return { first, second: mcpIn(await requestAfter(session, "And the next one.")) };
  }

  test("with tool_deferral: each_turn, a tool that was called takes the place of one that was not", async () => {
    const { first, second } = await listsAround({ tool_deferral: "each_turn" });
    expect(first).not.toContain(found);
    expect(second).toContain(found);
    expect(first.filter((name) => !second.includes(name))).toEqual([first.at(-1)]);
    // It is in the client's order, not behind Plimsoll's tools.
    expect(second.at(-1)).toBe(found);
    expect(second).toHaveLength(first.length);
  });

  test("by default, the chosen tools stay, and the found one comes after them", async () => {
    const { first, second } = await listsAround(undefined);
    expect(second.slice(0, first.length)).toEqual(first);
    expect(second).toContain(found);
  });

  test("with tool_deferral: each_turn, tools may take the whole threshold, and by default a part is left for found tools", async () => {
    const { first: each } = await listsAround({ tool_deferral: "each_turn" });
    const { first: once } = await listsAround(undefined);
    expect(each.length).toBeGreaterThan(once.length);
  });

  test("with tool_deferral: each_turn, all tools are listed as soon as they fit", async () => {
    const session = await sessionWith({ tool_deferral: "each_turn" });
    await requestAfter(session, "Good morning.");
    await session.commit(words);
    await session.append({ role: "user", content: "Fewer tools now." });
    const few = tools.slice(0, 12);
    const { request } = await session.prepare<Request>({ target, tools: few });
    expect(mcpIn(request)).toEqual(few.slice(3).map(({ name }) => name));
  });

  test("an undone choice stays undone in later turns", async () => {
    const session = await sessionWith({ tool_deferral: "each_turn" });
    await requestAfter(session, "Good morning.");
    await session.commit(words);
    await session.undo();
    expect(mcpIn(await requestAfter(session, "Good evening."))).toHaveLength(120);
  });
});

describe("System note when tools are deferred", () => {
  const note = /\[(\d+) tools deferred to save context\. Use tool_search to find them\.\]/gu;
  const notesIn = ({ messages }: Request): readonly string[] =>
    JSON.stringify(messages).match(note) ?? [];

  test("with deferral_note: in_conversation, the note is in the conversation, with the number of the last choice", async () => {
    const session = await sessionWith({
      deferral_note: "in_conversation",
      tool_deferral: "each_turn",
    });
    const first = await requestAfter(session, "Good morning.");
    expect(notesIn(first)).toEqual([
      `[${120 - mcpIn(first).length} tools deferred to save context. Use tool_search to find them.]`,
    ]);
    await requestAfterCall(session, "tool_search", search);
    await requestAfterCall(session, found, { flight_id: "LH 1" });
    await session.commit(words);
    const second = await requestAfter(session, "Good evening.");
    expect(notesIn(second)).toHaveLength(1);
    await session.commit(words);
    await session.append({ role: "user", content: "Fewer tools now." });
    const few = await session.prepare<Request>({ target, tools: tools.slice(0, 12) });
    expect(notesIn(few.request)).toEqual([]);
  });

  test("found tools that displace others change its number, and others do not", async () => {
    const session = await sessionWith(undefined);
    const first = await requestAfter(session, "Good morning.");
    const deferred = 120 - mcpIn(first).length;
    let told = deferred;
    let displaced = 0;
    for (const server of ["flights", "wallet", "branch", "mail", "ticket", "note", "file", "map"]) {
      const request = await requestAfterCall(session, "tool_search", { query: server });
      if (mcpIn(first).some((name) => !mcpIn(request).includes(name))) {
        displaced++;
        told = 120 - mcpIn(request).length;
      }
      expect(JSON.stringify(request.tools)).toContain(`[${told} tools deferred`);
    }
    expect(displaced).toBeGreaterThan(0);
    expect(told).not.toBe(deferred);
  });

  test("by default it is in the description of tool_search", async () => {
    const request = await requestAfter(await sessionWith(undefined), "Good morning.");
    expect(notesIn(request)).toEqual([]);
    expect(JSON.stringify(request.tools)).toMatch(note);
  });
});
