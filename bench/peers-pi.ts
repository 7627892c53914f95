/** The compaction of pi's agent with its defaults, step by step as its harness takes them before a call of the model. */

import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import { callsOf, contentOf, type Peer, type PeerWorld, stubSummary } from "./peers-adapters.ts";

interface PiMessage {
  readonly role: string;
  readonly content?: string | readonly { readonly type: string; readonly text?: string }[];
}

type Result = { readonly ok: true; readonly value: object | undefined } | { readonly ok: false };

/** As far as it is used here. The package is installed for benchmarks only, so its own types may be absent. */
interface Pi {
  readonly DEFAULT_COMPACTION_SETTINGS: object;
  buildSessionContext(entries: readonly object[]): { readonly messages: readonly PiMessage[] };
  estimateContextTokens(messages: readonly PiMessage[]): { readonly tokens: number };
  shouldCompact(tokens: number, window: number, settings: object): boolean;
  prepareCompaction(entries: readonly object[], settings: object): Result;
  compact(preparation: object, models: object, model: object): Promise<Result>;
  convertToLlm(messages: readonly PiMessage[]): readonly PiMessage[];
}

const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const usage = { ...nothing, totalTokens: 0, cost: { ...nothing, total: 0 } };
const models = {
  completeSimple: async () => ({
    role: "assistant",
    content: [{ type: "text", text: stubSummary }],
    stopReason: "stop",
    usage,
  }),
};
const model = { reasoning: false, maxTokens: 0 };

/** Its session keeps every entry. It is given no usage of a provider, so it estimates from lengths. */
export async function openPi({ limitTokens }: PeerWorld): Promise<Peer> {
  const pi: Pi = await import(import.meta.resolve("@earendil-works/pi-agent-core"));
  const settings = pi.DEFAULT_COMPACTION_SETTINGS;
  const entries: object[] = [];
  const sources = new Map<object, JsonObject>();
  // An agent keeps it beside its messages.
  const system: JsonObject[] = [];
  const push = (fields: object): void => {
    const seq = entries.length;
    entries.push({ id: String(seq), parentId: String(seq - 1), seq, timestamp: seq, ...fields });
  };
  const compact = async (): Promise<void> => {
    const preparation = resultOf(pi.prepareCompaction(entries, settings));
    const compacted = resultOf(await pi.compact(preparation, models, model));
    push({ type: "compaction", fromHook: false, ...compacted });
  };
  return {
    add: async (added) => {
      for (const source of added) {
        if (source["role"] === "system") {
          system.push(source);
          continue;
        }
        const message = piMessage(source);
        sources.set(message, source);
        push({ type: "message", message });
      }
    },
    manage: async () => {
      let { messages } = pi.buildSessionContext(entries);
      if (pi.shouldCompact(pi.estimateContextTokens(messages).tokens, limitTokens, settings)) {
        await compact();
        ({ messages } = pi.buildSessionContext(entries));
      }
      const left = pi.convertToLlm(messages);
      return () => [...system, ...left.map((message) => sources.get(message) ?? summary(message))];
    },
  };
}

function resultOf(result: Result): object {
  if (!result.ok || result.value === undefined) throw new Error("pi could not compact.");
  return result.value;
}

function piMessage(source: JsonObject): PiMessage {
  const text = contentOf(source);
  const content = text === "" ? [] : [{ type: "text", text }];
  if (source["role"] === "user") return { role: "user", content };
  if (source["role"] === "tool") {
    const result = { toolCallId: String(source["tool_call_id"]), isError: false };
    return { role: "toolResult", content, ...result } as PiMessage;
  }
  const calls = callsOf(source).map(({ id, function: { name, arguments: input } }) => ({
    type: "toolCall",
    id,
    name,
    arguments: JSON.parse(input) as unknown,
  }));
  return { role: "assistant", content: [...content, ...calls] };
}

/** The only message that is not one of the conversation. */
function summary({ content }: PiMessage): JsonObject {
  const parts = typeof content === "string" ? [{ text: content }] : (content ?? []);
  return { role: "user", content: parts.map(({ text = "" }) => text).join("\n") };
}
