/**
 * Tools that Plimsoll answers itself, in long conversations through the running service: the model looks things up in a
 * thousand turns of all wires, and the official SDKs put together what it said as if there had been no lookups. Everything is
 * made from seeds; a failure names its own.
 */
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { effort, isSoak, seedOr } from "./harness/effort.ts";
import { type JsonObject, WIRES, type Wire } from "./harness/json.ts";
import { judgeOwn, resultsFor } from "./harness/own-judge.ts";
import type { LookupKind } from "./harness/own-script.ts";
import {
  comparePrefix,
  headOf,
  isReshaped,
  sentRounds,
  toolTexts,
  withoutOwnTools,
} from "./harness/own-sent.ts";
import { bodyIn, lookupsOf, OwnTalk, type OwnTurn } from "./harness/own-talk.ts";
import { readAnswer } from "./harness/reading.ts";
import { makeDataFolder, type Service, startService } from "./harness/service.ts";
import { startUpstream, type Upstream } from "./harness/upstream.ts";
import { MODELS, providersAt } from "./harness/wires.ts";

/** Another one makes other conversations. */
const SEED = seedOr(0);
const TURNS_COUNT = effort(85, 167);
const WINDOW_TOKENS = 8_000;
const OUTPUT_TOKENS_MAX = 500;
const BUFFER_TOKENS = 300;
const LIMIT_TOKENS = WINDOW_TOKENS - BUFFER_TOKENS - OUTPUT_TOKENS_MAX;
const RESULT_TOKENS_MAX = 300;
const COMPACTIONS_MIN = 3;
const COUNT_SHARE_MAX = 1.05;

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

interface Role {
  readonly name: string;
  readonly wire: Wire;
  readonly ownTools: "first-request" | "first-edit";
  readonly seed: number;
}

const FULL_CAST: readonly Role[] = (["first-request", "first-edit"] as const).flatMap(
  (ownTools, scene) =>
    WIRES.map((wire, index) => ({
      name: `${wire}, own tools from the ${ownTools.replace("-", " ")} on`,
      wire,
      ownTools,
      seed: SEED + 1_000 * (scene + 1) + index,
    })),
);
/** `npm test` has every wire once, in one of the two ways. A soak run has all. */
const CAST = FULL_CAST.filter((_, index) => isSoak || [0, 1, 6, 7].includes(index));

const talks = new Map(
  CAST.map((role) => {
    const { name, wire, seed } = role;
    // Older models of Gemini give no ids to their calls.
    const isOlder = wire === "gemini" && role.ownTools === "first-edit";
    const model = `${isOlder ? "gemini-2.5-pro" : MODELS[wire]}-lookups-${seed}`;
    const talk = new OwnTalk({
      name,
      wire,
      seed,
      model,
      outputTokensMax: OUTPUT_TOKENS_MAX,
      resultTokensMax: RESULT_TOKENS_MAX,
    });
    return [role, talk] as const;
  }),
);

function configFor(upstream: Upstream, ownTools: Role["ownTools"]): JsonObject {
  const settings = {
    contextWindow: WINDOW_TOKENS,
    maxOutputTokens: OUTPUT_TOKENS_MAX,
    contextWindowBufferTokens: BUFFER_TOKENS,
    tokenizer: "tiktoken:o200k_base",
  };
  const models = Object.fromEntries(
    [...talks.values()].map(({ options }) => [options.model, settings]),
  );
  return {
    durability: "normal",
    own_tools: ownTools,
    providers: providersAt(upstream.url, { contextWindow: WINDOW_TOKENS, models }),
  };
}

let upstream: Upstream;
const turnsBeforeRestart = new Map<OwnTalk, number>();
const folders: string[] = [];
const services: Service[] = [];

/** Half way the service is stopped and started, when the model has just looked something up. */
async function holdScene(ownTools: Role["ownTools"]): Promise<void> {
  const cast = CAST.filter((role) => role.ownTools === ownTools).flatMap(
    (role) => talks.get(role) ?? [],
  );
  const data = await makeDataFolder();
  folders.push(data);
  const options = { upstreams: {}, data, config: configFor(upstream, ownTools) };
  const first = await startService(options);
  services.push(first);
  await goOnAll(cast, first, ({ turns }) => {
    const last = turns.at(-1);
    return turns.length >= TURNS_COUNT / 2 && last !== undefined && last.rounds.length > 1;
  });
  for (const talk of cast) turnsBeforeRestart.set(talk, talk.turns.length);
  await first.stop();
  const second = await startService(options);
  services.push(second);
  await goOnAll(cast, second, ({ turns }) => turns.length >= TURNS_COUNT);
}

