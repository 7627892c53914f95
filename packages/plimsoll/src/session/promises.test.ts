/** The promises of the design, held to over generated conversations on every wire: it fits, it is valid, nothing is lost, it is stable. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Request, requestsOf, WIRES } from "../../test/generate/conversations.ts";
import {
  openWith,
  type Passed,
  pass,
  passAll,
  recount,
  violationsOf,
  withMessages,
} from "../../test/generate/rehearsal.ts";
import { type Script, scripts } from "../../test/generate/script.ts";
import { hadIn, lostOf, plain, readPages } from "../../test/generate/whole.ts";
import { tries } from "../../test/harness/effort.ts";
import { isObject, type JsonObject, type Wire } from "../../test/harness/json.ts";
import { messageTexts } from "../../test/harness/kept.ts";
import type { Engine } from "../engine.ts";
import type { Fitted } from "./fit/last-resort.ts";

const LIMIT = 1500;
const seed = 20261115;
const script = scripts({ roundsMin: 8, roundsMax: 14 });

/** Holds for every generated conversation: each with a product of its own, and so that something is cut. */
async function holds(
  wire: Wire,
  property: (plimsoll: Engine, requests: readonly Request[], script: Script) => Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(script, async (generated) => {
      const plimsoll = await openWith(LIMIT);
      try {
        await property(plimsoll, requestsOf(wire, generated), generated);
      } finally {
        await plimsoll.close();
      }
    }),
    tries({ runs: 2, soak: 18, seed }),
  );
}

/** Tool schemas may go beyond the limit, into the buffer, as long as the conversation alone is not full. */
function withoutLetGo({ tokensAfter, measurement, target }: Fitted): number {
  const isConversationFull = tokensAfter - measurement.tools >= LIMIT * 0.95;
  const { window, maxOutput } = target.limit;
  const isHeld = tokensAfter + maxOutput <= window;
  return isConversationFull || !isHeld ? tokensAfter : tokensAfter - measurement.tools;
}

/** A notice in place of a cut takes no more than this. */
const NOTICE_TOKENS = 80;

/**
 * What no strategy may take: instructions, the first and the last words of the user, what is newest. Content of a kind that
 * Plimsoll does not know stays too, if `counts` says so.
 */
async function leastTokens(
  plimsoll: Engine,
  { wire, request, clientText }: Passed,
  counts: { readonly unknown: boolean } = { unknown: false },
): Promise<number> {
  const messages = request.messages.map((text) => JSON.parse(text) as JsonObject);
  const isInstruction = ({ role }: JsonObject): boolean =>
    role === "system" || role === "developer";
  const firstWords = messages.findIndex(isSpoken);
  const lastWords = messages.findLastIndex(isSpoken);
  const newest = messages.length - request.addedCount;
  // Where roles must alternate, an answer stays between the two.
  const answer = wire === "anthropic" ? lastWords - 1 : lastWords;
  const kept = request.messages.filter((text, index) => {
    const isWords = [firstWords, answer, lastWords].includes(index);
    const isUnknown = counts.unknown && hasUnknownPart(text);
    return isWords || isUnknown || index >= newest || isInstruction(messages[index] ?? {});
  });
  const notices = messages.filter(isInstruction).length + 3;
  const least = await recount(plimsoll, wire, withMessages(wire, clientText, kept));
  return least + notices * NOTICE_TOKENS;
}

function hasUnknownPart(text: string): boolean {
  return /"future_?(?:part|block)"/i.test(text);
}

function isSpoken({ role, content }: JsonObject): boolean {
  const isResult = (part: unknown): boolean => isObject(part) && part["type"] === "tool_result";
  return role === "user" && !(Array.isArray(content) && content.every(isResult));
}

