/** Sessions have names: the user's first words and the client, the beginning of an id is enough, and lists say what they hold. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Replay, replayAgent } from "./agent-shapes/replay.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import { type Stage, startStage, type Talk } from "./harness/dashboard-stage.ts";
import type { JsonObject } from "./harness/json.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(data: string, ...words: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...words, "--data", data],
      { env: childEnvironment({}) },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

interface Row {
  readonly id: string;
  readonly title?: string;
  readonly client?: string;
  readonly agent?: string;
}
interface Items<T> {
  readonly items: readonly T[];
}

describe.each([
  ["claude-code", "Claude Code"],
  ["claude-code-opus", "Claude Code"],
  ["qwen-code", "Qwen Code"],
  ["droid", "Droid"],
  ["goose", "Goose"],
])("%s", (agent, client) => {
  let replay: Replay;
  beforeAll(async () => {
    replay = await replayAgent({ agent, windowTokens: 1_000_000 });
  });
  afterAll(() => replay.close());

  test("has a readable name, and the title is the user's own words", async () => {
    const { items } = await replay.service.api<Items<Row>>("/api/sessions");
    const row = items.find(({ id }) => id === replay.session);
    expect(row?.client).toBe(client);
    // The words of a recording are others, but the user said nine of them, without a tag.
    expect(row?.title).toMatch(/^[^<>]{30,60}\.$/);
    const agents = await replay.service.api<Items<Row>>("/api/agents");
    expect(agents.items.map((one) => one.agent)).toContain(client);
  });
});

describe("two sessions, one of them compacted", () => {
  let stage: Stage;
  let talk: Talk;
  beforeAll(async () => {
    stage = await startStage();
    talk = stage.talk({ name: "one", agent: "shipwright" });
    await talk.say("<system-reminder>Be kind.</system-reminder>Caulk the\n hull, please");
    await talk.until("compacted");
    await stage.talk({ name: "two" }).say("Mend the sails");
  });
  afterAll(() => stage.close());

  test("the list in the terminal has title, agent, model and fill", async () => {
    const { stdout } = await run(stage.data, "sessions");
    const [head = "", first = "", second = ""] = stdout.split("\n");
    expect(head).toMatch(/^session +title +agent +model +fill +turns +last turn/);
    expect(first).toMatch(/^ses_\w+ +Mend the sails +.*claude-sonnet-4-6 +\d+ % +1 /);
    expect(second).toMatch(/Caulk the hull, please +shipwright +claude-sonnet-4-6 +\d+ %/);
  });

  test("the beginning of an id is enough, in commands, routes and addresses of other answers", async () => {
    const beginning = talk.id.slice(0, 14);
    for (const path of ["", "/window", "/edits", "/log", "/archive"])
      await stage.api(`/api/sessions/${beginning}${path}`);
    const found = await stage.api<JsonObject>(`/api/sessions/${beginning}`);
    expect([found["id"], found["title"]]).toEqual([talk.id, "Caulk the hull, please"]);
    const posted = await stage.post(`/api/sessions/${beginning}/checkpoint`, { label: "here" });
    expect(posted.status).toBe(200);
    const { stdout, code } = await run(stage.data, "inspect", "--json", beginning);
    expect([code, stdout.includes('"used"')]).toEqual([0, true]);
    const searched = await stage.api<Items<{ readonly session: string }>>(
      `/api/search?q=hull&session=${beginning}`,
    );
    expect(searched.items[0]?.session).toBe(talk.id);
  });

  test("a beginning that is too short, or that no session has, finds nothing", async () => {
    for (const id of ["ses_", "ses_notthere"]) {
      const { stderr, code } = await run(stage.data, "log", id);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`There is no session ${id};`)]);
    }
  });

  test("each edit says which messages it touches, in the answer and in the terminal", async () => {
    interface Edited {
      readonly action: { readonly kind: string };
      readonly messages?: { readonly first: number; readonly last: number };
    }
    const { items } = await stage.api<Items<Edited>>(`/api/sessions/${talk.id}/edits`);
    const replaced = items.filter(({ action }) =>
      ["replace", "remove", "fold"].includes(action.kind),
    );
    expect(replaced.length).toBeGreaterThan(0);
    for (const { messages } of replaced) expect(messages?.first).toBeGreaterThan(0);
    const { stdout } = await run(stage.data, "edits", talk.id);
    expect(stdout).toMatch(/^edit +kind +messages/);
    expect(stdout).toMatch(/ #\d+/);
  });

  test("each handle says how many messages it holds, and how they begin", async () => {
    interface Held {
      readonly handle: string;
      readonly messages: number;
      readonly first: number;
      readonly last: number;
      readonly begins: string;
    }
    const { items } = await stage.api<Items<Held>>(`/api/sessions/${talk.id}/archive`);
    expect(items.length).toBeGreaterThan(0);
    for (const { messages, first, last, begins } of items) {
      expect(messages).toBeGreaterThan(0);
      expect(last).toBeGreaterThanOrEqual(first);
      expect(begins).toMatch(/\S/);
    }
  });
});
