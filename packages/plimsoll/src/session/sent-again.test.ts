/** A provider that finds a turn too long, whatever we thought: something clearly smaller goes out, or its word stands. */

import { describe, expect, test } from "vitest";
import { called, requestOf, result, said, tokensOfText } from "../../test/generate/bodies.ts";
import { requestsOf, WIRES } from "../../test/generate/conversations.ts";
import { openWith, receive, violationsOf } from "../../test/generate/rehearsal.ts";
import { plainScript } from "../../test/generate/script.ts";
import { createMemoryStore } from "../store/memory.ts";
import type { Overflow } from "../wire/overflow.ts";

/** Ours: the provider has less. */
const LIMIT = 20_000;
const SAID: readonly (readonly [string, Overflow])[] = [
  ["with its figures", { kind: "input", needTokens: 6000, limitTokens: 4000 }],
  ["with input and answer together", { kind: "input+output", inputTokens: 3000, maxTokens: 1200 }],
  ["without a figure", { kind: "input" }],
  ["of its bytes", { kind: "bytes" }],
  ["with figures that make no sense", { kind: "input", needTokens: 0, limitTokens: -5 }],
];

describe.each(WIRES)("%s", (wire) => {
  const script = plainScript({ rounds: 20, steps: 1, characters: 600 });
  const request = requestsOf(wire, script).at(-1) ?? requestOf(wire, []);

  test.each(SAID)(
    "told %s: at most two more tries, each a tenth smaller and valid",
    async (_, overflow) => {
      const plimsoll = await openWith(LIMIT);
      const turn = await receive(plimsoll, wire, request.body);
      let { total } = turn.fitted.measured;
      for (let attempt = 1; await turn.overflowed(overflow); attempt++) {
        expect(attempt).toBeLessThanOrEqual(2);
        expect(turn.fitted.measured.total).toBeLessThanOrEqual(total * 0.9);
        ({ total } = turn.fitted.measured);
        const clientText = new TextDecoder().decode(request.body);
        const sentText = new TextDecoder().decode(turn.body);
        const passed = { wire, request, turn, clientText, sentText, edits: [], newEdits: [] };
        expect(violationsOf(passed)).toEqual([]);
      }
      await turn.end({ status: "failed" });
      const errors = await plimsoll.store.errors({ session: turn.session, limit: 9 });
      expect(errors.map(({ code }) => code)).toContain("TOKEN_LIMIT_EXCEEDED");
      await plimsoll.close();
    },
  );

  test("when nothing can be cut, the provider's word stands", async () => {
    const plimsoll = await openWith(LIMIT);
    const messages = [said(tokensOfText(5000)), called(wire, "c1"), result(wire, "c1", "aye")];
    const turn = await receive(plimsoll, wire, requestOf(wire, messages).body);
    expect(await turn.overflowed({ kind: "input", limitTokens: 4000 })).toBe(false);
    expect(turn.body).toBeUndefined();
    await turn.end({ status: "failed" });
    await plimsoll.close();
  });

  test("when the store fails, or the client wants none of it, the provider's word stands", async () => {
    const store = createMemoryStore();
    let isBroken = false;
    const commit: typeof store.commit = (writes) =>
      isBroken ? Promise.reject(new Error("the disk is full")) : store.commit(writes);
    const plimsoll = await openWith(LIMIT, { parts: { store: { ...store, commit } } });
    const off = await receive(plimsoll, wire, request.body, { isBypassed: true });
    expect(await off.overflowed({ kind: "input" })).toBe(false);
    await off.end({ status: "failed" });
    isBroken = true;
    const turn = await receive(plimsoll, wire, request.body);
    expect(await turn.overflowed({ kind: "input" })).toBe(false);
    expect(turn.body).toBeUndefined();
    expect(await store.edits(turn.session)).toEqual([]);
    isBroken = false;
    await turn.end({ status: "failed" });
    await plimsoll.close();
  });
});
