/** The choice stays within the room, leaves no line alone, takes picks back without a trace, and is always the same. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tries } from "../../../test/harness/effort.ts";
import type { ChoiceTask, ChoiceUnit, Slot } from "./choice-task.ts";
import { Choice } from "./greedy-choice.ts";
import type { Piece } from "./json-pieces.ts";
import { isBlank, readPieces } from "./text-pieces.ts";

const seed = 20261115;
const FRAME_TOKENS = 6;
const MARK_TOKENS = 6;

interface SlotPlan {
  /** The mentions of each line. A line without mentions is blank if `isBlank` is set. */
  readonly lines: readonly { readonly atoms: readonly number[]; readonly isBlank: boolean }[];
  readonly isExact: boolean;
  readonly isJson: boolean;
}

const ATOMS = 24;
const atom = fc.nat(ATOMS - 1);
const slotPlan: fc.Arbitrary<SlotPlan> = fc.record({
  lines: fc.array(
    fc.record({
      atoms: fc.uniqueArray(atom, { maxLength: 3 }),
      isBlank: fc.nat(5).map((n) => n === 5),
    }),
    { minLength: 1, maxLength: 9 },
  ),
  isExact: fc.nat(4).map((n) => n === 4),
  isJson: fc.nat(3).map((n) => n === 3),
});
const unitPlans = fc.array(fc.array(slotPlan, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 6,
});
const weights = fc
  .array(fc.double({ min: 0, max: 5, noNaN: true }), { minLength: ATOMS, maxLength: ATOMS })
  .map((some) => Float64Array.from(some));

function slotOf({ lines, isExact, isJson }: SlotPlan, unit: number): Slot {
  const words = lines.map(({ atoms, isBlank: isEmpty }, line) =>
    isEmpty ? "" : `line ${line} about ${atoms.map((number) => `atom_${number}`).join(" ")}`,
  );
  const text = isJson ? JSON.stringify({ rows: words }) : words.join("\n");
  const textPieces = readPieces(text, { density: 1, isProse: false });
  const mentions = lines.map(({ atoms }) => atoms);
  return { unit, textPieces, isExact, mentions, worth: 1, mayLose: "anything", least: [] };
}

function taskOf(plans: readonly (readonly SlotPlan[])[], weightOf: Float64Array): ChoiceTask {
  const slots: Slot[] = [];
  const units = plans.map((plan, unit) => {
    const own = plan.map((one) => slots.push(slotOf(one, unit)) - 1);
    return { frameTokens: FRAME_TOKENS, slots: own };
  });
  return { units, slots, weights: weightOf, gapTokens: 0, largestCalls: 1_000 };
}

const tasks = fc.tuple(unitPlans, weights).map(([plans, some]) => taskOf(plans, some));
const rooms = fc.double({ min: 0, max: 400, noNaN: true });

/** Everything that can be observed of a choice. */
function stateOf(choice: Choice, { slots, units }: ChoiceTask): unknown {
  return {
    open: units.map((_, unit) => choice.isOpen(unit)),
    kept: slots.map(({ textPieces }, slot) =>
      textPieces.pieces.map((_, piece) => choice.isKept(slot, piece)),
    ),
  };
}

/** Lower bound for the cost of the kept pieces, with their frames and the frames of open units. Marks are not counted. */
function costOf(choice: Choice, { slots, units }: ChoiceTask): number {
  const frames = new Set<{ readonly tokens: number }>();
  let cost = units.filter((_, unit) => choice.isOpen(unit)).length * FRAME_TOKENS;
  for (const [slot, { textPieces }] of slots.entries())
    for (const [piece, { tokens, frames: around }] of textPieces.pieces.entries()) {
      if (!choice.isKept(slot, piece)) continue;
      cost += tokens;
      if (!slots[slot]?.isExact) for (const frame of around) frames.add(frame);
    }
  for (const { tokens } of frames) cost += tokens;
  return cost;
}

