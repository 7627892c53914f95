/**
 * What Plimsoll sends, byte by byte: `npm run bench:sent -- --write FILE` keeps the SHA-256 of every request of generated
 * journeys, `npm run bench:sent -- --compare FILE` says which of them another version sends otherwise.
 */

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { openEngine } from "../packages/plimsoll/src/engine.ts";
import { fixRandom } from "../packages/plimsoll/test/engine/fixed-random.ts";
import { WIRES } from "../packages/plimsoll/test/generate/conversations.ts";
import { libraryTraveller } from "../packages/plimsoll/test/generate/journey-library.ts";
import { proxyTraveller } from "../packages/plimsoll/test/generate/journey-proxy.ts";
import {
  createClock,
  type Journey,
  journeyConfig,
  type Traveller,
  travel,
} from "../packages/plimsoll/test/generate/journeys.ts";

const travellers = { proxy: proxyTraveller, library: libraryTraveller };

const roads = [
  { seed: 1, turns: 60, windowTokens: 6_000, factor: 1, mcpCount: 0 },
  { seed: 2, turns: 60, windowTokens: 6_000, factor: 1, mcpCount: 0 },
  { seed: 3, turns: 60, windowTokens: 20_000, factor: 1.3, mcpCount: 60 },
  { seed: 4, turns: 60, windowTokens: 20_000, factor: 1.3, mcpCount: 60 },
  { seed: 5, turns: 60, windowTokens: 12_000, factor: 0.7, mcpCount: 8 },
  { seed: 6, turns: 60, windowTokens: 12_000, factor: 0.7, mcpCount: 8 },
  { seed: 7, turns: 200, windowTokens: 9_000, factor: 1.1, mcpCount: 20 },
] as const;
/** Of the hash, as many digits as tell all requests apart. */
const digits = 12;

/** By journey: a hash for each request. */
type Hashes = Readonly<Record<string, readonly string[]>>;

async function hashesNow(): Promise<Hashes> {
  const hashes: Record<string, readonly string[]> = {};
  for (const [way, travellerOf] of Object.entries(travellers))
    for (const wire of WIRES)
      for (const road of roads) {
        const journey: Journey = { wire, ...road };
        const sent = await sentOn(journey, travellerOf(journey));
        hashes[`${way} ${wire} ${road.seed}`] = sent.map(hashOf);
      }
  return hashes;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, digits);
}

async function sentOn(journey: Journey, traveller: Traveller): Promise<readonly string[]> {
  fixRandom(journey.seed);
  const { now, tick } = createClock();
  const config = journeyConfig(journey);
  const engine = await openEngine({ store: "memory", config, parts: { now } });
  return travel(journey, traveller, engine, (same) => {
    tick();
    return Promise.resolve(same);
  });
}

/** The first request of each journey that is not the same: those behind it follow from it. */
function differences(before: Hashes, now: Hashes): readonly string[] {
  return Object.keys({ ...before, ...now }).flatMap((name) => {
    const [one = [], other = []] = [before[name], now[name]];
    const first = Math.max(one.length, other.length);
    const at = Array.from({ length: first }, (_, index) => index).find(
      (index) => one[index] !== other[index],
    );
    return at === undefined ? [] : [`${name}: request ${at + 1} of ${one.length} is another one`];
  });
}

/** A line for each journey. */
function textOf(hashes: Hashes): string {
  const lines = Object.entries(hashes).map(
    ([name, list]) => `${JSON.stringify(name)}: ${JSON.stringify(list.join(" "))}`,
  );
  return `{\n${lines.join(",\n")}\n}\n`;
}

function hashesIn(text: string): Hashes {
  const lists = Object.entries(JSON.parse(text) as Record<string, string>);
  return Object.fromEntries(lists.map(([name, list]) => [name, list.split(" ")]));
}

const { values } = parseArgs({
  options: { write: { type: "string" }, compare: { type: "string" } },
});
const now = await hashesNow();
const count = Object.values(now).reduce((sum, hashes) => sum + hashes.length, 0);
if (values.write !== undefined) writeFileSync(values.write, textOf(now));
const found =
  values.compare === undefined
    ? []
    : differences(hashesIn(readFileSync(values.compare, "utf8")), now);
console.log(`${count} requests of ${Object.keys(now).length} journeys`);
for (const line of found) console.log(line);
if (values.compare !== undefined && found.length === 0) console.log("all the same");
process.exitCode = found.length === 0 ? 0 : 1;
