/** A fork: a session, or a point of it, becomes a new session. It reads the same, has its own handles, and goes its own way. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { openPlimsoll, type Plimsoll } from "../../src/index.ts";
import { engineOf } from "../../src/plimsoll.ts";
import { prose } from "../harness/words.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-fork-"));
afterAll(() => rmSync(folder, { recursive: true }));
const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

const small = {
  contextWindow: 8_000,
  maxOutputTokens: 500,
  contextWindowBufferTokens: 500,
  tokenizer: "tiktoken:o200k_base",
};
const tools = [{ name: "look", parameters: { type: "object" } }];

async function fresh(data?: string): Promise<Plimsoll> {
  const plimsoll = await openPlimsoll({
    ...(data === undefined ? { store: "memory" as const } : { data }),
    config: { providers: { anthropic: { models: { small } } } },
  });
  open.push(plimsoll);
  return plimsoll;
}
type Session = Awaited<ReturnType<Plimsoll["session"]>>;
interface Request {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

const answerOf = (words: string) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: words }],
  stop_reason: "end_turn",
});

/** What the model gets, without the handles, which differ from session to session. */
const seen = ({ messages }: Request): string =>
  JSON.stringify(messages).replaceAll(/pl_[0-9A-Za-z]{22}/g, "pl_");

async function say(session: Session, content: string, words = "Noted."): Promise<Request> {
  await session.append({ role: "user", content });
  const turn = await session.prepare<Request>({
    target: "anthropic/small",
    tools,
    cacheMarks: false,
  });
  await session.commit(answerOf(words));
  return turn.request;
}

async function talk(session: Session, turns: number, seed = 1): Promise<void> {
  const random = diceOf(seed);
  for (let turn = 0; turn < turns; turn++)
    await say(session, `Number ${turn}. ${prose(random, 300)}`, `Noted, ${turn}.`);
}

test("a fork reads the same as the session, and each goes on by itself, also after a restart", async () => {
  const data = join(folder, "whole");
  const first = await fresh(data);
  const session = await first.session({ agent: "coder", priority: 1 });
  await talk(session, 30);
  const id = await session.fork();
  expect(id).not.toBe(session.id);
  await first.close();
  open.length = 0;
  const second = await fresh(data);
  const [mine, forked] = [await second.session(session.id), await second.session(id)];
  const question = "And what now?";
  const [one, other] = [await say(mine, question), await say(forked, question)];
  expect(seen(other)).toBe(seen(one));
  expect(seen(other)).toContain("pl_");
  await say(forked, "Only here.");
  expect(seen(await say(mine, "Elsewhere."))).not.toContain("Only here.");
  const rows = await engineOf(second).store.sessions({ limit: 9 });
  expect(rows.map(({ id: known }) => known).toSorted()).toEqual([session.id, id].toSorted());
});

test("the handles of a fork open the same content, and those of the other session open nothing there", async () => {
  const plimsoll = await fresh();
  const session = await plimsoll.session();
  await talk(session, 30);
  const forked = await plimsoll.session(await session.fork());
  const handlesIn = (request: Request): readonly string[] =>
    JSON.stringify(request).match(/pl_[0-9A-Za-z]{22}/g) ?? [];
  const [theirs = ""] = handlesIn(await say(session, "Go on."));
  const [own = ""] = handlesIn(await say(forked, "Go on."));
  expect(own).toMatch(/^pl_/);
  expect(own).not.toBe(theirs);
  const read = async (handle: string) => {
    const input = JSON.stringify({ ref_id: handle, grep: "Number 4" });
    return forked.answer({ kind: "tool-call", id: "toolu_1", name: "read_result", input });
  };
  expect(await read(own)).toMatchObject({ isError: false });
  expect((await read(own))?.text).toContain("Number 4");
  expect((await read(theirs))?.isError).toBe(true);
});

test("{ databaseUrl } is an error, and not a store somewhere else", async () => {
  const options = { databaseUrl: "postgres://db/plimsoll" } as { store?: "memory" };
  await expect(openPlimsoll(options)).rejects.toThrow("databaseUrl is set, but Plimsoll does not");
});

describe("from a point", () => {
  test("after a message, the rest is not there", async () => {
    const plimsoll = await fresh();
    const session = await plimsoll.session();
    await talk(session, 8);
    const { units } = await plimsoll.picture(session.id);
    const message = units.find(({ begins }) => begins.startsWith("Noted, 3"))?.first ?? 0;
    const forked = await plimsoll.session(await session.fork({ message }));
    const request = await say(forked, "Another way.");
    expect(seen(request)).toContain("Number 3");
    expect(seen(request)).not.toContain("Number 4");
    expect(request.messages).toHaveLength(9);
  });

  test("at a checkpoint, the view is as it was then", async () => {
    const plimsoll = await fresh();
    const session = await plimsoll.session();
    await talk(session, 12);
    const before = await plimsoll.picture(session.id);
    const checkpoint = await session.checkpoint("before the cut");
    await session.compact({ keep: "lastTwo" });
    await say(session, "After the cut.");
    const id = await session.fork({ checkpoint });
    const after = await plimsoll.picture(id);
    expect(after.units.map(({ begins }) => begins)).toEqual(
      before.units.map(({ begins }) => begins),
    );
  });

  test("a session without a turn says so, and names no address of the service", async () => {
    const plimsoll = await fresh();
    const session = await plimsoll.session();
    const sentence =
      "This session has had no turn yet, so there is nothing to work on. Take its first turn, then try again.";
    await expect(session.fork()).rejects.toThrow(sentence);
    await expect(session.fork({ message: 3 })).rejects.toThrow(sentence);
    await expect(session.impact()).rejects.toThrow(sentence);
    await talk(session, 1);
    const elsewhere = plimsoll.steering.impact(session.id, { branch: "br_elsewhere" });
    await expect(elsewhere).rejects.toThrow(
      "There is no branch br_elsewhere in this session. Its branches are ",
    );
  });

  test("an unknown point, and a session that is not there, get a clear sentence", async () => {
    const plimsoll = await fresh();
    const session = await plimsoll.session();
    await talk(session, 2);
    for (const [point, sentence] of [
      [{ message: 99 }, "There is no message 99 on this branch. `plimsoll log` shows the numbers."],
      [{ checkpoint: "cp_9" }, "There is no checkpoint cp_9 in this session."],
      [{ seq: 7 }, "There is no edit 7 in this session."],
      [{ at: 1 }, "At this point, the session had no message yet."],
    ] as const)
      await expect(session.fork(point)).rejects.toThrow(sentence);
    const gone = plimsoll.steering.fork("ses_0000000000000000000000", {});
    await expect(gone).rejects.toThrow(
      "There is no session ses_0000000000000000000000; it may have been deleted before.",
    );
    expect(await engineOf(plimsoll).store.sessions({ limit: 9 })).toHaveLength(1);
  });
});
