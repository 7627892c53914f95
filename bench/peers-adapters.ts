/** What other libraries do to a conversation, behind one interface: conversations go in and come out in OpenAI's Chat format. */

import { type ModelMessage, pruneMessages } from "ai";
import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";

/** One way of keeping a conversation small. */
export interface Peer {
  /** Whole exchanges, or everything that was said before the first call. Only turns them into the library's own kind of messages. */
  add(messages: readonly JsonObject[]): Promise<void>;
  /** What the model would be sent now. All of the library's work is in here. */
  manage(): Promise<() => readonly JsonObject[]>;
  close?(): Promise<void>;
}

export interface PeerWorld {
  readonly limitTokens: number;
  readonly tokensOf: (messages: readonly JsonObject[]) => Promise<readonly number[]>;
}

export interface ChatCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

export function callsOf(message: JsonObject): readonly ChatCall[] {
  const calls = message["tool_calls"];
  return (Array.isArray(calls) ? calls : []) as unknown as readonly ChatCall[];
}

export function contentOf(message: JsonObject): string {
  const content = message["content"];
  return typeof content === "string" ? content : "";
}

/** As far as it is used here. The package is installed for benchmarks only, so its own types may be absent. */
interface LangChain {
  readonly SystemMessage: new (fields: object) => LangChainMessage;
  readonly HumanMessage: new (fields: object) => LangChainMessage;
  readonly AIMessage: new (fields: object) => LangChainMessage;
  readonly ToolMessage: new (fields: object) => LangChainMessage;
  trimMessages(
    messages: readonly LangChainMessage[],
    options: object,
  ): Promise<readonly (LangChainMessage | undefined)[]>;
}

interface LangChainMessage {
  readonly id?: string;
  readonly content?: unknown;
}

/** LangChain's trimMessages over the whole history in each turn. With `startOn`, as its documentation has it for chats. */
export async function openTrim(
  { limitTokens, tokensOf }: PeerWorld,
  startOn?: "human",
): Promise<Peer> {
  const langChain: LangChain = await import(import.meta.resolve("@langchain/core/messages"));
  const source: JsonObject[] = [];
  const messages: LangChainMessage[] = [];
  const counts: number[] = [];
  /** It copies messages, so their names are what they are known by. */
  const indexOf = ({ id }: LangChainMessage): number => Number(id);
  const sum = (list: readonly LangChainMessage[]): number => {
    let tokens = 0;
    for (const message of list) tokens += counts[indexOf(message)] ?? Number.NaN;
    return tokens;
  };
  return {
    add: async (added) => {
      for (const message of added) {
        messages.push(langChainMessage(langChain, message, String(source.length)));
        source.push(message);
      }
    },
    manage: async () => {
      const options = {
        maxTokens: limitTokens,
        strategy: "last",
        includeSystem: true,
        ...(startOn && { startOn }),
        tokenCounter: async (list: readonly LangChainMessage[]): Promise<number> => {
          if (counts.length < source.length)
            counts.push(...(await tokensOf(source.slice(counts.length))));
          return sum(list);
        },
      };
      const left = await langChain.trimMessages(messages, options);
      // Where it finds no place to start on, it gives a list with undefined in it.
      const found = left.filter((message) => message !== undefined);
      return () => found.map((message) => source[indexOf(message)] ?? {});
    },
  };
}

/** As far as it is used here. */
interface LangChainMiddleware {
  beforeModel(
    state: { readonly messages: readonly LangChainMessage[] },
    runtime: { readonly context: object },
  ): Promise<{ readonly messages: readonly LangChainMessage[] } | undefined>;
}

interface LangChainAgents {
  summarizationMiddleware(options: object): LangChainMiddleware;
}

/** What a model would answer that is asked for a summary, and at once: only what happens around that is timed. */
export const stubSummary =
  "The user asked for changes; the agent searched files and made some of them. ".repeat(20);

/**
 * LangChain's summarizationMiddleware with a model that answers at once: what is over the limit is brought to half of it.
 * It reads only the newest 4,000 tokens of what it cuts, as is its default.
 */