function keptCount(choice: Choice, { slots }: ChoiceTask): number {
  return slots.reduce(
    (sum, { textPieces }, slot) =>
      sum + textPieces.pieces.filter((_, piece) => choice.isKept(slot, piece)).length,
    0,
  );
}

describe("the newest units", () => {
  test("do not exceed the room, and leave no trace when they are taken back", () =>
    fc.assert(
      fc.property(tasks, rooms, (task, room) => {
        const choice = new Choice(task);
        const before = stateOf(choice, task);
        choice.fillNewest(room);
        expect(costOf(choice, task)).toBeLessThanOrEqual(room);
        choice.drop(Number.POSITIVE_INFINITY);
        expect(stateOf(choice, task)).toEqual(before);
      }),
      tries({ runs: 300, seed }),
    ));
});

describe("the room", () => {
  test("is not exceeded: by pieces, frames and units, but for gaps that are closed", () =>
    fc.assert(
      fc.property(tasks, rooms, (task, room) => {
        const choice = new Choice(task);
        choice.fill(room);
        // A piece that closes a gap gets half of a mark back.
        const closed = keptCount(choice, task) * (MARK_TOKENS / 2);
        expect(costOf(choice, task)).toBeLessThanOrEqual(room + closed);
      }),
      tries({ runs: 300, seed }),
    ));

  test("without room nothing is kept, and with all of it everything that says something", () =>
    fc.assert(
      fc.property(tasks, (task) => {
        const none = new Choice(task);
        expect(none.fill(0)).toBe("nothing");
        expect(keptCount(none, task)).toBe(0);
        const all = new Choice(task);
        all.fill(Number.POSITIVE_INFINITY);
        for (const [slot, { textPieces, mentions }] of task.slots.entries())
          for (const [piece, found] of textPieces.pieces.entries()) {
            const gain = (mentions[piece] ?? []).some(
              (number) => (task.weights[number] ?? 0) > 1e-9,
            );
            if (gain && !isBlank(found)) expect(all.isKept(slot, piece)).toBe(true);
          }
      }),
      tries({ runs: 150, seed }),
    ));

  test("says whether it found anything", () => {
    const task = taskOf([[plan([[0]], {})]], Float64Array.of(1));
    const choice = new Choice(task);
    expect(choice.fill(100)).toBe("filled");
    expect(choice.fill(100)).toBe("nothing");
  });
});

function plan(
  atoms: readonly (readonly number[])[],
  { isExact = false, isJson = false }: Partial<SlotPlan>,
): SlotPlan {
  return { lines: atoms.map((some) => ({ atoms: some, isBlank: false })), isExact, isJson };
}

