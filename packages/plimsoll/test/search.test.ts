/** What was said in a session, searched by people: over HTTP and by the command line. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { OWNER_TOKEN, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
const tokens = {
  team: "token-of-the-first-team-0123456789",
  other: "token-of-the-other-team-012345678",
};
let upstream: Upstream;
let service: Service;
const sessions = { team: "", other: "" };

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Noted.\u001b[31m")) });
  service = await startService({ upstreams: { anthropic: upstream.url }, config: { tokens } });
  for (const team of ["team", "other"] as const) {
    const messages = [{ role: "user", content: `The harbour master of ${team} is Okonkwo.` }];
    const headers = { "x-plimsoll-token": tokens[team] };
    const asked = await ask(service.url, {
      wire: "anthropic",
      body: bodyOf("anthropic", messages),
      headers,
    });
    sessions[team] = asked.sessionId;
  }
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

interface Found {
  readonly items: readonly { readonly text: string; readonly number: number }[];
}

async function search(token: string, query: string): Promise<{ status: number; body: unknown }> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${service.url}/api/search${query}`, { headers });
  return { status: response.status, body: await response.json() };
}

test("passages come with the message and the session that they are from", async () => {
  const { status, body } = await search(
    OWNER_TOKEN,
    `?q=harbour%20master&session=${sessions.team}`,
  );
  expect(status).toBe(200);
  expect((body as Found).items[0]).toEqual({
    text: "The harbour master of team is Okonkwo.",
    number: 1,
    role: "user",
    title: "user",
    score: 1,
    session: sessions.team,
  });
});

test("a tenant searches its own newest session where it names none, and never another's", async () => {
  const { body } = await search(tokens.team, "?q=harbour");
  expect((body as Found).items.map((item) => item.text)).toContain(
    "The harbour master of team is Okonkwo.",
  );
  expect(JSON.stringify(body)).not.toContain("of other");
  const foreign = await search(tokens.team, `?q=harbour&session=${sessions.other}`);
  const unknown = await search(tokens.team, "?q=harbour&session=ses_0000000000000000000000");
  expect(foreign.status).toBe(404);
  expect(foreign.body).toEqual(unknown.body);
});

test.each([
  ["without a query", ""],
  ["with an empty query", "?q=%20"],
  ["with a budget in words", "?q=harbour&budget=much"],
])("a search %s is refused", async (_, query) => {
  expect((await search(OWNER_TOKEN, query)).status).toBe(400);
});

test("a budget of nothing gives nothing", async () => {
  expect((await search(OWNER_TOKEN, "?q=harbour&budget=0")).body).toEqual({ items: [] });
});

function run(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = childEnvironment({ HOME: service.data });
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, "recall", ...words, "--data", service.data],
      { env, timeout: 20_000 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

test("the command line gives the same, as text without escapes or as JSON", async () => {
  const asText = await run("harbour master", "--session", sessions.other);
  expect(asText.code).toBe(0);
  expect(asText.stdout).toContain("#1 user (1.00)\nThe harbour master of other is Okonkwo.");
  expect(asText.stdout).not.toContain("\u001b");
  const asJson = await run("harbour master", "--session", sessions.other, "--json");
  const { body } = await search(OWNER_TOKEN, `?q=harbour%20master&session=${sessions.other}`);
  expect(JSON.parse(asJson.stdout)).toEqual(body);
});

test("the newest session is searched where none is named; nothing found is said", async () => {
  const { stdout } = await run("zeppelin accordion");
  expect(stdout).toBe(
    "Nothing found: no message of this session answers this. Try other words, or names and paths exactly as they were written.\n",
  );
});

test.each([
  ["no query", [], "Give a query"],
  ["a budget that is none", ["x", "--budget", "0"], "whole number above 0"],
])("%s is wrong usage", async (_, words, sentence) => {
  const { code, stderr } = await run(...words);
  expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
});

test("a session that is not there is said", async () => {
  const { code, stderr } = await run("x", "--session", "ses_0000000000000000000000");
  expect([code, stderr]).toEqual([1, expect.stringContaining("There is no session")]);
});
