/** One handle for one step: what it covers, where it is shown, and that earlier steps stay within reach. */

import { afterEach, describe, expect, test } from "vitest";
import { type Engine, openEngine } from "../engine.ts";
import type { Edit } from "../message/edit.ts";
import type { Proposal, Strategy, VisibleConversation } from "../message/strategy.ts";
import { wires } from "../wire/wires.ts";
import type { Session } from "./library/session.ts";
import { readArchived } from "./log/archive.ts";

const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const target = "openai/small";
type Propose = (seen: VisibleConversation) => readonly Proposal[];

/** What is to be proposed next; nothing, unless it is set. */
class Script implements Strategy {
  readonly name = "scripted";
  next: Propose = () => [];
  propose(seen: VisibleConversation): readonly Proposal[] {
    return this.next(seen);
  }
}

interface Stage {
  readonly plimsoll: Engine;
  readonly session: Session;
  readonly script: Script;
}

async function stage(): Promise<Stage> {
  const small = { contextWindow: 100_000, tokenizer: "approximate" };
  const script = new Script();
  const plimsoll = await openEngine({
    store: "memory",
    config: { providers: { openai: { models: { small } } } },
    parts: { strategies: [script] },
  });
  open.push(plimsoll);
  const session = await plimsoll.session();
  for (let turn = 0; turn < 8; turn++) {
    await session.append({ role: "user", content: `question ${turn} ${"so and so ".repeat(30)}` });
    await session.prepare({ target });
    const content = `answer ${turn} ${"this and that ".repeat(30)}`;
    await session.commit({
      choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }],
    });
  }
  return { plimsoll, session, script };
}

const summary = (textFor = (handle: string): string => `[short; ${handle}]`): Proposal => ({
  kind: "summary",
  after: 0,
  reason: "Because.",
  textFor: ({ handle }) => textFor(handle),
});
function removal(first: number, last: number, text = ""): Proposal {
  return { kind: "remove", first, last, reason: "Because.", handle: "shared", textFor: () => text };
}
function replacement(message: number, text: string): Proposal {
  return {
    kind: "replace",
    message,
    part: 0,
    place: "undefined",
    reason: "Because.",
    handle: "shared",
    textFor: () => text,
  };
}

async function compactWith({ session, script }: Stage, next: Propose): Promise<void> {
  script.next = next;
  await session.compact({ budget: 500 });
  script.next = () => [];
}

async function edits({ plimsoll, session }: Stage): Promise<readonly Edit[]> {
  return plimsoll.store.edits(session.id);
}

function handlesOf(made: readonly Edit[]): readonly string[] {
  return made.flatMap(({ action }) => ("handle" in action ? (action.handle ?? []) : []));
}

/** The beginnings of the messages behind a handle. */
async function behind({ plimsoll }: Stage, handle: string): Promise<readonly string[]> {
  const record = await plimsoll.store.archived(undefined, handle);
  if (record === undefined) throw new Error(`${handle} opens nothing.`);
  const { content } = await readArchived(plimsoll.store, record, { offset: 0, limit: 1_000_000 });
  expect(content.length).toBe(record.bytes);
  const messages = JSON.parse(new TextDecoder().decode(content)) as { content: string }[];
  return messages.map((message) => message.content.split(" ").slice(0, 2).join(" "));
}

