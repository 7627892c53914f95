import fc from "fast-check";
import { expect, it } from "vitest";
import { chooseGreedily } from "./greedy.ts";

interface Option {
  readonly index: number;
  readonly items: readonly number[];
  readonly gain: number;
}

/** Each option contains some items. An item that was chosen before is worth nothing. */
function choose(told: readonly (readonly number[])[], most: number): readonly number[] {
  const known = new Set<number>();
  const taken: number[] = [];
  const gainOf = (items: readonly number[]): number =>
    items.filter((item) => !known.has(item)).length;
  chooseGreedily<Option>(
    told.map((items, index) => ({ index, items, gain: gainOf(items) })),
    {
      worth: ({ gain }) => gain,
      isEarlier: (one, other) => one.index < other.index,
      renew: (option) => {
        const gain = gainOf(option.items);
        return gain === 0 ? undefined : { ...option, gain };
      },
      take: ({ index, items }) => {
        taken.push(index);
        for (const item of items) known.add(item);
        return taken.length === most ? "full" : [];
      },
    },
  );
  return taken;
}

it("takes the best each time, by what is still new of it", () => {
  expect(choose([[1, 2], [1, 2, 3], [4], [3, 4]], 9)).toEqual([1, 2]);
});

it("takes the earlier of two that are worth the same", () => {
  expect(choose([[1], [2], [3]], 2)).toEqual([0, 1]);
});

it("gives no option twice, and takes none that nobody wants any more", () => {
  expect(choose([[1], [1], []], 9)).toEqual([0]);
});

it("offers what comes up only when something else was taken", () => {
  const taken: string[] = [];
  chooseGreedily([{ name: "door", worth: 1 }], {
    worth: ({ worth }) => worth,
    isEarlier: () => false,
    renew: (option) => option,
    take: ({ name }) => {
      taken.push(name);
      return name === "door" ? [{ name: "room", worth: 5 }] : [];
    },
  });
  expect(taken).toEqual(["door", "room"]);
});

it("gains as much with each option as working out all of them anew would", () => {
  const sets = fc.array(fc.uniqueArray(fc.nat(12), { maxLength: 6 }), { maxLength: 30 });
  fc.assert(
    fc.property(sets, (told) => {
      const known = new Set<number>();
      const fresh = (index: number): number =>
        (told[index] ?? []).filter((item) => !known.has(item)).length;
      for (const index of choose(told, told.length + 1)) {
        expect(fresh(index)).toBe(Math.max(...told.map((_, other) => fresh(other))));
        for (const item of told[index] ?? []) known.add(item);
      }
      expect(told.every((_, index) => fresh(index) === 0)).toBe(true);
    }),
  );
});
