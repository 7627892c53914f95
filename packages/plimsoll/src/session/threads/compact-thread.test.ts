/** Excerpts, receipts and validation in a thread: the results are the same as in place, and others never wait for them. */

import { Worker } from "node:worker_threads";
import { afterEach, expect, test } from "vitest";
import { seenFrom } from "../../../test/generate/seen.ts";
import { receiptFrom } from "../../compact/evidence/receipt-work.ts";
import { makeExcerpt } from "../../compact/excerpt/excerpt.ts";
import { type Engine, openEngine } from "../../engine.ts";
import { type Message, messageText } from "../../message/message.ts";
import type { Goal, Proposal, VisibleConversation } from "../../message/strategy.ts";
import { simulateConversation } from "../../simulate/simulate.ts";
import { newViolations } from "../../wire/validate/validate.ts";
import { wires } from "../../wire/wires.ts";
import type { ToThread } from "../../workers/thread.ts";
import { type CompactThreads, createCompactThreads } from "./compact-thread.ts";
import type { CompactJob } from "./compact-worker.ts";

/** The jobs that were sent to threads, by kind. */
let sent: string[] = [];
const opened: CompactThreads[] = [];

function startWorker(): Worker {
  const worker = new Worker(new URL("./compact-worker.ts", import.meta.url));
  const post = worker.postMessage.bind(worker);
  worker.postMessage = (messages: ToThread<CompactJob>) => {
    if (Array.isArray(messages))
      for (const one of messages) if ("question" in one) sent.push(one.question.kind);
    post(messages);
  };
  return worker;
}

function threads(options: Parameters<typeof createCompactThreads>[0] = {}): CompactThreads {
  const created = createCompactThreads({ startWorker, ...options });
  opened.push(created);
  return created;
}