async function goOnAll(
  cast: readonly OwnTalk[],
  service: Service,
  isEnough: (talk: OwnTalk) => boolean,
): Promise<void> {
  await Promise.all(cast.map((talk) => talk.goOn({ service, upstream }, () => isEnough(talk))));
}

beforeAll(async () => {
  upstream = await startUpstream({
    script: lookupsOf([...talks.values()]),
    window: { tokens: WINDOW_TOKENS },
    judgeAlso: judgeOwn,
  });
  await Promise.all([holdScene("first-request"), holdScene("first-edit")]);
});

afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  await upstream?.close();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

/** Throws what the client heard, if that was an error. */
function talkOf(role: Role): OwnTalk {
  const talk = talks.get(role);
  if (talk === undefined) throw new Error(`${role.name} has no talk.`);
  if (talk.failure !== undefined) {
    throw new Error(`Seed ${role.seed}, turn ${talk.turns.length}`, { cause: talk.failure });
  }
  return talk;
}

function labelOf({ seed }: Role, { number, plan, isStreamed }: OwnTurn): string {
  const how = isStreamed ? "streamed" : "whole";
  return `seed ${seed}, turn ${number}, ${how}, ${plan.innerRounds} inner rounds, then ${plan.ending}`;
}

test("the provider refuses nothing", () => {
  expect(upstream.requests.length).toBeGreaterThan(CAST.length * TURNS_COUNT);
  expect(upstream.refusals).toEqual({ overflow: 0, invalid: [] });
});

test("the service has nothing to complain of", () => {
  expect(services.map(({ stderr }) => stderr)).toEqual(services.map(() => ""));
});

