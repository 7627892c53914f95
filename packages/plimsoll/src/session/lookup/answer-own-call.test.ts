import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { called, offload, result, said, tell } from "../../../test/generate/told-sessions.ts";
import { loadTokenizer } from "../../budget/tokenizer.ts";
import { PlimsollError } from "../../message/error.ts";
import type { JsonObject } from "../../message/json.ts";
import type { WordVectors } from "../../search/vectors.ts";
import { createMemoryStore } from "../../store/memory.ts";
import type { Store } from "../../store/store.ts";
import { loadWordVectors } from "../models/word-vectors.ts";
import { type Asker, createOwnAnswers, type OwnAnswers, type OwnWorld } from "./answer-own-call.ts";

let count: (text: string) => number;
let vectors: WordVectors | undefined;
beforeAll(async () => {
  const tokenizer = await loadTokenizer("tiktoken:o200k_base");
  count = (text) => tokenizer.count(text).tokens;
  vectors = await loadWordVectors();
});

const open: OwnAnswers[] = [];
afterEach(async () => {
  for (const own of open.splice(0)) await own.close();
});
const stores: Store[] = [];
afterAll(async () => {
  for (const store of stores) await store.close();
});

interface Setting {
  readonly own: OwnAnswers;
  readonly store: Store;
}

const owner = { session: "ses_1", tenant: "t" };
const asker: Asker = { ...owner, roomTokens: 10_000 };

async function setting(
  messages: readonly JsonObject[],
  changes: Partial<OwnWorld> & Partial<Parameters<typeof tell>[1]> = {},
): Promise<Setting> {
  const store = createMemoryStore();
  stores.push(store);
  const { wire, sources, ...world } = changes;
  await tell(store, {
    ...owner,
    messages,
    ...(wire === undefined ? {} : { wire }),
    ...(sources === undefined ? {} : { sources }),
  });
  const own = createOwnAnswers({
    store,
    count,
    ...(vectors === undefined ? {} : { vectors }),
    ...world,
  });
  open.push(own);
  return { own, store };
}

const talk = [
  said("user", "Where is the harbour master?"),
  called("c1", "read_file", { path: "staff.txt" }),
  result("c1", "Okonkwo, harbour master, pier 7\nLindqvist, pilot, pier 2\n"),
  said("assistant", "On pier 7."),
];

