/** Strands' SlidingWindowConversationManager with its defaults: after each call it drops what is older than 40 messages. */

import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import { callsOf, contentOf, type Peer } from "./peers-adapters.ts";

/** As far as it is used here. The package is installed for benchmarks only, so its own types may be absent. */
interface Strands {
  readonly Message: {
    fromMessageData(data: { readonly role: string; readonly content: readonly object[] }): object;
  };
  readonly SlidingWindowConversationManager: new () => {
    reduce(options: { readonly agent: { readonly messages: object[] } }): boolean;
  };
}

/** Its default. The manager looks at a list that is longer, and only then. */
const windowMessages = 40;

export async function openStrands(): Promise<Peer> {
  const { Message, SlidingWindowConversationManager }: Strands = await import(
    import.meta.resolve("@strands-agents/sdk")
  );
  const manager = new SlidingWindowConversationManager();
  const agent: { readonly messages: object[] } = { messages: [] };
  const sources = new WeakMap<object, readonly JsonObject[]>();
  // An agent keeps it beside its messages.
  const system: JsonObject[] = [];
  return {
    add: async (added) => {
      for (const group of grouped(added)) {
        if (group[0]?.["role"] === "system") {
          system.push(...group);
          continue;
        }
        const message = Message.fromMessageData(messageData(group));
        sources.set(message, group);
        agent.messages.push(message);
      }
    },
    manage: async () => {
      if (agent.messages.length > windowMessages) manager.reduce({ agent });
      const left = [...agent.messages];
      return () => [...system, ...left.flatMap((message) => sources.get(message) ?? [])];
    },
  };
}

/** All results of one message's calls are one message. */
function grouped(messages: readonly JsonObject[]): readonly (readonly JsonObject[])[] {
  const groups: JsonObject[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    const isNext = message["role"] === "tool" && last?.[0]?.["role"] === "tool";
    if (isNext) last.push(message);
    else groups.push([message]);
  }
  return groups;
}

function messageData(group: readonly JsonObject[]): {
  readonly role: string;
  readonly content: readonly object[];
} {
  const role = group[0]?.["role"] === "assistant" ? "assistant" : "user";
  return { role, content: group.flatMap(blocksOf) };
}

function blocksOf(message: JsonObject): readonly object[] {
  const text = contentOf(message);
  if (message["role"] === "tool") {
    const toolUseId = String(message["tool_call_id"]);
    return [{ toolResult: { toolUseId, status: "success", content: [{ text }] } }];
  }
  const calls = callsOf(message).map(({ id, function: { name, arguments: input } }) => ({
    toolUse: { toolUseId: id, name, input: JSON.parse(input) as unknown },
  }));
  return [...(text === "" ? [] : [{ text }]), ...calls];
}
