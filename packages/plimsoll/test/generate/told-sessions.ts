/** A stored conversation for tests: messages of a wire, and handles for what left the window. */

import { createHmac } from "node:crypto";
import { makeHandle } from "../../src/message/handle.ts";
import type { JsonObject } from "../../src/message/json.ts";
import type { Role } from "../../src/message/message.ts";
import { packBody, sha256 } from "../../src/store/body.ts";
import type { ArchiveSource, NodeRecord, Store, Write } from "../../src/store/store.ts";
import type { WireName } from "../../src/wire/format/wire.ts";

export interface Told {
  readonly session: string;
  readonly tenant: string;
  readonly wire?: WireName;
  readonly messages: readonly JsonObject[];
  /** The number of the first of them. */
  readonly from?: number;
  readonly sources?: Readonly<Record<number, NodeRecord["source"]>>;
}

/** Each message is the child of the one before. */
export async function tell(store: Store, told: Told): Promise<void> {
  const { session, tenant, wire = "openai-chat", from = 1 } = told;
  const writes: Write[] = [
    { kind: "session", session: { id: session, tenant, wire, createdAt: 1, updatedAt: 1 } },
  ];
  for (const [index, message] of told.messages.entries()) {
    const seq = index + from;
    const body = new TextEncoder().encode(JSON.stringify(message));
    const node: NodeRecord = {
      seq,
      parent: seq === 1 ? null : seq - 1,
      role: String(message["role"]) as Role,
      source: told.sources?.[seq] ?? "request",
      turn: "turn_1",
      identity: `identity-${seq}`,
      chain: `${session}-${seq}`,
      hash: sha256(body),
      bytes: body.length,
      tokens: 1,
      certainty: "exact",
      isComplete: true,
      at: 1,
    };
    writes.push({ kind: "message", session, tenant, node, body: await packBody(body) });
  }
  await store.commit(writes);
}

const sign = (text: string): Uint8Array => createHmac("sha256", "key").update(text).digest();

/** A handle as the product makes them, kept in the archive. */
export async function offload(
  store: Store,
  { session, tenant }: Pick<Told, "session" | "tenant">,
  source: ArchiveSource,
): Promise<string> {
  const contentHash = sha256(JSON.stringify(source));
  const handle = makeHandle(sign, { tenant, session, contentHash });
  await store.commit([
    { kind: "archive", entry: { handle, tenant, session, bytes: 1, at: 1, source } },
  ]);
  return handle;
}

export function said(role: "user" | "assistant", content: string): JsonObject {
  return { role, content };
}

export function called(id: string, name: string, input: unknown): JsonObject {
  const call = { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
  return { role: "assistant", content: null, tool_calls: [call] };
}

export function result(id: string, content: string): JsonObject {
  return { role: "tool", tool_call_id: id, content };
}
