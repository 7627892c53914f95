import { expect, test } from "vitest";
import type { Listed, Ticket } from "../message/api.ts";
import type { PlimsollEvent, TicketsChangedEvent } from "../message/event.ts";
import { followOpenTickets, openTicketCount } from "./open-tickets.ts";

const changed = (ticketId: string, action: TicketsChangedEvent["action"]): PlimsollEvent => ({
  type: "tickets-changed",
  session: "",
  at: 1,
  ticketId,
  action,
});

/** Follows lists that answer only when they are told to. */
function following(): {
  readonly tickets: ReturnType<typeof followOpenTickets>;
  readonly shown: string[];
  readonly asked: PromiseWithResolvers<Listed<Ticket>>[];
  answer(ids: readonly string[], next?: string): Promise<void>;
} {
  const shown: string[] = [];
  const asked: PromiseWithResolvers<Listed<Ticket>>[] = [];
  const list = (): Promise<Listed<Ticket>> => {
    const one = Promise.withResolvers<Listed<Ticket>>();
    asked.push(one);
    return one.promise;
  };
  const tickets = followOpenTickets({ list, show: (open) => shown.push(openTicketCount(open)) });
  const answer = async (ids: readonly string[], next?: string): Promise<void> => {
    const items = ids.map((id) => ({ id }) as Ticket);
    asked.at(-1)?.resolve({ items, ...(next === undefined ? {} : { next }) });
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { tickets, shown, asked, answer };
}

test("events change the count, and the list is read once", async () => {
  const { tickets, shown, asked, answer } = following();
  tickets.read();
  await answer(["TK-1", "TK-2"]);
  for (const [id, action] of [
    ["TK-3", "create"],
    ["TK-3", "create"],
    ["TK-1", "resolve"],
    ["TK-2", "update"],
    ["TK-2", "delete"],
  ] as const)
    tickets.hear(changed(id, action));
  expect(shown).toEqual(["2", "3", "3", "2", "2", "1"]);
  expect(asked).toHaveLength(1);
});

test("what happens during a read is not lost, whether the answer has it or not", async () => {
  const { tickets, shown, answer } = following();
  tickets.read();
  tickets.hear(changed("TK-2", "create"));
  tickets.hear(changed("TK-1", "resolve"));
  await answer(["TK-1"]);
  expect(shown).toEqual(["1"]);
  tickets.hear(changed("TK-2", "resolve"));
  expect(shown.at(-1)).toBe("0");
});

test("a deleted session makes the list old, and a list with more pages says so", async () => {
  const { tickets, shown, asked, answer } = following();
  tickets.hear({ type: "session-forgotten", session: "s", at: 1 } as PlimsollEvent);
  expect(asked).toHaveLength(1);
  await answer(["TK-1", "TK-2"], "TK-1");
  expect(shown).toEqual(["2+"]);
});
