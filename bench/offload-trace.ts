/** One recorded conversation, sent until it is compacted; then every large result is looked for, and read back. */

import { createHash } from "node:crypto";
import type { Engine } from "../packages/plimsoll/src/engine.ts";
import type { Edit } from "../packages/plimsoll/src/message/edit.ts";
import type { JsonObject, JsonValue } from "../packages/plimsoll/src/message/json.ts";
import type { Message } from "../packages/plimsoll/src/message/message.ts";
import { answerOf, bodyOf, type ReplayTurn } from "../packages/plimsoll/src/replay/turns.ts";
import { readArchived } from "../packages/plimsoll/src/session/log/archive.ts";
import type { FactsReader } from "../packages/plimsoll/src/session/measure/message-facts.ts";
import { wires } from "../packages/plimsoll/src/wire/wires.ts";
import { maxOutput } from "./trace-replay.ts";
import { scriptFor, type Trace, type WireForm } from "./trace-wires.ts";

/** As the product's own, without a configuration. */
const threshold = 4096;
/** Where a compaction is made: with the planned request, and not with the one before. */
const filled = 0.95;
const share = 1 / 2;

export interface PlannedTrace {
  readonly trace: Trace;
  readonly limit: number;
}

/** The first request that is half as long as the last, and has a large result in it that was answered. */
export async function planTrace(
  roomy: Engine,
  facts: FactsReader,
  form: WireForm,
  trace: Trace,
): Promise<PlannedTrace | undefined> {
  const wire = wires[form.wire];
  const requests = requestsOf(form, trace);
  const { items: last = [], original = {} } = requests.at(-1) ?? {};
  const body = Buffer.from(JSON.stringify(original));
  const hints = { clientKey: `plan:${trace.meta.id}`, isCompacted: false };
  const turn = await roomy.receive({ tenant: "local", provider: "roomy", wire, body, hints });
  await turn.end({ status: "aborted" });
  const { measured, target } = turn.fitted;
  const bytes = last.map((item) => new TextEncoder().encode(JSON.stringify(item)));
  const counted = await facts.learn(wire, bytes, target.ruler);
  const head = measured.total - counted.reduce((sum, { tokens }) => sum + tokens, 0);
  const planned = requests
    .map(({ items }) => ({
      items,
      tokens: counted.slice(0, items.length).reduce((sum, { tokens }) => sum + tokens, head),
    }))
    .find(
      ({ items, tokens }) =>
        tokens - head >= (measured.total - head) * share && largeIn(form, items).length > 0,
    );
  return planned && { trace, limit: Math.floor(planned.tokens / filled) };
}

interface TraceRequest {
  readonly items: readonly JsonObject[];
  /** The body around them. */
  readonly original: JsonObject;
  readonly answer: ReplayTurn["answer"] | undefined;
}

function requestsOf(form: WireForm, trace: Trace): readonly TraceRequest[] {
  const script = scriptFor(form, trace, maxOutput);
  const soFar: JsonObject[] = [];
  return script.turns.map(({ added, answer }) => {
    soFar.push(...added);
    const request = {
      items: [...script.leadingMessages, ...soFar],
      original: bodyOf(script, soFar),
      answer,
    };
    soFar.push(...(answer ?? []));
    return request;
  });
}

/** Texts of results that stand before the model's last answer. */
function largeIn(form: WireForm, items: readonly JsonObject[]): readonly string[] {
  const messages = items.map((item) => wires[form.wire].messages.decode(item));
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  return messages
    .slice(0, Math.max(0, last))
    .flatMap(resultTexts)
    .filter((text) => Buffer.byteLength(text) > threshold);
}

function resultTexts({ parts }: Message): readonly string[] {
  return parts.flatMap((part) =>
    part.kind === "tool-result"
      ? part.content.flatMap((inner) => (inner.kind === "text" ? [inner.text] : []))
      : [],
  );
}

/** What became of the large results of one conversation, or of many. */
export interface Offloaded {
  readonly compactions: number;
  /** Compactions after which nothing else had to go. */
  readonly enough: number;
  readonly results: number;
  readonly bytes: number;
  /** Behind a handle of their own, behind that of the step, shown whole. */
  readonly own: number;
  readonly shared: number;
  readonly whole: number;
  readonly wrong: readonly string[];
  readonly before: number;
  readonly after: number;
}

const nothing: Offloaded = {
  compactions: 0,
  enough: 0,
  results: 0,
  bytes: 0,
  own: 0,
  shared: 0,
  whole: 0,
  wrong: [],
  before: 0,
  after: 0,
};

export function sumOf(all: readonly Offloaded[]): Offloaded {
  return all.reduce(
    (sum, one) => ({
      compactions: sum.compactions + one.compactions,
      enough: sum.enough + one.enough,
      results: sum.results + one.results,
      bytes: sum.bytes + one.bytes,
      own: sum.own + one.own,
      shared: sum.shared + one.shared,
      whole: sum.whole + one.whole,
      wrong: [...sum.wrong, ...one.wrong],
      before: sum.before + one.before,
      after: sum.after + one.after,
    }),
    nothing,
  );
}