describe("lines", () => {
  test("never stand alone: one of their neighbours is kept, blank lines aside", () =>
    fc.assert(
      fc.property(tasks, rooms, (task, room) => {
        const choice = new Choice(task);
        choice.fill(room);
        for (const [slot, { textPieces }] of task.slots.entries()) {
          const said = [...textPieces.pieces.entries()].filter(([, piece]) => !isBlank(piece));
          for (const [at, [piece, { needsNeighbour }]] of said.entries()) {
            if (!choice.isKept(slot, piece) || !needsNeighbour || said.length === 1) continue;
            const around = [said[at - 1], said[at + 1]].flatMap((one) => one?.[0] ?? []);
            expect(around.some((other) => choice.isKept(slot, other))).toBe(true);
          }
        }
      }),
      tries({ runs: 300, seed }),
    ));

  test("blank ones come along only between two kept lines", () =>
    fc.assert(
      fc.property(tasks, rooms, (task, room) => {
        const choice = new Choice(task);
        choice.fill(room);
        for (const [slot, { textPieces, isExact }] of task.slots.entries()) {
          const { pieces } = textPieces;
          const said = [...pieces.keys()].filter((piece) => !isBlank(pieces[piece] as Piece));
          for (const [piece, found] of pieces.entries()) {
            if (isExact || !isBlank(found) || !choice.isKept(slot, piece)) continue;
            const around = [said.findLast((at) => at < piece), said.find((at) => at > piece)];
            expect(around.map((at) => choice.isKept(slot, at ?? -1))).toEqual([true, true]);
          }
        }
      }),
      tries({ runs: 100, seed }),
    ));

  test("no hole between kept lines is so small that its mark would cost as much", () =>
    fc.assert(
      fc.property(tasks, rooms, fc.double({ min: 0, max: 60 }), (task, room, least) => {
        const choice = new Choice(task);
        choice.keepAtLeast(0, least);
        choice.fill(room);
        for (const [slot, { textPieces, isExact }] of task.slots.entries()) {
          if (isExact || textPieces.json !== undefined) continue;
          const said = [...textPieces.pieces.entries()].filter(([, piece]) => !isBlank(piece));
          const shown = said.map(([piece]) => (choice.isKept(slot, piece) ? "x" : "-")).join("");
          expect(shown).not.toMatch(/x-{1,2}x/);
        }
      }),
      tries({ runs: 300, seed }),
    ));

  test("of two neighbours the one comes along that says more", () => {
    const task = taskOf([[plan([[], [0], [1]], {})]], Float64Array.of(5, 2));
    const choice = new Choice(task);
    choice.fill(40);
    expect([0, 1, 2].map((piece) => choice.isKept(0, piece))).toEqual([false, true, true]);
  });

  test("what was said already is worth next to nothing", () => {
    const task = taskOf(
      [[plan([[0], [0]], {})], [plan([[0], [0]], {})], [plan([[1], [1]], {})]],
      Float64Array.of(5, 0.5),
    );
    const choice = new Choice(task);
    choice.fill(45);
    expect(choice.isOpen(0)).toBe(true);
    expect(choice.isOpen(1)).toBe(false);
    expect(choice.isOpen(2)).toBe(true);
  });
});

describe("units", () => {
  test("that are open have all that is exact about them", () =>
    fc.assert(
      fc.property(tasks, rooms, (task, room) => {
        const choice = new Choice(task);
        choice.fill(room);
        for (const [slot, { textPieces, unit, isExact }] of task.slots.entries()) {
          const isKept = textPieces.pieces.map((_, piece) => choice.isKept(slot, piece));
          const isOpen = choice.isOpen(unit);
          expect(isOpen || !isKept.includes(true)).toBe(true);
          expect(isExact && isKept.includes(!isOpen)).toBe(false);
        }
      }),
      tries({ runs: 200, seed }),
    ));

  test("are opened for what their calls say alone", () => {
    const task = taskOf([[plan([[0]], { isExact: true }), plan([[]], {})]], Float64Array.of(5));
    const choice = new Choice(task);
    expect(choice.fill(100)).toBe("filled");
    expect(choice.isOpen(0)).toBe(true);
    expect(choice.isKept(1, 0)).toBe(false);
  });
});

