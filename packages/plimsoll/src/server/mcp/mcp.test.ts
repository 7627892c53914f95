import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { openPlimsoll } from "../../plimsoll.ts";
import { createMcpServer } from "./mcp.ts";

test("a program serves the sessions that it keeps itself", async () => {
  const plimsoll = await openPlimsoll({ store: "memory" });
  const session = await plimsoll.session();
  await session.append({ role: "user", content: "Where is the pump?" });
  await session.prepare({ target: "openai/gpt-5.1" });
  await session.commit({
    id: "c",
    object: "chat.completion",
    choices: [
      { index: 0, message: { role: "assistant", content: "In B." }, finish_reason: "stop" },
    ],
  });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await createMcpServer(plimsoll, { tenant: "library" }).connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  const { structuredContent } = await client.callTool({ name: "session_status", arguments: {} });
  expect(structuredContent).toMatchObject({ session: session.id, turns: 1, messages: 2 });
  await client.close();
  await plimsoll.close();
});

test("an object that openPlimsoll did not give is told so, and not served", async () => {
  const plimsoll = await openPlimsoll({ store: "memory" });
  expect(() => createMcpServer({ ...plimsoll })).toThrow("was not made by openPlimsoll");
  await plimsoll.close();
});