export interface Offloading {
  readonly engine: Engine;
  readonly form: WireForm;
  readonly provider: string;
  readonly plan: PlannedTrace;
}

/** Up to the first compaction that had a large result to look at. */
export async function offloadTrace(offloading: Offloading): Promise<Offloaded> {
  const { engine, form, provider, plan } = offloading;
  const { trace } = plan;
  const wire = wires[form.wire];
  for (const { items, original, answer } of requestsOf(form, trace)) {
    const body = Buffer.from(JSON.stringify(original));
    const hints = { clientKey: `trace:${provider}`, isCompacted: false };
    const turn = await engine.receive({ tenant: "local", provider, wire, body, hints });
    const { outcome, measured, tokensBefore } = turn.fitted;
    const sent = JSON.parse(Buffer.from(turn.body ?? body).toString()) as JsonObject;
    const usage = { inputTokens: measured.total, outputTokens: 50 };
    const response = answer && answerOf(answer, usage);
    await turn.end(
      response === undefined ? { status: "aborted" } : { status: "complete", answer: response },
    );
    const large = largeIn(form, items);
    if (outcome !== "compacted" || large.length === 0) continue;
    const edits = await engine.store.edits(turn.session);
    const isEnough = edits.every(
      ({ action, strategy }) => action.kind === "revert" || !lossy.test(strategy),
    );
    return {
      ...count(large, await lookAround(offloading, edits, sent), trace),
      compactions: 1,
      enough: isEnough ? 1 : 0,
      before: tokensBefore,
      after: measured.total,
    };
  }
  return { ...nothing, wrong: [`${trace.meta.id} was never compacted`] };
}

const lossy = /^(?!offload_|warning)/;

/** Hashes of the texts of results, by where they are. */
interface Places {
  readonly own: ReadonlySet<string>;
  readonly shared: ReadonlySet<string>;
  readonly whole: ReadonlySet<string>;
}

async function lookAround(
  { engine, form }: Offloading,
  edits: readonly Edit[],
  sent: JsonObject,
): Promise<Places> {
  const wire = wires[form.wire];
  const handles = new Map(
    edits.flatMap(({ action, strategy }) =>
      "handle" in action && action.handle !== undefined ? [[action.handle, strategy] as const] : [],
    ),
  );
  const own = new Set<string>();
  const shared = new Set<string>();
  for (const [handle, strategy] of handles) {
    const content = await readBack(engine, handle);
    if (strategy.startsWith("offload_")) own.add(hashOf(content));
    else for (const text of textsIn(wire, content)) shared.add(hashOf(Buffer.from(text)));
  }
  const items = sent[wire.fields.messages];
  const whole = (Array.isArray(items) ? (items as readonly JsonObject[]) : [])
    .flatMap((item) => resultTexts(wire.messages.decode(item)))
    .map((text) => hashOf(Buffer.from(text)));
  return { own, shared, whole: new Set(whole) };
}

type Counted = Pick<Offloaded, "results" | "bytes" | "own" | "shared" | "whole" | "wrong">;

function count(large: readonly string[], places: Places, { meta }: Trace): Counted {
  const found = large.map((text) => {
    const hash = hashOf(Buffer.from(text));
    const place = (["own", "shared", "whole"] as const).find((name) => places[name].has(hash));
    return { text, place };
  });
  const countOf = (wanted: keyof Places): number =>
    found.filter(({ place }) => place === wanted).length;
  return {
    results: large.length,
    bytes: large.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    own: countOf("own"),
    shared: countOf("shared"),
    whole: countOf("whole"),
    wrong: found
      .filter(({ place }) => place === undefined)
      .map(({ text }) => `${meta.id}: a result of ${Buffer.byteLength(text)} bytes is nowhere`),
  };
}

function textsIn(wire: (typeof wires)[keyof typeof wires], content: Uint8Array): readonly string[] {
  const messages = JSON.parse(Buffer.from(content).toString()) as JsonValue;
  return (Array.isArray(messages) ? (messages as readonly JsonValue[]) : [messages]).flatMap(
    (json) => {
      const message = wire.messages.asMessage(json);
      return message === undefined ? [] : resultTexts(wire.messages.decode(message));
    },
  );
}

const page = { least: 500, most: 60_000 };
let dice = 20_260_729;

/** The same sizes in every run. */
function pageSize(): number {
  dice = (Math.imul(dice, 1_103_515_245) + 12_345) >>> 0;
  return page.least + (dice % (page.most - page.least));
}

async function readBack(engine: Engine, handle: string): Promise<Uint8Array> {
  const record = await engine.store.archived("local", handle);
  if (record === undefined) throw new Error(`${handle} opens nothing.`);
  const pages: Uint8Array[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const read = await readArchived(engine.store, record, { offset, limit: pageSize() });
    pages.push(read.content);
    offset = read.nextOffset;
  }
  const content = Buffer.concat(pages);
  if (content.length !== record.bytes)
    throw new Error(`${handle} gives ${content.length} of ${record.bytes} bytes.`);
  return content;
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
