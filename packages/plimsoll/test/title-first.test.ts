/**
 * Claude Code asks for a title before the conversation begins, under the conversation's name. That is a branch of its own, and whoever
 * names only the session means the branch that was sent last.
 */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import type { JsonObject } from "./harness/json.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import {
  OWNER_TOKEN,
  readEdits,
  readLog,
  readSession,
  type Service,
  startService,
} from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const headers = { "x-claude-code-session-id": "3c1e6b0e-4f0c-4b52-9a35-0d1f4f4d2a11" };
const TITLE = "Write a title for this conversation.";
const FIRST = "Make the import faster.";

let upstream: Upstream;
let service: Service;
let session = "";
let conversation = "";

function run(
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly out: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...words, "--data", service.data],
      {
        env: childEnvironment({ HOME: service.data, PLIMSOLL_TOKEN: OWNER_TOKEN }),
        timeout: 30_000,
      },
      (_error, stdout, stderr) =>
        resolve({ code: child.exitCode ?? -1, out: `${stdout}${stderr}` }),
    );
  });
}

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted, and on to the next.")) });
  service = await startService({ upstreams: { anthropic: upstream.url } });
  const send = async (messages: readonly JsonObject[], fields: JsonObject): Promise<JsonObject> => {
    const body = bodyOf("anthropic", messages, fields);
    const asked = await ask(service.url, { wire: "anthropic", body, headers });
    session = asked.sessionId;
    return asked.message;
  };
  await send([{ role: "user", content: TITLE }], {});
  const random = diceOf(5);
  const history: JsonObject[] = [];
  const tools = [{ name: "look", input_schema: { type: "object" } }];
  for (let turn = 0; turn < 12; turn++) {
    const words = turn === 0 ? FIRST : prose(random, 200);
    history.push({ role: "user", content: words });
    history.push(await send(history, { tools }));
  }
  const { branches } = await readSession(service, session);
  conversation = branches.find(({ id }) => id !== "main")?.id ?? "";
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

test("the title and the conversation are one session, in two branches", async () => {
  const { branches } = await readSession(service, session);
  expect(branches.map(({ messages }) => messages)).toEqual([2, 24]);
});

test("the view of a session is the conversation's", async () => {
  const view = await service.api<{ readonly branch: string; readonly messages: JsonObject[] }>(
    `/api/sessions/${session}/view`,
  );
  expect([view.branch, view.messages.length]).toEqual([conversation, 24]);
});

test("inspect tells of the conversation", async () => {
  const { out } = await run("inspect", session);
  expect(out).toContain(FIRST);
  expect(out).not.toContain(TITLE);
});

test("the log says of each message on which branch it was said, and can show one of them", async () => {
  const said = await readLog(service, session);
  const all = (await run("log", session)).out.trim().split("\n");
  expect(all).toHaveLength(said.length);
  expect(all.find((line) => line.includes(TITLE))).toMatch(/^\s*#1 {2}main\s+user /);
  expect(all.find((line) => line.includes(FIRST))).toContain(conversation);
  const one = await run("log", session, "--branch", conversation);
  expect(one.out).toContain(FIRST);
  expect(one.out).not.toContain(TITLE);
  expect(one.out.trim().split("\n")).toHaveLength(24);
  expect((await run("log", session, "--branch", "main")).out.trim().split("\n")).toHaveLength(2);
});

test("a branch that is not there is said to be none, with those that are", async () => {
  const { code, out } = await run("log", session, "--branch", "br_nobody");
  expect([code, out]).toEqual([
    2,
    `plimsoll: There is no branch br_nobody in this session. Its branches are main, ${conversation}.\n`,
  ]);
});

test("compact and undo mean the conversation", async () => {
  const compacted = await run("compact", session, "--budget", "900");
  expect(compacted).toMatchObject({ code: 0, out: expect.stringContaining("Done: ") });
  const made = await readEdits(service, session);
  expect(new Set(made.map(({ branch }) => branch))).toEqual(new Set([conversation]));
  expect((await run("undo", session)).code).toBe(0);
  const since = (await readEdits(service, session)).slice(made.length);
  expect(new Set(since.map(({ branch }) => branch))).toEqual(new Set([conversation]));
});
