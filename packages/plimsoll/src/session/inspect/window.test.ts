/** The picture of the window, over generated conversations on every wire: everything that the model sees, once and in order. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { requestsOf, WIRES } from "../../../test/generate/conversations.ts";
import { openWith, passAll } from "../../../test/generate/rehearsal.ts";
import { scripts } from "../../../test/generate/script.ts";
import { tries } from "../../../test/harness/effort.ts";
import type { Wire } from "../../../test/harness/json.ts";
import type { Engine } from "../../engine.ts";
import type { WindowPicture } from "../../message/api.ts";
import { detailsOf } from "./message-details.ts";
import { requestAsSeen } from "./request-as-seen.ts";
import { placeOf } from "./window-at.ts";

const LIMIT = 1500;
const seed = 20261116;
const script = scripts({ roundsMin: 8, roundsMax: 12 });

interface Talk {
  readonly plimsoll: Engine;
  readonly session: string;
}

async function afterCuts(wire: Wire, property: (talk: Talk) => Promise<void>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(script, async (generated) => {
      const plimsoll = await openWith(LIMIT);
      try {
        const passed = await passAll(plimsoll, wire, requestsOf(wire, generated));
        const isCut = passed.some(({ turn }) => turn.fitted.outcome === "compacted");
        const session = passed[0]?.turn.session;
        fc.pre(isCut && session !== undefined);
        await property({ plimsoll, session });
      } finally {
        await plimsoll.close();
      }
    }),
    tries({ runs: 2, soak: 12, seed }),
  );
}

/** The messages that the units represent, in order. */
function numbersIn({ units }: WindowPicture, path: readonly number[]): readonly number[] {
  return units.flatMap(({ first, last }) =>
    first === undefined || last === undefined
      ? []
      : path.filter((seq) => seq >= first && seq <= last),
  );
}

async function pathOf({ plimsoll, session }: Talk, branch: string): Promise<readonly number[]> {
  const snapshot = await plimsoll.store.snapshot(session);
  const nodes = new Map((snapshot?.nodes ?? []).map((node) => [node.seq, node]));
  const path: number[] = [];
  let at = snapshot?.branches.find(({ id }) => id === branch)?.tipSeq ?? null;
  while (at !== null) {
    path.unshift(at);
    at = nodes.get(at)?.parent ?? null;
  }
  return path;
}

describe.each(WIRES)("%s", (wire) => {
  test("every message stands in one unit, in the order of the conversation", () =>
    afterCuts(wire, async (talk) => {
      const picture = await talk.plimsoll.inspect.picture(talk.session);
      const path = await pathOf(talk, picture.branch);
      expect(numbersIn(picture, path)).toEqual(path);
      expect(new Set(picture.units.map(({ id }) => id)).size).toBe(picture.units.length);
    }));

  test("units are as large as their segments, the picture as its units, and as large as the view", () =>
    afterCuts(wire, async ({ plimsoll, session }) => {
      const { tokens, units } = await plimsoll.inspect.picture(session);
      for (const unit of units)
        expect(unit.segments.reduce((sum, segment) => sum + segment.tokens, 0)).toBe(unit.tokens);
      expect(units.reduce((sum, unit) => sum + unit.tokens, 0)).toBe(tokens);
      expect((await plimsoll.steering.view(session)).tokens).toBe(tokens);
    }));

  test("the request that is put together again says what the model sees", () =>
    afterCuts(wire, async ({ plimsoll: { store, steering }, session }) => {
      const place = await placeOf({ store }, session, {});
      const { fields } = place.wire;
      const body = await requestAsSeen(store, place);
      expect(body[fields.messages]).toEqual((await steering.view(session)).messages);
      expect(body[fields.model]).toBe(place.lastTurn?.model);
    }));

  test("what was taken out says by which edit, what it was, and under which handle it is", () =>
    afterCuts(wire, async ({ plimsoll, session }) => {
      const { units, takenOutTokens } = await plimsoll.inspect.picture(session);
      const edits = new Map((await plimsoll.store.edits(session)).map((edit) => [edit.seq, edit]));
      const edited = units.filter((unit) => unit.edits !== undefined && unit.first !== undefined);
      expect(edited.length).toBeGreaterThan(0);
      for (const unit of edited) {
        for (const seq of unit.edits ?? []) expect(edits.has(seq)).toBe(true);
        expect(unit.originalTokens).toBeGreaterThan(0);
      }
      expect(units.some(({ handle }) => handle !== undefined)).toBe(true);
      expect(takenOutTokens).toBeGreaterThan(0);
    }));

  test("the picture before the first edit shows the conversation whole", () =>
    afterCuts(wire, async (talk) => {
      const before = await talk.plimsoll.inspect.picture(talk.session, { at: { seq: 0 } });
      const path = await pathOf(talk, before.branch);
      expect(numbersIn(before, path)).toEqual(path);
      expect(before.units.some(({ edits }) => edits !== undefined)).toBe(false);
      const now = await talk.plimsoll.inspect.picture(talk.session);
      expect(before.tokens).toBeGreaterThan(now.tokens);
    }));

  test("details tell what was said, what the model sees of it, and the edits between them", () =>
    afterCuts(wire, async ({ plimsoll, session }) => {
      const { units } = await plimsoll.inspect.picture(session);
      const unit = units.find(({ first, edits }) => first !== undefined && edits !== undefined);
      const [first, last] = [unit?.first ?? 0, unit?.last ?? 0];
      const details = await detailsOf(plimsoll.store, session, { first, last });
      expect(details.items[0]?.seq).toBe(first);
      expect(details.items.some(({ seen }) => seen !== undefined)).toBe(true);
      expect(details.edits.map(({ seq }) => seq)).toEqual(
        expect.arrayContaining([...(unit?.edits ?? [])]),
      );
      for (const { seen, ...said } of details.items) {
        if (seen === undefined || seen === "taken out") continue;
        expect(seen.parts).not.toEqual(said.parts);
      }
    }));
});
