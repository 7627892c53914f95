/** A model that the catalogue does not know has a window that nobody has told: wherever people read its size, it is said to be a guess. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { diceOf } from "../demo/dice.ts";
import { reply, text } from "./harness/answer.ts";
import { childEnvironment } from "./harness/child-environment.ts";
import type { JsonObject, Wire } from "./harness/json.ts";
import { ask, bodyOf } from "./harness/raw-client.ts";
import { OWNER_TOKEN, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { prose } from "./harness/words.ts";

const program = fileURLToPath(new URL("../bin/plimsoll.mjs", import.meta.url));
let upstream: Upstream;
let service: Service;

function run(...words: readonly string[]): Promise<string> {
  const env = childEnvironment({ HOME: service.data, PLIMSOLL_TOKEN: OWNER_TOKEN });
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, ...words, "--data", service.data],
      { env, timeout: 30_000 },
      (_error, stdout, stderr) => resolve(`${stdout}${stderr}`),
    );
  });
}

beforeAll(async () => {
  upstream = await startUpstream({ script: () => reply(text("Aye.")) });
  service = await startService({ upstreams: { openai: upstream.url, gemini: upstream.url } });
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});

interface Told {
  readonly isWindowGuess?: true;
}

describe.each<[string, Wire, string, true | undefined]>([
  ["a model that nobody knows", "openai-chat", "harbour-9-unheard-of", true],
  ["a model that nobody knows", "gemini", "harbour-9-unheard-of", true],
  ["a model of the catalogue", "openai-chat", "gpt-6.1-sol", undefined],
  ["a model of the catalogue", "gemini", "gemini-2.5-pro", undefined],
])("%s on %s", (_name, wire, model, guess) => {
  let session = "";
  beforeAll(async () => {
    const body = bodyOf(wire, [{ role: "user", content: `Hello, ${model}.` }], { model });
    ({ sessionId: session } = await ask(service.url, { wire, body }));
  });

  test("over /api", async () => {
    const of = `/api/sessions/${session}`;
    const told = [
      await service.api<Told>(`${of}/window`),
      await service.api<Told>(`${of}/measurement`),
      (await service.api<{ readonly items: readonly Told[] }>(`${of}/turns`)).items[0],
      (await service.api<{ readonly lastTurn: Told }>(of)).lastTurn,
    ];
    expect(told.map((one) => one?.isWindowGuess)).toEqual(told.map(() => guess));
  });

  test.each(["inspect", "report"])("%s says so", async (command) => {
    const said = await run(command, session);
    expect(said).toContain("window ");
    expect(said.includes("(a guess)")).toBe(guess === true);
  });
});

test.each(["openai-chat", "gemini"] as const)(
  "%s: such a model has no limit until its provider names one; its client sees nothing of that",
  async (wire) => {
    const small = await startUpstream({
      script: () => reply(text("Noted, and on to the next.")),
      window: { tokens: 12_000 },
    });
    const other = await startService({ upstreams: { openai: small.url, gemini: small.url } });
    const random = diceOf(8);
    const messages: JsonObject[] = [];
    const actions: string[] = [];
    let session = "";
    for (let turn = 0; turn < 20; turn++) {
      messages.push({ role: "user", content: prose(random, 1_000) });
      const body = bodyOf(wire, [...messages], { model: "harbour-9-unheard-of" });
      const asked = await ask(other.url, { wire, body });
      expect(asked.status).toBe(200);
      session = asked.sessionId;
      actions.push(asked.headers.get("x-plimsoll-action") ?? "");
      messages.push(asked.message);
    }
    const overflows = small.requests.filter(({ isOverflow }) => isOverflow).length;
    const first = actions.indexOf("compacted");
    expect(first).toBeGreaterThan(8);
    expect(actions.slice(0, first)).toEqual(Array(first).fill("passthrough"));
    expect(overflows).toBe(1);
    const told = await other.api<Told & { readonly window: number }>(
      `/api/sessions/${session}/window`,
    );
    expect([told.window, told.isWindowGuess]).toEqual([12_000, undefined]);
    await other.stop();
    await small.close();
  },
);
