/** The fifth promise, held to over generated conversations on every wire: any earlier view can be had again, byte for byte. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Request, requestsOf, WIRES } from "../../test/generate/conversations.ts";
import {
  openWith,
  type Passed,
  pass,
  passAll,
  recount,
  roomyModel,
  withMessages,
} from "../../test/generate/rehearsal.ts";
import { scripts } from "../../test/generate/script.ts";
import { tries } from "../../test/harness/effort.ts";
import type { Wire } from "../../test/harness/json.ts";
import { messageTexts } from "../../test/harness/kept.ts";
import type { Engine } from "../engine.ts";
import type { PlimsollError } from "../message/error.ts";
import type { Steered } from "./steer/steer.ts";

const LIMIT = 1500;
const seed = 20261115;

/** Without marks: those of the client move, so its own bytes would not stay the same. */
const script = scripts({ roundsMin: 8, roundsMax: 12 }).map((generated) => ({
  ...generated,
  hasMarks: false,
}));

/** A conversation that was cut, and its last request, which goes to a model with room for all of it. */
interface CutTalk {
  readonly plimsoll: Engine;
  readonly wire: Wire;
  readonly session: string;
  readonly passed: readonly Passed[];
  readonly last: Request;
  /** Sends the last request again. */
  send(): Promise<Passed>;
}

async function afterCuts(wire: Wire, property: (talk: CutTalk) => Promise<void>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(script, async (generated) => {
      const plimsoll = await openWith(LIMIT);
      const requests = requestsOf(wire, generated);
      const roomy = requestsOf(wire, generated, () => ({ model: roomyModel(wire) }));
      const last = roomy.at(-1);
      try {
        const passed = await passAll(plimsoll, wire, requests.slice(0, -1));
        const isCut = passed.some(({ turn }) => turn.fitted.outcome === "compacted");
        const session = passed[0]?.turn.session;
        fc.pre(isCut && last !== undefined && session !== undefined);
        const send = (): Promise<Passed> => pass(plimsoll, wire, last);
        await property({ plimsoll, wire, session, passed, last, send });
      } finally {
        await plimsoll.close();
      }
    }),
    tries({ runs: 2, soak: 16, seed }),
  );
}

/** What was sent at an earlier request, and behind it what the client has said since. */
function sentThenAndSince({ wire, last }: CutTalk, then: Passed | undefined): readonly string[] {
  if (then === undefined) return last.messages;
  const since = last.messages.slice(then.request.messages.length);
  return [...messageTexts(wire, then.sentText), ...since];
}

/** For each step that made edits, the last request before it. */
function beforeEachStep(passed: readonly Passed[]): readonly (Passed | undefined)[] {
  return passed.flatMap((one, index) => (one.newEdits.length > 0 ? [passed[index - 1]] : []));
}

describe.each(WIRES)("%s", (wire) => {
  test("every step can be undone, the newest first, until the client's own bytes go out, and done again", () =>
    afterCuts(wire, async (talk) => {
      const { plimsoll, session, passed, send } = talk;
      const undone: { readonly step: Steered; readonly sentBefore: string }[] = [];
      let sent = await send();
      expect(sent.newEdits).toEqual([]);
      for (const before of beforeEachStep(passed).toReversed()) {
        const step = await plimsoll.steering.undo(session, {});
        undone.push({ step, sentBefore: sent.sentText });
        sent = await send();
        expect(messageTexts(wire, sent.sentText)).toEqual(sentThenAndSince(talk, before));
      }
      expect(sent.sentText).toBe(sent.clientText);
      expect(sent.turn.body).toBeUndefined();
      await expect(plimsoll.steering.undo(session, {})).rejects.toMatchObject({
        code: "POINT_UNKNOWN",
      });
      for (const { step, sentBefore } of undone.toReversed()) {
        await plimsoll.steering.undo(session, { edit: step.edits[0] ?? -1 });
        expect((await send()).sentText).toBe(sentBefore);
      }
    }));

  test("a checkpoint gives the view of that moment again, and the moment before the restore too", () =>
    afterCuts(wire, async (talk) => {
      const { plimsoll, session, passed, send } = talk;
      const before = await send();
      const points = await plimsoll.steering.checkpoints(session);
      expect(points.length).toBe(beforeEachStep(passed).length);
      for (const [index, then] of beforeEachStep(passed).entries()) {
        await plimsoll.steering.restore(session, { checkpoint: points[index]?.id ?? "" });
        expect(messageTexts(wire, (await send()).sentText)).toEqual(sentThenAndSince(talk, then));
        const seq = before.edits.at(-1)?.seq ?? -1;
        await plimsoll.steering.restore(session, { seq });
        expect((await send()).sentText).toBe(before.sentText);
      }
    }));

  test("a checkpoint that somebody set is as good, and a time is", () =>
    afterCuts(wire, async (talk) => {
      const { plimsoll, session, send } = talk;
      const before = await send();
      const { id } = await plimsoll.steering.checkpoint(session, { label: "here" });
      await plimsoll.steering.undo(session, {});
      expect((await send()).sentText).not.toBe(before.sentText);
      await plimsoll.steering.restore(session, { checkpoint: id });
      expect((await send()).sentText).toBe(before.sentText);
      await plimsoll.steering.restore(session, { at: 0 });
      expect((await send()).sentText).toBe(before.clientText);
    }));

  test("an undo that cannot fit is refused, says how much is missing, and changes nothing", () =>
    afterCuts(wire, async ({ plimsoll, session, passed }) => {
      const last = passed.at(-1);
      if (last === undefined) return;
      const before = await plimsoll.store.edits(session);
      const undo = plimsoll.steering.undo(session, {});
      const error = await undo.then(
        () => undefined,
        (thrown: PlimsollError) => thrown,
      );
      const after = await plimsoll.store.edits(session);
      const over = (await tokensUndone(plimsoll, passed)) - last.turn.fitted.limit;
      if (error === undefined) {
        expect(over).toBeLessThanOrEqual(toleranceFor(last));
        expect(after.length).toBeGreaterThan(before.length);
        return;
      }
      expect(error.code).toBe("TOKEN_LIMIT_EXCEEDED");
      expect(after).toEqual(before);
      const missing = Number(error.fields["missingTokens"]);
      expect(Math.abs(over - missing)).toBeLessThanOrEqual(toleranceFor(last));
      expect(error.message).toContain(`it is ${missing} tokens too large`);
      const again = await pass(plimsoll, wire, last.request);
      // A conversation that could not be cut deep enough is warned of with the next request.
      if (again.newEdits.length === 0) expect(again.sentText).toBe(last.sentText);
    }));
});

/** Warnings that come back are not counted, nor are the few words by which an answer and its echo differ. */
function toleranceFor({ edits }: Passed): number {
  return 100 + 50 * edits.filter(({ action }) => action.kind === "insert").length;
}

/** What the last request would take if its newest step were undone. */
async function tokensUndone(plimsoll: Engine, passed: readonly Passed[]): Promise<number> {
  const last = passed.at(-1);
  const step = passed.findLastIndex(({ newEdits }) => newEdits.length > 0);
  const then = passed[step - 1];
  if (last === undefined || then === undefined) throw new Error("Nothing was cut.");
  const { wire, clientText, request } = last;
  const since = request.messages.slice(then.request.messages.length);
  const messages = [...messageTexts(wire, then.sentText), ...since];
  return recount(plimsoll, wire, withMessages(wire, clientText, messages));
}
