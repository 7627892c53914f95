import { expect, test } from "vitest";
import { createMemoryStore } from "../../store/memory.ts";
import type { Store } from "../../store/store.ts";
import { namedSession } from "./named-session.ts";

const idOf = (end: string): string => `ses_abcd${end.padEnd(18, "0")}`;

async function storeWith(...ends: readonly string[]): Promise<Store> {
  const store = createMemoryStore();
  for (const [index, end] of ends.entries())
    await store.commit([
      {
        kind: "session",
        session: {
          id: idOf(end),
          tenant: index === 0 ? "alice" : "bob",
          wire: "anthropic",
          createdAt: 1,
          updatedAt: 1,
        },
      },
    ]);
  return store;
}

const find = async (store: Store, id: string, tenant?: string): Promise<string> => {
  const found = await namedSession(store, { id, tenant, otherwise: "None." });
  return found.id;
};

test("the whole id, or a beginning that no other session has, finds the session", async () => {
  const store = await storeWith("x1", "x2", "y");
  for (const id of [idOf("y"), "ses_abcdy", "ses_abcdy00"])
    expect(await find(store, id)).toBe(idOf("y"));
});

test("a beginning of several sessions gets a sentence that names five of them at most", async () => {
  const few = await storeWith("x1", "x2");
  await expect(find(few, "ses_abcdx")).rejects.toMatchObject({
    code: "USAGE",
    message: `ses_abcdx is the beginning of several sessions: ${idOf("x1")}, ${idOf("x2")}. Give more of the id.`,
  });
  const many = await storeWith("1", "2", "3", "4", "5", "6", "7");
  await expect(find(many, "ses_abcd")).rejects.toMatchObject({
    message: expect.stringMatching(/(?:ses_\w+, ){4}ses_\w+ and more\. /),
  });
});

test("a session of another tenant is not found, and does not make a prefix ambiguous", async () => {
  const store = await storeWith("x1", "x2");
  expect(await find(store, "ses_abcdx", "alice")).toBe(idOf("x1"));
  await expect(find(store, idOf("x1"), "bob")).rejects.toMatchObject({ code: "SESSION_UNKNOWN" });
});

test.each(["", "ses_", "ses_abc", "abcdx", "ses_abcd%", `${idOf("x1")}0`])(
  "%j is no name of a session",
  async (id) => {
    await expect(find(await storeWith("x1"), id)).rejects.toMatchObject({
      code: "SESSION_UNKNOWN",
      message: "None.",
    });
  },
);