export async function openSummarization({ limitTokens, tokensOf }: PeerWorld): Promise<Peer> {
  const langChain: LangChain = await import(import.meta.resolve("@langchain/core/messages"));
  const agents: LangChainAgents = await import(import.meta.resolve("langchain"));
  const source: JsonObject[] = [];
  const counts = new Map<string, number>();
  // An agent keeps it beside its messages.
  const system: JsonObject[] = [];
  let state: readonly LangChainMessage[] = [];
  const sourceOf = ({ id }: LangChainMessage): JsonObject => source[Number(id)] ?? {};
  const tokenCounter = async (list: readonly LangChainMessage[]): Promise<number> => {
    const fresh = list.filter(({ id = "" }) => !counts.has(id));
    const counted = await tokensOf(fresh.map(sourceOf));
    for (const [index, { id = "" }] of fresh.entries()) counts.set(id, counted[index] ?? 0);
    return list.reduce((sum, { id = "" }) => sum + (counts.get(id) ?? 0), 0);
  };
  const middleware = agents.summarizationMiddleware({
    model: { invoke: async () => ({ content: stubSummary }) },
    trigger: { tokens: limitTokens },
    keep: { tokens: limitTokens / 2 },
    tokenCounter,
  });
  return {
    add: async (added) => {
      const said = added.filter(({ role }) => role !== "system");
      system.push(...added.filter(({ role }) => role === "system"));
      const messages = said.map((message, index) =>
        langChainMessage(langChain, message, String(source.length + index)),
      );
      source.push(...said);
      state = [...state, ...messages];
    },
    manage: async () => {
      const update = await middleware.beforeModel({ messages: state }, { context: {} });
      // The first says that everything before is gone; the second is the summary, in the name of a message that it replaces.
      const [, summary, ...left] = update?.messages ?? [];
      if (summary !== undefined) {
        source[Number(summary.id)] = { role: "user", content: String(summary.content) };
        counts.delete(summary.id ?? "");
        state = [summary, ...left];
      }
      const sent = state;
      return () => [...system, ...sent.map(sourceOf)];
    },
  };
}

function langChainMessage(
  { SystemMessage, HumanMessage, AIMessage, ToolMessage }: LangChain,
  message: JsonObject,
  id: string,
): LangChainMessage {
  const content = contentOf(message);
  if (message["role"] === "system") return new SystemMessage({ id, content });
  if (message["role"] === "user") return new HumanMessage({ id, content });
  if (message["role"] === "tool")
    return new ToolMessage({ id, content, tool_call_id: String(message["tool_call_id"]) });
  const calls = callsOf(message).map((call) => ({
    id: call.id,
    name: call.function.name,
    args: JSON.parse(call.function.arguments) as object,
  }));
  return new AIMessage({ id, content, tool_calls: calls });
}

/** The AI SDK's pruneMessages: all calls and results but those of the newest messages, over the whole history in each turn. */
export async function openPrune(): Promise<Peer> {
  const messages: ModelMessage[] = [];
  const names = new Map<string, string>();
  return {
    add: async (added) => {
      for (const message of added) {
        for (const call of callsOf(message)) names.set(call.id, call.function.name);
        messages.push(modelMessage(message, names));
      }
    },
    manage: async () => {
      const left = pruneMessages({
        messages,
        reasoning: "before-last-message",
        toolCalls: "before-last-20-messages",
      });
      return () => left.flatMap(chatMessages);
    },
  };
}

export function modelMessage(
  message: JsonObject,
  names: ReadonlyMap<string, string>,
): ModelMessage {
  const content = contentOf(message);
  if (message["role"] === "system") return { role: "system", content };
  if (message["role"] === "user") return { role: "user", content };
  if (message["role"] === "tool") {
    const toolCallId = String(message["tool_call_id"]);
    const toolName = names.get(toolCallId) ?? "";
    const output = { type: "text", value: content } as const;
    return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
  }
  const calls = callsOf(message).map((call) => ({
    type: "tool-call" as const,
    toolCallId: call.id,
    toolName: call.function.name,
    input: JSON.parse(call.function.arguments) as unknown,
  }));
  const text = content === "" ? [] : [{ type: "text" as const, text: content }];
  return { role: "assistant", content: [...text, ...calls] };
}

function chatMessages({ role, content }: ModelMessage): readonly JsonObject[] {
  if (typeof content === "string") return [{ role, content }];
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const results = content.flatMap((part) =>
    part.type === "tool-result" && part.output.type === "text"
      ? [{ role: "tool", tool_call_id: part.toolCallId, content: part.output.value }]
      : [],
  );
  if (role === "tool") return results;
  const calls = content.flatMap((part) =>
    part.type === "tool-call"
      ? [
          {
            id: part.toolCallId,
            type: "function",
            function: { name: part.toolName, arguments: JSON.stringify(part.input) },
          },
        ]
      : [],
  );
  return [
    { role, content: text === "" ? null : text, ...(calls.length > 0 && { tool_calls: calls }) },
  ];
}