describe("read_result", () => {
  test("gives the result behind a handle, byte for byte, and says what it is", async () => {
    const { own, store } = await setting(talk);
    const handle = await offload(store, owner, { kind: "part", seq: 3, part: 0 });
    const answer = await own.answer(asker, { kind: "read_result", refId: handle });
    expect(answer).toEqual({
      text: `[${handle}, result of read_file: all 57 bytes]\nOkonkwo, harbour master, pier 7\nLindqvist, pilot, pier 2\n`,
      isError: false,
    });
    const found = await own.answer(asker, { kind: "read_result", refId: handle, grep: "pil.t" });
    expect(found.text).toContain("2:Lindqvist, pilot, pier 2");
  });

  test("gives whole messages as people read them", async () => {
    const { own, store } = await setting(talk);
    const runs = [[1, 2, 9] as const, [4, 4, 9] as const];
    const handle = await offload(store, owner, { kind: "messages", runs });
    const { text } = await own.answer(asker, { kind: "read_result", refId: handle });
    const [head, ...lines] = text.split("\n");
    expect(head).toMatch(/^\[pl_\w+, 3 messages, #1 to #4: all \d+ bytes\]$/);
    expect(lines).toEqual([
      ...["#1 user", "Where is the harbour master?", ""],
      ...["#2 assistant", '[call read_file] {"path":"staff.txt"}', ""],
      ...["#4 assistant", "On pier 7.", "", ""],
    ]);
  });

  test("gives a message by its number, with or without a handle", async () => {
    const { own, store } = await setting(talk);
    const handle = await offload(store, owner, { kind: "part", seq: 3, part: 0 });
    const ask = async (refId: string, session: string | undefined) =>
      (
        await own.answer(
          { ...asker, session },
          { kind: "read_result", refId, lines: { first: 2, last: 2 } },
        )
      ).text;
    const line = "tool result of read_file, line 2 of 2: all 24 bytes]\nLindqvist, pilot, pier 2";
    expect(await ask("#3", "ses_1")).toBe(`[#3, ${line}`);
    expect(await ask(`${handle}#3`, undefined)).toBe(`[${handle}#3, ${line}`);
  });

  test("reads results in blocks, and calls, of the other wires too", async () => {
    const blocks = [
      { type: "text", text: "two\nlines" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
    ];
    const messages = [
      { role: "user", content: "look" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "u", name: "shot", input: { x: 1 } }],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "u", content: blocks }] },
    ];
    const { own, store } = await setting(messages, { wire: "anthropic" });
    const whole = await offload(store, owner, { kind: "part", seq: 3, part: 0 });
    const image = await offload(store, owner, { kind: "part", seq: 3, part: 0, inner: 1 });
    const input = await offload(store, owner, { kind: "part", seq: 2, part: 0 });
    const read = async (refId: string) => own.answer(asker, { kind: "read_result", refId });
    expect((await read(whole)).text).toBe(
      `[${whole}, result of shot: all 36 bytes]\ntwo\nlines\n[image image/png, 3 bytes]`,
    );
    expect(await read(image)).toEqual({
      text: `[${image}: image image/png, 3 bytes; it cannot be read as text]`,
      isError: true,
    });
    expect((await read(input)).text).toBe(`[${input}, arguments of shot: all 7 bytes]\n{"x":1}`);
    expect((await read("#3")).text).toContain("[#3, tool result of shot:");
  });

  test("says the same of everything that opens nothing", async () => {
    const { own, store } = await setting(talk);
    await tell(store, { session: "ses_2", tenant: "t", messages: talk });
    await tell(store, { session: "ses_3", tenant: "u", messages: talk });
    const other = await offload(
      store,
      { session: "ses_2", tenant: "t" },
      { kind: "part", seq: 3, part: 0 },
    );
    const foreign = await offload(
      store,
      { session: "ses_3", tenant: "u" },
      { kind: "part", seq: 3, part: 0 },
    );
    const answers = await Promise.all(
      [other, foreign, foreign.slice(0, -1), `${foreign}#1`, "../x", "#99", "pl_", "12"].map(
        (refId) => own.answer(asker, { kind: "read_result", refId }),
      ),
    );
    expect(new Set(answers.map(({ text }) => text))).toEqual(
      new Set([
        "This handle opens nothing here. Copy it as it is written in the conversation (pl_…, pl_…#12 or #12), or search with recall.",
      ]),
    );
    expect(answers.every(({ isError }) => isError)).toBe(true);
  });

  test("a pattern that never ends is answered with a sentence", async () => {
    const { own } = await setting([result("c", "a".repeat(1_000_000))], {
      grep: { timeoutMs: 300 },
    });
    const call = { kind: "read_result", refId: "#1" } as const;
    expect(await own.answer(asker, { ...call, grep: "(a+)+$!" })).toEqual({
      text: "[#1, tool result: the pattern /(a+)+$!/ took too long, use a simpler one]",
      isError: true,
    });
    expect((await own.answer(asker, { ...call, grep: "^a{3}" })).isError).toBe(false);
  });

  test("never costs more than the room, whatever is read", async () => {
    const texts = [
      "word ".repeat(20_000),
      "漢字".repeat(20_000),
      "a1B2".repeat(20_000),
      "\n".repeat(20_000),
      "x😀é".repeat(9000),
    ];
    const { own } = await setting(texts.map((text) => said("user", text)));
    for (const roomTokens of [200, 431, 2000])
      for (const number of [1, 2, 3, 4, 5])
        for (const more of [{}, { grep: "." }, { limit: 200_000 }, { json: "a".repeat(500) }]) {
          const call = { kind: "read_result", refId: `#${number}`, ...more } as const;
          const { text } = await own.answer({ ...asker, roomTokens }, call);
          expect(count(text)).toBeLessThanOrEqual(roomTokens);
          expect(text.startsWith("[#")).toBe(true);
        }
  });

  test("without room names the way out, by the name it has here", async () => {
    const { own } = await setting(talk);
    const nameOf = (tool: string): string => `plimsoll_${tool}`;
    const call = { kind: "read_result", refId: "#1" } as const;
    expect(await own.answer({ ...asker, roomTokens: 150, nameOf }, call)).toEqual({
      text: "There is no room for an answer. Call plimsoll_compact_context first, then ask again.",
      isError: true,
    });
  });

  test("a store that fails is said, and nothing is thrown", async () => {
    const { own } = await setting(talk, {
      store: {
        ...createMemoryStore(),
        session: () => Promise.reject(new Error("/home/someone/secret.db is gone")),
      },
    });
    expect(await own.answer(asker, { kind: "read_result", refId: "#1" })).toEqual({
      text: "Plimsoll cannot answer this now: something went wrong.",
      isError: true,
    });
  });
});