async function shown({ session }: Stage): Promise<string> {
  await session.append({ role: "user", content: "and now?" });
  const { request } = await session.prepare({ target });
  await session.commit({
    choices: [{ message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
  });
  return JSON.stringify(request);
}

describe("a step with a shared handle", () => {
  test("has one handle for all of its edits, shown once, and behind it every message that is not shown whole", async () => {
    const here = await stage();
    await compactWith(here, () => [
      summary(),
      removal(2, 5, "[… #3–#6]"),
      replacement(8, "question 4 …"),
    ]);
    const made = await edits(here);
    const handles = new Set(handlesOf(made));
    expect(handles.size).toBe(1);
    const [handle = ""] = handles;
    const text = await shown(here);
    expect(text.split(handle)).toHaveLength(2);
    expect(text).toContain("[… #3–#6]");
    expect(await behind(here, handle)).toEqual([
      "question 1",
      "answer 1",
      "question 2",
      "answer 2",
      "question 4",
    ]);
  });

  test("a summary that does not show the handle is given it", async () => {
    const here = await stage();
    await compactWith(here, () => [summary(() => "nothing of it"), removal(2, 5)]);
    const [handle = ""] = handlesOf(await edits(here));
    expect(await shown(here)).toContain(`nothing of it [Plimsoll: kept under ${handle}.]`);
  });

  test("the next step's handle covers what earlier ones took out, and the old one still opens", async () => {
    const here = await stage();
    await compactWith(here, () => [summary(), removal(2, 5), replacement(8, "question 4 …")]);
    const [first = ""] = handlesOf(await edits(here));
    const before = (await edits(here)).length;
    // Numbers are now those of the shorter view.
    await compactWith(here, () => [summary(), removal(6, 7)]);
    const later = (await edits(here)).slice(before);
    const [second = ""] = handlesOf(later.filter(({ action }) => action.kind !== "revert"));
    expect(second).not.toBe(first);
    const text = await shown(here);
    expect(text).toContain(second);
    expect(text).not.toContain(first);
    expect(await behind(here, second)).toEqual([
      "question 1",
      "answer 1",
      "question 2",
      "answer 2",
      "question 4",
      "question 5",
      "answer 5",
    ]);
    expect(await behind(here, first)).toHaveLength(5);
    expect(later.some(({ action }) => action.kind === "revert")).toBe(true);
  });

  test("undo takes the whole step back", async () => {
    const here = await stage();
    await compactWith(here, () => [summary(), removal(2, 5), replacement(8, "question 4 …")]);
    await here.session.undo();
    const text = await shown(here);
    expect(text).not.toContain("pl_");
    expect(text).toContain("question 1");
    expect(text).not.toContain("question 4 …");
  });

  test("an own handle beside a shared one is another one", async () => {
    const here = await stage();
    const own: Proposal = {
      kind: "remove",
      first: 10,
      last: 11,
      reason: "Because.",
      textFor: ({ handle }) => `[gone: ${handle}]`,
    };
    await compactWith(here, () => [summary(), removal(2, 5), own]);
    const handles = new Set(handlesOf(await edits(here)));
    expect(handles.size).toBe(2);
    const text = await shown(here);
    for (const handle of handles) expect(text).toContain(handle);
  });

  test("without a summary to show it, each edit has a handle of its own", async () => {
    const here = await stage();
    await compactWith(here, () => [removal(2, 3), removal(6, 7)]);
    const handles = handlesOf(await edits(here));
    expect(new Set(handles).size).toBe(2);
    const text = await shown(here);
    for (const handle of handles) expect(text).toContain(handle);
  });
});

test("an answer that the client sends back in other words is kept in those words", async () => {
  const small = {
    contextWindow: 1_200,
    maxOutputTokens: 100,
    contextWindowBufferTokens: 100,
    tokenizer: "approximate",
  };
  const script = new Script();
  script.next = () => [summary(), removal(2, 5)];
  const plimsoll = await openEngine({
    store: "memory",
    config: { providers: { openai: { models: { small } } } },
    parts: { strategies: [script] },
  });
  open.push(plimsoll);
  const said: object[] = [];
  let session = "";
  for (let turn = 0; turn < 20; turn++) {
    said.push({ role: "user", content: `question ${turn} ${"so and so ".repeat(20)}` });
    const body = new TextEncoder().encode(JSON.stringify({ model: "small", messages: said }));
    const hints = { clientKey: "test:words", isCompacted: false };
    const wire = wires["openai-chat"];
    const received = await plimsoll.receive({ tenant: "t", provider: "openai", wire, body, hints });
    session = received.session;
    const content = `answer ${turn} ${"this and that ".repeat(20)}`;
    const own = { role: "assistant", content, refusal: null, annotations: [] };
    await received.end({ status: "complete", answer: { outcome: "message", choices: [[own]] } });
    said.push({ role: "assistant", content });
    if (received.fitted.outcome === "compacted") break;
  }
  const [handle = ""] = handlesOf(await plimsoll.store.edits(session));
  const record = await plimsoll.store.archived("t", handle);
  if (record === undefined) throw new Error("It opens nothing.");
  const { content } = await readArchived(plimsoll.store, record, { offset: 0, limit: 100_000 });
  expect(JSON.parse(new TextDecoder().decode(content))).toEqual(said.slice(2, 6));
  expect(content.length).toBe(record.bytes);
});
