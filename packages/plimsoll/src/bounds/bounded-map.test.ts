import fc from "fast-check";
import { expect, test } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

const filled = (entries: number, keys: string): BoundedMap<string, string> => {
  const map = new BoundedMap<string, string>({ entries });
  for (const key of keys) map.set(key, key.toUpperCase());
  return map;
};
const keysOf = (map: Pick<BoundedMap<string, string>, "keys">): string => [...map.keys()].join("");

test("a full map forgets one entry for each new one, and not all of them", () => {
  const map = filled(3, "abc");
  map.set("d", "D");
  expect(keysOf(map)).toBe("bcd");
  expect(map.size).toBe(3);
  expect([map.get("a"), map.get("b")]).toEqual([undefined, "B"]);
});

test("an entry that was read or set again outlives those that nobody asked for", () => {
  const map = filled(3, "abc");
  map.get("a");
  map.set("b", "again");
  map.set("d", "D");
  expect(keysOf(map)).toBe("abd");
  expect(map.get("b")).toBe("again");
});

test("to look whether an entry is there, or to peek at it, is no use", () => {
  const map = filled(3, "abc");
  expect([map.has("a"), map.peek("a")]).toEqual([true, "A"]);
  map.set("d", "D");
  expect(map.has("a")).toBe(false);
});

test("a value may be undefined: only `has` tells it from one that is not there", () => {
  const map = new BoundedMap<string, string | undefined>({ entries: 2 });
  map.set("a", undefined);
  expect([map.get("a"), map.has("a"), map.size]).toEqual([undefined, true, 1]);
});

const weighed = (weight: number): BoundedMap<string, string> =>
  new BoundedMap<string, string>({ entries: 10, weight, weightOf: ({ length }) => length });

test("entries that are too heavy together make the oldest go, and the newest stays however heavy it is", () => {
  const map = weighed(10);
  map.set("a", "12345");
  map.set("b", "12345");
  map.set("c", "1");
  expect(keysOf(map)).toBe("bc");
  map.set("d", "12345678901");
  expect(keysOf(map)).toBe("d");
});

test("an entry that grows, shrinks or goes counts with what it weighs now", () => {
  const map = weighed(10);
  map.set("a", "12345");
  map.set("b", "123");
  map.set("b", "1");
  map.set("c", "1234");
  expect(keysOf(map)).toBe("abc");
  map.delete("a");
  map.set("d", "12345");
  expect(keysOf(map)).toBe("bcd");
});

test("room can be made before the entry is there, and says who had to go", () => {
  const map = weighed(10);
  for (const key of "abc") map.set(key, "123");
  expect(map.makeRoom(5)).toEqual(["a", "b"]);
  expect(map.makeRoom(100)).toEqual(["c"]);
  expect(filled(2, "ab").makeRoom(0)).toEqual(["a"]);
});

test("a map that was cleared is as good as new", () => {
  const map = weighed(4);
  map.set("a", "1234");
  map.clear();
  map.set("b", "1234");
  expect([keysOf(map), map.size]).toEqual(["b", 1]);
});

interface Step {
  readonly kind: "get" | "set" | "delete";
  readonly key: number;
}

/** The keys in order of use, computed the slow way. */
function usedAfter(used: readonly number[], { kind, key }: Step, entries: number): number[] {
  const others = used.filter((one) => one !== key);
  const isUsed = kind === "set" || (kind === "get" && used.includes(key));
  return (isUsed ? [...others, key] : others).slice(-entries);
}

test("whatever is done to it, it has the last used entries and no others", () => {
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom("get", "set", "delete"),
    key: fc.nat(8),
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step), (entries, steps) => {
      const map = new BoundedMap<number, number>({ entries });
      let used: number[] = [];
      for (const { kind, key } of steps) {
        if (kind === "get") expect(map.get(key)).toBe(used.includes(key) ? key : undefined);
        else map[kind](key, key);
        used = usedAfter(used, { kind, key }, entries);
        expect([...map.keys()]).toEqual(used);
      }
    }),
  );
});