describe("what stays with a unit", () => {
  test("comes when the unit is opened, and goes when the unit goes", () => {
    const slots = [
      { ...slotOf(plan([[0]], { isExact: true }), 0) },
      { ...slotOf(plan([[], [], [], [1], [], [], []], {}), 0), least: [0, 1] },
    ];
    const task = { ...taskOf([], Float64Array.of(1, 9)), slots, units: [unit([0, 1])] };
    const kept = (choice: Choice): readonly number[] =>
      [0, 1, 2, 3, 4, 5, 6].filter((piece) => choice.isKept(1, piece));
    const opened = new Choice(task);
    opened.open(0);
    expect([opened.isKept(0, 0), kept(opened)]).toEqual([true, [0, 1]]);
    const filled = new Choice(task);
    filled.fill(60);
    expect(kept(filled)).toEqual([0, 1, 2, 3]);
    filled.drop(Number.POSITIVE_INFINITY);
    expect([filled.isOpen(0), filled.isKept(0, 0), kept(filled)]).toEqual([false, false, []]);
  });

  test("closing words come with a request that is picked, and go with it", () => {
    const slots = [slotOf(plan([[0], [1]], {}), 0), slotOf(plan([[], [], [2], []], {}), 1)];
    const outcome = [
      [1, 0],
      [1, 3],
    ] as const;
    const units = [{ ...unit([0]), outcome }, unit([1])];
    const task = { ...taskOf([], Float64Array.of(5, 5, 0)), slots, units };
    const choice = new Choice(task);
    choice.fill(60);
    const state = [
      [true, true],
      [true, false, false, true],
    ];
    expect(keptIn(choice, task)).toEqual(state);
    expect(choice.hasOutcome(0)).toBe(true);
    choice.drop(1);
    expect(choice.hasOutcome(0)).toBe(false);
    expect(keptIn(choice, task).flat()).not.toContain(true);
  });

  test("closing words are kept next to a request only if they fit, and can be taken back", () => {
    const slots = [slotOf(plan([[0]], {}), 0), slotOf(plan([[1], [2]], {}), 1)];
    const units = [{ ...unit([0]), outcome: [[1, 0]] as const }, unit([1])];
    const task = { ...taskOf([], Float64Array.of(5, 5, 5)), slots, units };
    const choice = new Choice(task);
    choice.open(0);
    choice.keepWhole(0);
    expect(choice.keepOutcome(0, 3)).toBe(0);
    expect(choice.hasOutcome(0)).toBe(false);
    const spent = choice.keepOutcome(0, 100);
    expect(spent).toBeGreaterThan(FRAME_TOKENS);
    expect(choice.hasOutcome(0)).toBe(true);
    expect(choice.keepOutcome(0, 100)).toBe(0);
    expect(choice.drop(1)).toBe(spent);
    expect(keptIn(choice, task)).toEqual([[true], [false, false]]);
  });

  test("a unit that is closed gives back its pieces, and can be opened again with them", () => {
    const task = taskOf([[plan([[0], [1]], {})], [plan([[2]], {})]], Float64Array.of(1, 1, 1));
    const choice = new Choice(task);
    for (const unitOf of [0, 1]) choice.open(unitOf);
    choice.keep(0, 1);
    choice.keepWhole(1);
    expect(choice.close(0)).toEqual([[0, 1]]);
    expect(choice.isOpen(0)).toBe(false);
    expect(keptIn(choice, task)).toEqual([[false, false], [true]]);
  });
});

function unit(slots: readonly number[]): ChoiceUnit {
  return { frameTokens: FRAME_TOKENS, slots };
}

function keptIn(choice: Choice, { slots }: ChoiceTask): readonly (readonly boolean[])[] {
  return slots.map(({ textPieces }, slot) =>
    textPieces.pieces.map((_, piece) => choice.isKept(slot, piece)),
  );
}

describe("a text that may lose only its middle", () => {
  const lines = Array.from({ length: 12 }, (_, at) => [at]);
  const argument: Slot = { ...slotOf(plan(lines, {}), 0), mayLose: "middle", least: [0] };
  const taskFor = (weightOf: readonly number[]): ChoiceTask => ({
    ...taskOf([], Float64Array.from(weightOf)),
    slots: [argument],
    units: [unit([0])],
  });

  test("has one hole at most, whatever is worth most in it", () =>
    fc.assert(
      fc.property(weights, rooms, (some, room) => {
        const task = taskFor([...some]);
        const choice = new Choice(task);
        choice.fill(room);
        const shown = keptIn(choice, task)[0]
          ?.map((isKept) => (isKept ? "x" : "-"))
          .join("");
        expect(shown).toMatch(/^(?:-*|x+-*x*)$/);
      }),
      tries({ runs: 200, seed }),
    ));

  test("keeps its beginning if at least so many tokens must stay", () => {
    const task = taskFor(Array.from({ length: 12 }, (_, at) => at));
    const choice = new Choice(task);
    choice.keepAtLeast(0, 20);
    const shown = keptIn(choice, task)[0]
      ?.map((isKept) => (isKept ? "x" : "-"))
      .join("");
    expect(shown).toMatch(/^x{2,5}-+$/);
  });
});