describe.each([
  ["at once", {}],
  ["in the thread", { search: { inPlaceBytes: 0 } }],
])("recall, searched %s", (_, how) => {
  const chatter = Array.from({ length: 30 }, (_item, i) =>
    said("assistant", `Note ${i}: the weather was fine.`),
  );
  const long = [...talk, ...chatter, said("user", "The password of the pilot boat is heron-42.")];

  test("gives passages with their messages, best first", async () => {
    const { own } = await setting(long, how);
    const { text, isError } = await own.answer(asker, {
      kind: "recall",
      query: "Which pier is the harbour master Okonkwo on?",
    });
    expect(isError).toBe(false);
    expect(text).toMatch(
      /^\[\d+ passages, best first; read_result with ref_id "#\d+" reads message \d+ in full\]\n\n#/,
    );
    expect(text).toContain(
      "#3 tool result of read_file\nOkonkwo, harbour master, pier 7\nLindqvist, pilot, pier 2",
    );
  });

  test("leaves out what is shown, and what only the rounds between have", async () => {
    const inner = long.length + 1;
    const messages = [...long, said("assistant", "The password is heron-42, I looked it up.")];
    const { own } = await setting(messages, { ...how, sources: { [inner]: "inner" } });
    const query = "password heron-42";
    const all = await own.answer(asker, { kind: "recall", query });
    expect(all.text).toContain(`#${long.length} user\nThe password`);
    expect(all.text).not.toContain(`#${inner} `);
    const isInView = (number: number): boolean => number === long.length;
    const rest = await own.answer({ ...asker, isInView }, { kind: "recall", query });
    expect(rest.text).not.toContain("heron-42");
    expect(rest).toEqual({
      text: "Nothing found in the earlier messages that you do not see. Ask once more with other words, or with names and paths as they were written. If nothing is found again, it was probably not said here.",
      isError: false,
    });
  });

  test("never costs more than the room or the budget", async () => {
    const { own } = await setting(long, how);
    for (const [roomTokens, budget] of [
      [200, 2000],
      [4000, 210],
      [4000, 1],
    ] as const) {
      const call = { kind: "recall", query: "weather password pier", budget } as const;
      const { text } = await own.answer({ ...asker, roomTokens }, call);
      expect(count(text)).toBeLessThanOrEqual(Math.max(200, Math.min(roomTokens, budget)));
      expect(text).toContain("#");
    }
  });

  test("never gives what is shown, also when it stands beside what is found", async () => {
    const { own } = await setting(long, how);
    const isInView = (number: number): boolean => number !== long.length;
    const { text } = await own.answer(
      { ...asker, isInView },
      { kind: "recall", query: "password" },
    );
    expect(text.match(/^#\d+/gm)).toEqual([`#${long.length}`]);
  });

  test("never costs more for the names of what was called", async () => {
    const name = "a_tool_whose_name_costs_more_than_what_it_said_and_more";
    const messages = Array.from({ length: 60 }, (_item, i) => [
      called(`c${i}`, name, {}),
      result(`c${i}`, `beacon ${i}`),
    ]).flat();
    const { own } = await setting(messages, how);
    const call = { kind: "recall", query: "beacon", budget: 500 } as const;
    const { text } = await own.answer(asker, call);
    expect(text).toContain(`tool result of ${name}\nbeacon`);
    expect(count(text)).toBeLessThanOrEqual(500);
  });

  test("of another tenant's session finds nothing, also when it was searched before", async () => {
    const { own } = await setting(long, how);
    await own.answer(asker, { kind: "recall", query: "password" });
    const answers = await Promise.all(
      ["t", "u", "t", "u"].map((tenant) =>
        own.answer({ ...asker, tenant }, { kind: "recall", query: "password" }),
      ),
    );
    expect(answers.map(({ isError }) => isError)).toEqual([false, true, false, true]);
    expect(answers.filter(({ text }) => text.includes("heron")).length).toBe(2);
    const error: unknown = await own
      .search("u", "ses_1", "password", { budgetTokens: 100 })
      .catch((thrown) => thrown);
    expect(PlimsollError.is(error) && error.code).toBe("SESSION_UNKNOWN");
  });

  test("goes with the session: what was said since is found", async () => {
    const { own, store } = await setting(long, how);
    const ask = async (query: string) =>
      (await own.search("t", "ses_1", query, { budgetTokens: 200 }))[0];
    expect(await ask("password of the boat")).toEqual({
      text: "The password of the pilot boat is heron-42.",
      number: long.length,
      role: "user",
      title: "user",
      session: "ses_1",
      score: 1,
    });
    const from = long.length + 1;
    const messages = [said("user", "The accordion belongs to Ibarra.")];
    expect(await ask("accordion")).toBeUndefined();
    await tell(store, { ...owner, messages, from });
    expect(await ask("accordion")).toMatchObject({ number: from });
  });
});

describe("recall", () => {
  test("without a session says so", async () => {
    const { own } = await setting(talk);
    const answer = await own.answer(
      { ...asker, session: undefined },
      { kind: "recall", query: "x" },
    );
    expect(answer).toMatchObject({ isError: true });
  });

  test("says when the thread cannot be had", async () => {
    const startWorker = (): never => {
      throw new Error("no thread");
    };
    const { own } = await setting(talk, { search: { inPlaceBytes: 0, startWorker } });
    expect(await own.answer(asker, { kind: "recall", query: "pier" })).toEqual({
      text: "The search failed. Try again.",
      isError: true,
    });
    const error: unknown = await own
      .search("t", "ses_1", "pier", { budgetTokens: 9 })
      .catch((thrown) => thrown);
    expect(PlimsollError.is(error) && error.status).toBe(503);
  });
});

describe("compact_context", () => {
  test("does what it does here, also without room, or says that it cannot", async () => {
    const { own } = await setting(talk);
    const compact = async (): Promise<string> => "12,000 → 3,000 tokens.";
    expect(
      await own.answer({ ...asker, roomTokens: 0, compact }, { kind: "compact_context" }),
    ).toEqual({
      text: "12,000 → 3,000 tokens.",
      isError: false,
    });
    const cannot = await own.answer(asker, { kind: "compact_context" });
    expect(cannot).toMatchObject({
      isError: true,
      text: expect.stringContaining("cannot compact"),
    });
    const fails = async (): Promise<string> =>
      Promise.reject(new PlimsollError("NOTHING_TO_DO", "Nothing to do."));
    const failed = await own.answer({ ...asker, compact: fails }, { kind: "compact_context" });
    expect(failed).toEqual({
      text: "Plimsoll cannot answer this now: Nothing to do.",
      isError: true,
    });
  });

  test("what others say of it is cut to the room", async () => {
    const { own } = await setting(talk);
    const compact = async (): Promise<string> => "word ".repeat(5000);
    const call = { kind: "compact_context" } as const;
    const { text } = await own.answer({ ...asker, roomTokens: 300, compact }, call);
    expect(count(text)).toBeLessThanOrEqual(300);
    expect(text).toMatch(/^(?:word ){200}/);
  });

  test("arguments that could not be read are answered with their sentence", async () => {
    const { own } = await setting(talk);
    expect(await own.answer(asker, { kind: "invalid", sentence: "Give `query`." })).toEqual({
      text: "Give `query`.",
      isError: true,
    });
  });
});