describe.each(CAST)("$name", (role) => {
  const { wire } = role;

  test("the client puts together what the model said, and nothing of its lookups", () => {
    const { turns } = talkOf(role);
    expect(turns).toHaveLength(TURNS_COUNT);
    for (const turn of turns) {
      expect(turn.rounds, labelOf(role, turn)).toHaveLength(turn.plan.innerRounds + 1);
      expect(turn.heard, labelOf(role, turn)).toEqual(turn.expected);
    }
  });

  test("every kind of turn takes place, and every kind of lookup", () => {
    const { turns } = talkOf(role);
    const plans = new Set(
      turns.map(({ plan: { innerRounds, ending } }) => `${innerRounds} ${ending}`),
    );
    expect(plans.size).toBeGreaterThan(effort(7, 10));
    expect(turns.filter(({ action }) => action === "compacted").length).toBeGreaterThanOrEqual(
      COMPACTIONS_MIN,
    );
    const kinds = new Set(turns.flatMap(({ lookups }) => lookups.flat().map(({ kind }) => kind)));
    expect([...kinds].sort()).toEqual(Object.keys(ANSWERS).sort());
  });

  test("events are numbered without a gap, and say what the whole says", () => {
    for (const turn of talkOf(role).turns.filter(({ isStreamed }) => isStreamed)) {
      const label = labelOf(role, turn);
      if (wire === "openai-responses") {
        const numbers = [...turn.raw.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) =>
          Number(number),
        );
        expect(numbers, label).toEqual(numbers.map((_, index) => index));
        const { message } = readAnswer(wire, turn.raw);
        expect(message["output"], label).toEqual(withoutParsed(turn.expected)["output"]);
      }
      expect(turn.raw, label).not.toMatch(/"(?:read_result|recall|compact_context)"/);
    }
  });

  test("between two compactions every byte of the conversation stays in its place", () => {
    const rounds = sentRounds(talkOf(role));
    expect(rounds.length).toBeGreaterThan(TURNS_COUNT);
    for (const [index, later] of rounds.entries()) {
      const earlier = rounds[index - 1];
      if (earlier === undefined || isReshaped(earlier, later, LIMIT_TOKENS)) continue;
      const { where, before, after } = comparePrefix(wire, earlier, later);
      expect(after, `seed ${role.seed}, ${where}`).toBe(before);
    }
  });

  test("the service counts what the provider counts, lookups and all", () => {
    for (const turn of talkOf(role).turns) {
      const tokens = turn.sent[0]?.tokens ?? Number.NaN;
      // Where room is made in the middle of a turn, the figure is of what was sent after that.
      const isReduced = turn.sent.some((one, at) => one.tokens < (turn.sent[at - 1]?.tokens ?? 0));
      if (isReduced || turn.lookups.flat().some(({ kind }) => kind === "compact")) continue;
      expect(turn.tokensAfter, labelOf(role, turn)).toBeGreaterThanOrEqual(0.997 * tokens);
      expect(turn.tokensAfter, labelOf(role, turn)).toBeLessThan(COUNT_SHARE_MAX * tokens);
    }
  });

  test("our tools enter once, behind the client's own, always in the same bytes", () => {
    const talk = talkOf(role);
    const rounds = sentRounds(talk);
    const heads = new Set(rounds.map(({ body }) => JSON.stringify(headOf(body))));
    expect(heads.size).toBe(1);
    const { clients } = toolTexts(wire, talk.turns[0]?.clientBody ?? "");
    const lists = [...new Set(rounds.map(({ body }) => JSON.stringify(toolsIn(wire, body))))];
    const { own } = toolTexts(wire, rounds.at(-1)?.body ?? "");
    expect(own).toHaveLength(3);
    const [without, beside] = [clients, [...clients, ...own]].map((list) => JSON.stringify(list));
    expect(lists).toEqual(role.ownTools === "first-request" ? [beside] : [without, beside]);
    const entered = rounds.findIndex(({ body }) => toolTexts(wire, body).own.length > 0);
    expect(
      rounds.slice(entered).filter(({ body }) => toolTexts(wire, body).own.length === 0),
    ).toEqual([]);
  });

  test("what nobody edited goes out byte for byte", () => {
    const { turns } = talkOf(role);
    const edited = turns.findIndex(({ action }) => action !== "passthrough");
    expect(edited).toBeGreaterThan(0);
    for (const turn of turns.slice(0, edited)) {
      const body = turn.sent[0]?.body.toString() ?? "";
      expect(withoutOwnTools(wire, body), labelOf(role, turn)).toBe(turn.clientBody);
      if (role.ownTools === "first-edit") expect(body).toBe(turn.clientBody);
    }
  });

  test("a restart changes nothing", () => {
    const talk = talkOf(role);
    const first = turnsBeforeRestart.get(talk) ?? 0;
    const [before, after] = [talk.turns[first - 1], talk.turns[first]];
    expect(before?.rounds.length).toBeGreaterThan(1);
    expect(after?.session).toBe(before?.session);
    expect(after?.action).toBeOneOf(["edited", "compacted"]);
  });

  test("every lookup is answered with what it asked for", () => {
    const talk = talkOf(role);
    const rounds = sentRounds(talk);
    for (const [index, { turn, lookups }] of rounds.entries()) {
      const next = rounds[index + 1];
      const isCut = turn.plan.ending === "cut short" && next?.turn !== turn;
      if (next === undefined || isCut) continue;
      const results = resultsFor(wire, bodyIn({ body: Buffer.from(next.body) }), lookups);
      for (const [place, { kind, asked }] of lookups.entries()) {
        const found = results[place];
        const label = `${labelOf(role, turn)}: ${kind} ${asked}`;
        expect(found, label).toEqual([expect.stringMatching(ANSWERS[kind])]);
      }
    }
  });
});

/** Without what the SDK adds of its own. */
function withoutParsed(whole: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(whole), (key, value: unknown) =>
    key === "parsed" || key === "parsed_arguments" ? undefined : value,
  ) as JsonObject;
}

function toolsIn(wire: Wire, body: string): readonly string[] {
  const { clients, own } = toolTexts(wire, body);
  return [...clients, ...own];
}

const NO_ROOM = "^There is no room for an answer\\. ";
const PAGE = new RegExp(
  `^\\[(?:pl_\\w{22})?(?:#\\d+)?, .*: (?:all \\d|bytes \\d|nothing matches|line|\\d|empty|there is no room)|${NO_ROOM}`,
);

/** What the answer to a lookup looks like. */
const ANSWERS: Readonly<Record<LookupKind, RegExp>> = {
  page: PAGE,
  grep: PAGE,
  lines: PAGE,
  number: PAGE,
  "handle and number": PAGE,
  "unknown handle": new RegExp(`^This handle opens nothing here\\. |${NO_ROOM}`),
  "broken arguments": /^(?:Give `ref_id` as text|The arguments are not a JSON object)/,
  recall: new RegExp(`^\\[\\d+ passages?|^Nothing found in the earlier messages|${NO_ROOM}`),
  compact: /^(?:Compacted: \d+ → \d+ tokens|Nothing was removed)/,
};