test("an exchange is too large if its calls alone exceed their share", () => {
  const task = taskOf([[plan([[0]], {})], [plan([[0]], {})]], Float64Array.of(1));
  const units = task.units.map((one, at) => ({ ...one, callTokens: 999 + 2 * at }));
  const choice = new Choice({ ...task, units });
  expect([0, 1, 7].map((number) => choice.isTooLarge(number))).toEqual([false, true, false]);
});

describe("what is taken back", () => {
  test("leaves no trace: pieces, atoms and units are as before, and the next choice is the same", () =>
    fc.assert(
      fc.property(tasks, rooms, fc.array(fc.nat(40), { maxLength: 4 }), (task, room, mandatory) => {
        const choice = new Choice(task);
        for (const duty of mandatory) {
          const slot = duty % task.slots.length;
          choice.open(task.slots[slot]?.unit ?? -1);
          choice.keepAtLeast(slot, duty);
        }
        const before = stateOf(choice, task);
        choice.fill(room);
        const filled = stateOf(choice, task);
        choice.drop(Number.POSITIVE_INFINITY);
        expect(stateOf(choice, task)).toEqual(before);
        choice.fill(room);
        expect(stateOf(choice, task)).toEqual(filled);
      }),
      tries({ runs: 300, seed }),
    ));

  test("is at least what was asked for, or all there is; duties are never taken back", () =>
    fc.assert(
      fc.property(
        tasks,
        rooms,
        fc.double({ min: 1, max: 100, noNaN: true }),
        (task, room, tokens) => {
          const choice = new Choice(task);
          choice.open(0);
          choice.keepWhole(0);
          const filled = choice.fill(room);
          const freed = choice.drop(tokens);
          if (freed < tokens) {
            expect(choice.drop(1)).toBe(0);
            if (filled === "nothing") expect(freed).toBe(0);
          }
          const { length } = task.slots[0]?.textPieces.pieces ?? [];
          for (let piece = 0; piece < length; piece++) expect(choice.isKept(0, piece)).toBe(true);
        },
      ),
      tries({ runs: 200, seed }),
    ));

  test("is what was picked last", () => {
    const task = taskOf([[plan([[0], [0]], {})], [plan([[1], [1]], {})]], Float64Array.of(1, 5));
    const choice = new Choice(task);
    choice.fill(200);
    choice.drop(1);
    expect([choice.isOpen(0), choice.isOpen(1)]).toEqual([false, true]);
  });
});

describe("duties", () => {
  test("keep at least so many tokens of a text, or all of it, and no line without a neighbour", () =>
    fc.assert(
      fc.property(tasks, rooms, (task, tokens) => {
        const choice = new Choice(task);
        const { pieces } = task.slots[0]?.textPieces ?? { pieces: [] };
        choice.keepAtLeast(0, tokens);
        const kept = pieces.filter((_, piece) => choice.isKept(0, piece));
        const isAll = pieces.every((piece, at) => choice.isKept(0, at) || isBlank(piece));
        const sum = kept.reduce((all, piece) => all + piece.tokens, 0);
        expect(isAll || sum >= tokens).toBe(true);
      }),
      tries({ runs: 200, seed }),
    ));

  test("a slot, a piece or a unit that is not there is passed over", () => {
    const task = taskOf([[plan([[0]], {})]], Float64Array.of(1));
    const choice = new Choice(task);
    choice.open(7);
    choice.keep(7, 7);
    choice.keepWhole(7);
    choice.keepAtLeast(7, 7);
    expect(keptCount(choice, task)).toBe(0);
    expect(choice.isOpen(7)).toBe(false);
  });
});

test("the same task gives the same choice", () =>
  fc.assert(
    fc.property(unitPlans, weights, rooms, (plans, some, room) => {
      const [one, other] = [taskOf(plans, some), taskOf(plans, some)];
      const [first, second] = [new Choice(one), new Choice(other)];
      first.fill(room);
      second.fill(room);
      expect(stateOf(second, other)).toEqual(stateOf(first, one));
    }),
    tries({ runs: 100, seed }),
  ));