afterEach(async () => {
  sent = [];
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

const user = (text: string): Message => ({ role: "user", parts: [{ kind: "text", text }] });
const agent = (text: string): Message => ({ role: "assistant", parts: [{ kind: "text", text }] });

const large: Readonly<Record<string, string>> = {
  words: "cargo harbour ledger keel anchor42 draught ".repeat(6_000),
  "blank lines": "\n".repeat(100_000),
  "grep output": Array.from(
    { length: 4_000 },
    (_, at) => `src/dir${at % 40}/file${at % 300}.ts:${at}:  const total${at} = load(${at});`,
  ).join("\n"),
};

function talkWith(text: string): VisibleConversation {
  return seenFrom([
    user("Mend src/load.ts."),
    agent("I look."),
    user(text),
    agent("Seen."),
    user("Go on."),
  ]);
}

function goalOf({ tokens }: VisibleConversation, share = 0.3): Goal {
  const wanted = Math.floor(tokens * share);
  return { limitTokens: wanted, tokens: wanted, floorTokens: Math.floor(wanted * 0.86) };
}

/** A request of some 240 KB. */
function longRequest(): Parameters<Engine["receive"]>[0] {
  const said = ["Mend src/load.ts.", large["words"] ?? "", "Go on."];
  const messages = said.flatMap((content) => [
    { role: "user", content },
    { role: "assistant", content: "Yes." },
  ]);
  const body = { model: "m", max_tokens: 100, messages: messages.slice(0, -1) };
  return {
    tenant: "t",
    provider: "anthropic",
    wire: wires.anthropic,
    body: new TextEncoder().encode(JSON.stringify(body)),
    hints: { isCompacted: false },
  };
}

/** The proposals as plain data, with texts for a handle that is always the same. */
function told(proposals: readonly Proposal[]): unknown {
  const taken = { handle: "pl_x", messages: 1, tokens: 1 };
  return proposals.map((proposal) =>
    "textFor" in proposal ? { ...proposal, textFor: proposal.textFor(taken) } : proposal,
  );
}

test.each(Object.entries(large))(
  "an excerpt of %s is made in the thread, and is the same",
  async (_name, text) => {
    const conversation = talkWith(text);
    const goal = goalOf(conversation);
    const there = await threads().excerpt.propose(conversation, goal);
    expect(sent).toEqual(["excerpt"]);
    const here = await threads({ inPlaceBytes: Number.POSITIVE_INFINITY }).excerpt.propose(
      conversation,
      goal,
    );
    expect(sent).toEqual(["excerpt"]);
    expect(told(there)).toEqual(told(here));
  },
);

test("a long conversation is excerpted in the thread, and messages are weighed here", async () => {
  const whole = seenFrom(simulateConversation({ seed: 7, tokens: 40_000 }));
  let weighed = 0;
  const conversation: VisibleConversation = {
    ...whole,
    weigh: (messages) => {
      weighed += messages.length;
      return whole.weigh(messages);
    },
  };
  const goal = goalOf(conversation);
  const there = await threads().excerpt.propose(conversation, goal);
  expect(weighed).toBeGreaterThan(0);
  expect(there.length).toBeGreaterThan(1);
  const made = await makeExcerpt(whole, goal);
  expect(there.filter(({ kind }) => kind === "remove").length).toBe(made?.gone.length);
  expect(sent).toEqual(["excerpt"]);
});

test("a short conversation needs no thread", async () => {
  const conversation = talkWith("only a few words, ".repeat(100));
  expect(await threads().excerpt.propose(conversation, goalOf(conversation))).not.toEqual([]);
  expect(sent).toEqual([]);
});

test("what cannot be weighed fails as it does in place, and the thread goes on", async () => {
  const conversation = talkWith(large["words"] ?? "");
  const failing = { ...conversation, weigh: () => Promise.reject(new Error("no scales")) };
  const own = threads();
  await expect(own.excerpt.propose(failing, goalOf(failing))).rejects.toThrow("weighed");
  expect((await own.excerpt.propose(conversation, goalOf(conversation))).length).toBeGreaterThan(0);
});

/** A thread that runs this code for each job. */
const evil = (code: string, resourceLimits = {}): Worker =>
  new Worker(`require("node:worker_threads").parentPort.on("message", () => { ${code} });`, {
    eval: true,
    resourceLimits,
    // An out-of-memory error is reported on the thread's own standard error.
    stderr: true,
  });

const faults: Readonly<Record<string, () => Parameters<typeof createCompactThreads>[0]>> = {
  "cannot be started": () => ({
    startWorker: () => {
      throw new Error("no threads");
    },
  }),
  throws: () => ({ startWorker: () => evil(`throw new Error("boom");`) }),
  hangs: () => ({
    startWorker: () => evil("for (;;);"),
    excerptTimeoutMs: 200,
    startTimeoutMs: 200,
  }),
  "runs out of memory": () => ({
    startWorker: () =>
      evil("const all = []; for (;;) all.push(new Array(1e5).fill({}));", {
        maxOldGenerationSizeMb: 16,
      }),
  }),
  "has too much to do": () => ({ waitingMax: -1 }),
};

test.each(Object.entries(faults))(
  "if the thread %s, the request goes out smaller on the next fallback, announced",
  async (_fault, options) => {
    const own = threads(options());
    const providers = { anthropic: { contextWindow: 20_000, tokenizer: "approximate" } };
    const plimsoll = await openEngine({
      store: "memory",
      config: { providers },
      parts: {
        strategies: (usual) => usual.map((one) => (one.name === "excerpt" ? own.excerpt : one)),
      },
    });
    const announced: string[] = [];
    plimsoll.on("degraded", ({ rung }) => announced.push(rung));
    const turn = await plimsoll.receive(longRequest());
    expect(turn.fitted.outcome).toBe("compacted");
    expect(turn.body?.length).toBeLessThan(80_000);
    await turn.end({ status: "complete" });
    expect(announced).toContain("truncation");
    await plimsoll.close();
  },
);

test("a thread that dies once is replaced, and its job is done", async () => {
  const conversation = talkWith(large["words"] ?? "");
  let started = 0;
  const own = threads({
    startWorker: () => {
      started++;
      return started === 1 ? evil(`throw new Error("boom");`) : startWorker();
    },
  });
  const proposals = await own.excerpt.propose(conversation, goalOf(conversation));
  expect(started).toBe(2);
  expect(told(proposals)).toEqual(
    told(await threads().excerpt.propose(conversation, goalOf(conversation))),
  );
});

test("a large body is checked while an excerpt is made", async () => {
  const conversation = talkWith(large["words"] ?? "");
  const begun = Promise.withResolvers<void>();
  const isChecked = Promise.withResolvers<void>();
  const slow: VisibleConversation = {
    ...conversation,
    weigh: async (messages) => {
      begun.resolve();
      await isChecked.promise;
      return conversation.weigh(messages);
    },
  };
  const own = threads();
  const excerpt = own.excerpt.propose(slow, goalOf(slow));
  await begun.promise;
  const text = "cargo ".repeat(100_000);
  await own.validate({ wire: "anthropic", bodyText: JSON.stringify({ text }) });
  isChecked.resolve();
  expect((await excerpt).length).toBeGreaterThan(0);
});

test("what is closed meanwhile is not made here instead", async () => {
  const conversation = talkWith(large["words"] ?? "");
  const begun = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let weighed = 0;
  const slow: VisibleConversation = {
    ...conversation,
    weigh: async (messages) => {
      weighed++;
      begun.resolve();
      await answered.promise;
      return conversation.weigh(messages);
    },
  };
  const own = threads();
  const excerpt = own.excerpt.propose(slow, goalOf(slow));
  const settled = Promise.allSettled([excerpt]);
  await begun.promise;
  await own.close();
  answered.resolve();
  const reason = expect.objectContaining({ message: "it was closed" });
  expect(await settled).toEqual([{ status: "rejected", reason }]);
  expect(weighed).toBe(1);
});

test("an excerpt that takes too long is given up with its thread", async () => {
  const conversation = talkWith(large["words"] ?? "");
  const never = { ...conversation, weigh: () => new Promise<never>(() => undefined) };
  const own = threads({ excerptTimeoutMs: 50 });
  await expect(own.excerpt.propose(never, goalOf(never))).rejects.toThrow("too long");
});

test("a receipt of a long conversation is made in the thread, and is the same to the byte", async () => {
  const { messages } = seenFrom(simulateConversation({ seed: 11, tokens: 40_000 }));
  const seen = messages.map(({ message, number }) => ({
    number,
    text: messageText(message),
    kind: "kept" as const,
  }));
  const work = {
    before: messages.map(({ message, number }) => ({ message, number })),
    visibleBefore: seen,
    visibleAfter: seen.slice(-20),
    figures: {
      tokensBefore: 9,
      tokensAfter: 3,
      milliseconds: 1,
      strategies: ["excerpt"],
      handles: ["pl_x"],
    },
  };
  const receipt = await threads().makeReceipt(work);
  expect(sent).toEqual(["receipt"]);
  expect(JSON.stringify(receipt)).toBe(JSON.stringify(receiptFrom(work)));
});

test("a large body is judged in the thread, by the same rules", async () => {
  const text = "cargo ".repeat(100_000);
  const original = { model: "m", max_tokens: 9, messages: [{ role: "user", content: text }] };
  const body = { ...original, messages: [...original.messages, { role: "user", content: "" }] };
  const texts = {
    wire: "anthropic",
    bodyText: JSON.stringify(body),
    originalText: JSON.stringify(original),
  } as const;
  const found = await threads().validate(texts);
  expect(sent).toEqual(["validate"]);
  expect(found).toEqual(newViolations({ ...texts, body, original }));
  expect(found.length).toBeGreaterThan(0);
});

test("a turn that must become smaller does so with an excerpt and a receipt of threads", async () => {
  const providers = { anthropic: { contextWindow: 20_000, tokenizer: "approximate" } };
  const plimsoll = await openEngine({ store: "memory", config: { providers } });
  const ended = new Promise<unknown>((resolve) =>
    plimsoll.on("compaction-end", ({ receipt }) => resolve(receipt.classes)),
  );
  const turn = await plimsoll.receive(longRequest());
  expect(turn.fitted.outcome).toBe("compacted");
  await turn.end({ status: "complete" });
  expect(await ended).toMatchObject({ path: { facts: 1 } });
  await plimsoll.close();
});
