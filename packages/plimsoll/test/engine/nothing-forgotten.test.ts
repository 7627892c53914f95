/**
 * What Plimsoll sends does not depend on whether it ran all the time: the same journey with a restart, or with every session
 * evicted from memory, gives the same bytes. A soak run makes longer journeys, with a restart before every turn.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { type Engine, openEngine } from "../../src/engine.ts";
import { WIRES } from "../generate/conversations.ts";
import { libraryTraveller } from "../generate/journey-library.ts";
import { proxyTraveller } from "../generate/journey-proxy.ts";
import {
  createClock,
  type Journey,
  journeyConfig,
  type Traveller,
  travel,
} from "../generate/journeys.ts";
import { effort, isSoak, seedOr } from "../harness/effort.ts";
import { fixRandom } from "./fixed-random.ts";

const TURNS = effort(10, 200);
/** Before each turn, or before some. To start takes much longer than a turn. */
const RESTARTS = effort(0.25, 1);
const SEED = seedOr(11);

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

type Before = "nothing" | "restart" | "eviction";

async function sent(
  journey: Journey,
  traveller: Traveller,
  before: Before,
): Promise<readonly string[]> {
  fixRandom(journey.seed);
  const data = mkdtempSync(join(tmpdir(), "plimsoll-journey-"));
  folders.push(data);
  const { now, tick } = createClock();
  const config = journeyConfig(journey);
  const sessionsInMemory = before === "eviction" ? { sessionsInMemory: 0 } : {};
  const random = diceOf(journey.seed);
  const open = (): Promise<Engine> =>
    openEngine({ data, config, parts: { now, ...sessionsInMemory } });
  return travel(journey, traveller, await open(), async (plimsoll) => {
    tick();
    // One more than there may be: whatever can leave memory does.
    await plimsoll.session();
    await setImmediate();
    if (before !== "restart" || random() >= RESTARTS) return plimsoll;
    await plimsoll.close();
    return open();
  });
}

/** Where two texts part. */
function stretches(texts: readonly string[]): readonly string[] {
  const [one = "", other = ""] = texts;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return texts.map((text) => text.slice(Math.max(0, at - 150), at + 150));
}

const ways = { proxy: proxyTraveller, library: libraryTraveller };
/** A soak run takes both on every wire, and `npm test` one of them. */
const roads = [
  { windowTokens: 6_000, factor: 1.2, mcpCount: 0 },
  { windowTokens: 20_000, factor: 0.8, mcpCount: 60 },
];

const roadsOn = (way: number, wire: number): typeof roads =>
  isSoak ? roads : roads.filter((_, index) => index === (way + wire) % roads.length);

describe.each(["proxy", "library"] as const)("in the %s", (way) => {
  describe.each(WIRES)("on %s", (wire) => {
    test.each(roadsOn(way === "proxy" ? 0 : 1, WIRES.indexOf(wire)))(
      "nothing is forgotten, window $windowTokens",
      async (road) => {
        const journey: Journey = { wire, seed: SEED, turns: TURNS, goesBack: true, ...road };
        const usual = await sent(journey, ways[way](journey), "nothing");
        expect(usual.length).toBeGreaterThanOrEqual(TURNS);
        for (const before of ["restart", "eviction"] as const) {
          const other = await sent(journey, ways[way](journey), before);
          const first = usual.findIndex((text, index) => text !== other[index]);
          const differing = [usual[first] ?? "", other[first] ?? ""];
          expect({ before, first, differing: stretches(differing) }).toEqual({
            before,
            first: -1,
            differing: ["", ""],
          });
        }
      },
    );
  });
});