describe.each(WIRES)("%s", (wire) => {
  test("it fits: nothing is sent that is larger than the limit, and nothing is refused without need", () =>
    holds(wire, async (plimsoll, requests) => {
      const passed = await passAll(plimsoll, wire, requests);
      for (const one of passed) {
        const { fitted } = one.turn;
        expect(fitted.limit).toBe(LIMIT);
        expect(await recount(plimsoll, wire, one.sentText)).toBe(fitted.measured.total);
        if (fitted.outcome === "final" || fitted.outcome === "refused")
          expect(await leastTokens(plimsoll, one)).toBeGreaterThan(LIMIT);
        else expect(withoutLetGo(fitted)).toBeLessThanOrEqual(LIMIT);
      }
    }));

  test("it fits: also when the provider counts a third more than we do", () =>
    holds(wire, async (plimsoll, requests) => {
      const reportedFactor = 1.33;
      const passed = await passAll(plimsoll, wire, requests, { reportedFactor });
      for (const one of passed) {
        const { fitted } = one.turn;
        const isSent = !fitted.isFinal && fitted.refusal === undefined;
        if (!isSent || withoutLetGo(fitted) <= LIMIT) continue;
        // Too much of it is of a kind that Plimsoll does not know. The window still has room for the answer.
        const least = await leastTokens(plimsoll, one, { unknown: true });
        expect(least * reportedFactor).toBeGreaterThan(LIMIT);
        const { window, maxOutput } = fitted.target.limit;
        expect(fitted.tokensAfter + maxOutput).toBeLessThanOrEqual(window);
      }
    }));

  test("it is valid: no edit breaks a rule that the client kept, or touches more than messages", () =>
    holds(wire, async (plimsoll, requests) => {
      for (const one of await passAll(plimsoll, wire, requests)) {
        expect(violationsOf(one)).toEqual([]);
        expectSameFrame(one);
        expectMarksOfClient(one);
      }
    }));

  test("nothing is lost: the handle of every cut stands in the body, and opens what was cut, byte for byte", () =>
    holds(wire, async (plimsoll, requests) => {
      const said: Set<string>[] = [];
      for (const request of requests) {
        const one = await pass(plimsoll, wire, request);
        for (const [index, text] of request.messages.entries())
          said[index] = (said[index] ?? new Set()).add(text);
        await expectHandles(plimsoll, one);
        await expectWhole(plimsoll, one, said);
        if (one.turn.fitted.refusal !== undefined) break;
      }
    }));

  test("it is stable: without a new cut, everything before the last messages is sent as before", () =>
    holds(wire, async (plimsoll, requests, { hasMarks }) => {
      const withRetries = requests.flatMap((one, index) => (index % 4 === 3 ? [one, one] : [one]));
      const passed = await passAll(plimsoll, wire, withRetries);
      expectStable(passed, hasMarks);
    }));

  test("it is stable: also after the product was closed and opened again", async () => {
    await fc.assert(
      fc.asyncProperty(script, async (generated) => {
        const data = await mkdtemp(join(tmpdir(), "plimsoll-promises-"));
        const passed: Passed[] = [];
        try {
          for (const part of inThirds(requestsOf(wire, generated))) {
            const plimsoll = await openWith(LIMIT, { data, config: { durability: "normal" } });
            passed.push(...(await passAll(plimsoll, wire, part)));
            await plimsoll.close();
          }
        } finally {
          await rm(data, { recursive: true, force: true });
        }
        expect(new Set(passed.map(({ turn }) => turn.session)).size).toBe(1);
        expectStable(passed, generated.hasMarks);
      }),
      tries({ runs: 2, soak: 18, seed }),
    );
  });
});

function inThirds<T>(list: readonly T[]): readonly (readonly T[])[] {
  const third = Math.ceil(list.length / 3);
  return [0, 1, 2].map((part) => list.slice(part * third, (part + 1) * third));
}

/** Everything but the conversation is in the client's own bytes; a last turn may say that no tool is to be called. */
function expectSameFrame({ wire, turn, clientText, sentText }: Passed): void {
  if (!turn.fitted.isFinal)
    expect(withMessages(wire, sentText, [])).toBe(withMessages(wire, clientText, []));
  for (const text of messageTexts(wire, sentText)) expect(() => JSON.parse(text)).not.toThrow();
}

const MARK = /"(?:cache_control|prompt_cache_breakpoint)"\s*:\s*\{[^}]*\}/g;

/** Never more marks than the client set, never more than four, and no long one behind a short one. */
function expectMarksOfClient({ clientText, sentText }: Passed): void {
  const marksIn = (body: string): readonly string[] => body.match(MARK) ?? [];
  const sent = marksIn(sentText);
  expect(sent.length).toBeLessThanOrEqual(Math.min(4, marksIn(clientText).length));
  const system = sent.filter((mark) => mark.includes("1h")).length;
  expect(system).toBe(marksIn(clientText).filter((mark) => mark.includes("1h")).length);
}

async function expectHandles(plimsoll: Engine, { newEdits, sentText }: Passed): Promise<void> {
  for (const { action, seq } of newEdits) {
    if (!("handle" in action) || action.handle === undefined) continue;
    expect(sentText).toContain(action.handle);
    // Reading in small pages takes its time: one cut in three is enough.
    if (seq % 3 === 0) await expectPagesOf(plimsoll, action.handle);
  }
}

async function expectPagesOf(plimsoll: Engine, handle: string): Promise<void> {
  const record = await plimsoll.store.archived("t", handle);
  if (record === undefined) throw new Error(`${handle} opens nothing.`);
  const whole = await readPages(plimsoll, record, 1_000_000);
  expect(await readPages(plimsoll, record, 37)).toBe(whole);
  expect(Buffer.byteLength(whole)).toBe(record.bytes);
  expect(await plimsoll.store.archived("somebody else", handle)).toBeUndefined();
}

/** Every message of the client is there whole, or behind a handle in the very words in which it was once sent. */
async function expectWhole(
  plimsoll: Engine,
  { wire, sentText, request }: Passed,
  said: readonly ReadonlySet<string>[],
): Promise<void> {
  const had = await hadIn(plimsoll, wire, sentText);
  expect(lostOf(had, request.messages)).toEqual([]);
  const words = new Set(said.flatMap((clientSpellings) => [...clientSpellings]));
  expect(had.archived.filter((text) => !words.has(text))).toEqual([]);
}

/** Between two requests of which the later one took nothing out. */
function expectStable(passed: readonly Passed[], hasMarks: boolean): void {
  for (const [index, later] of passed.entries()) {
    const earlier = passed[index - 1];
    const isCut = later.newEdits.some(({ action }) => action.kind !== "insert");
    if (earlier === undefined || isCut) continue;
    const [before, now] = [earlier, later].map(({ wire, sentText }) =>
      messageTexts(wire, sentText).map(hasMarks ? plain : (text) => text),
    );
    if (before === undefined || now === undefined) continue;
    const count = Math.max(0, before.length - 2);
    expect(now.slice(0, count)).toEqual(before.slice(0, count));
    const isRetry = earlier.request === later.request && later.newEdits.length === 0;
    if (isRetry && !hasMarks) expect(later.sentText).toBe(earlier.sentText);
  }
}
