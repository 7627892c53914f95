import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { loadTokenizer } from "../../budget/tokenizer.ts";
import {
  createTokenCounter,
  type SessionTokenCounter,
  type TokenCounterOptions,
} from "./token-counter.ts";

const o200k = "tiktoken:o200k_base";
const opened: SessionTokenCounter[] = [];
const open = (options?: TokenCounterOptions): SessionTokenCounter => {
  const counter = createTokenCounter(options);
  opened.push(counter);
  return counter;
};
afterEach(async () => {
  await Promise.all(opened.splice(0).map((counter) => counter.close()));
});

/** Keeps the threads that it starts, so that a test can count and kill them. */
function watchedWorkers(source = new URL("./count-worker.ts", import.meta.url)): {
  readonly started: Worker[];
  readonly startWorker: () => Worker;
} {
  const started: Worker[] = [];
  const startWorker = (): Worker => {
    const worker = new Worker(source);
    started.push(worker);
    return worker;
  };
  return { started, startWorker };
}

const silentWorker = new URL("data:text/javascript,setInterval(()=>{},1000)");
const brokenWorker = new URL("data:text/javascript,throw new Error('broken')");

/** How many turns the event loop took while the work was done. */
async function loopTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => turns++, 5);
  await work();
  clearInterval(timer);
  return turns;
}

describe("the token counter", () => {
  it("counts short texts here and long ones in a thread, with the same result", async () => {
    const { started, startWorker } = watchedWorkers();
    const counter = open({ startWorker });
    const short = "The load line of a ship.";
    const long = `${short} ${randomBytes(20_000).toString("hex")}`;
    const tokenizer = await loadTokenizer(o200k);
    expect(await counter.count(o200k, [short])).toEqual([tokenizer.count(short)]);
    expect(started).toHaveLength(0);
    expect(await counter.count(o200k, [short, long, ""])).toEqual([
      tokenizer.count(short),
      tokenizer.count(long),
      tokenizer.count(""),
    ]);
    expect(started).toHaveLength(1);
  });

  it("leaves to the thread what is too much for one call", async () => {
    const { started, startWorker } = watchedWorkers();
    const counter = open({ startWorker });
    const texts = Array.from({ length: 40 }, (_, index) => `${index} ${"word ".repeat(2_000)}`);
    const tokenizer = await loadTokenizer(o200k);
    const counts = await counter.count(o200k, texts);
    expect(counts).toEqual(texts.map((text) => tokenizer.count(text)));
    expect(started).toHaveLength(1);
  });

  it("knows a content again, by its text or by a given key", async () => {
    const { started, startWorker } = watchedWorkers();
    const counter = open({ startWorker });
    const text = "word ".repeat(10_000);
    const [first] = await counter.count(o200k, [text], ["a"]);
    await started[0]?.terminate();
    expect(await counter.count(o200k, [text], ["a"])).toEqual([first]);
    expect(await counter.count(o200k, ["any other text"], ["a"])).toEqual([first]);
    expect(started).toHaveLength(1);
  });

  it("forgets what was not used for longest", async () => {
    const { started, startWorker } = watchedWorkers();
    const counter = open({ startWorker, cacheEntries: 3, workerThresholdChars: 0 });
    for (const text of ["a", "b", "c", "a", "d"]) await counter.count(o200k, [text]);
    await started[0]?.terminate();
    await counter.count(o200k, ["a", "c", "d"]);
    expect(started).toHaveLength(1);
    await counter.count(o200k, ["b"]);
    expect(started).toHaveLength(2);
  });

  it("answers at once only for what is short and prepared", async () => {
    const counter = open();
    expect(counter.countNow(o200k, "hello world")).toBeUndefined();
    await counter.prepare(o200k);
    expect(counter.countNow(o200k, "hello world")).toEqual({ tokens: 2, certainty: "exact" });
    expect(counter.countNow(o200k, "x".repeat(20_000))).toBeUndefined();
  });

  it("refuses a tokenizer that does not exist", async () => {
    const counter = open();
    await expect(counter.count("nonsense", ["a"])).rejects.toMatchObject({
      code: "TOKENIZER_UNKNOWN",
    });
    await expect(counter.prepare("nonsense")).rejects.toMatchObject({ code: "TOKENIZER_UNKNOWN" });
  });
});

describe("when the thread fails", () => {
  const text = "é ".repeat(20_000);
  const bound = { tokens: 60_000, certainty: "bound" };

  it("by being killed, the bytes are the bound, and the next text is counted by a new one", async () => {
    const { started, startWorker } = watchedWorkers();
    const counter = open({ startWorker });
    const counting = counter.count(o200k, [text]);
    while (started.length === 0) await sleep(1);
    await started[0]?.terminate();
    expect(await counting).toEqual([bound]);
    const [again] = await counter.count(o200k, [text]);
    expect(again?.certainty).toBe("exact");
    expect(started).toHaveLength(2);
  });

  it("by taking too long, the bytes are the bound", async () => {
    const { started, startWorker } = watchedWorkers(silentWorker);
    const counter = open({ startWorker, jobTimeoutMs: 50 });
    expect(await counter.count(o200k, [text, `${text} `])).toEqual([
      bound,
      { tokens: 60_001, certainty: "bound" },
    ]);
    expect(started).toHaveLength(1);
  });

  it("again and again, it is no longer started", async () => {
    const { started, startWorker } = watchedWorkers(brokenWorker);
    const counter = open({ startWorker });
    for (let attempt = 0; attempt < 8; attempt++) {
      expect(await counter.count(o200k, [text])).toEqual([bound]);
    }
    expect(started).toHaveLength(5);
  });

  it("by not starting at all, the bytes are the bound", async () => {
    const counter = open({
      startWorker: () => {
        throw new Error("no threads here");
      },
    });
    expect(await counter.count(o200k, [text])).toEqual([bound]);
  });

  it("by being overloaded, what does not fit into the queue gets the bound", async () => {
    const counter = open({ queuedCharsMax: 100_000 });
    const texts = Array.from({ length: 5 }, (_, index) => `${index}${text}`);
    const certainties = (await counter.count(o200k, texts)).map(({ certainty }) => certainty);
    expect(certainties).toEqual(["exact", "exact", "bound", "bound", "bound"]);
  });

  it("by being closed, whoever waits gets the bound", async () => {
    const { started, startWorker } = watchedWorkers();
    const counter = open({ startWorker });
    const counting = counter.count(o200k, [text]);
    while (started.length === 0) await sleep(1);
    await counter.close();
    expect(await counting).toEqual([bound]);
    expect(await counter.count(o200k, [`${text} `])).toEqual([
      { tokens: 60_001, certainty: "bound" },
    ]);
  });
});

describe("the event loop", () => {
  it("is not held up by texts of ten megabytes", async () => {
    const counter = open();
    await counter.prepare("anthropic");
    const texts = [
      "a".repeat(10_000_000),
      " ".repeat(10_000_000),
      randomBytes(7_500_000).toString("base64"),
      "中文字".repeat(1_100_000),
    ];
    expect(await loopTurns(() => counter.count("anthropic", texts))).toBeGreaterThan(20);
  }, 60_000);

  it("is not held up by many short texts", async () => {
    const counter = open();
    await counter.prepare(o200k);
    const texts = Array.from(
      { length: 50_000 },
      (_, index) => `message ${index}: ${"lorem ipsum ".repeat(20)}`,
    );
    expect(await loopTurns(() => counter.count(o200k, texts))).toBeGreaterThan(3);
  }, 60_000);
});
