/**
 * Learns the facts about messages that a picture of the window needs. Plimsoll reads each body from the store once, and remembers
 * a sketch of the message. If edits replaced parts of a message, Plimsoll also remembers its new size.
 */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { PriorityArea } from "../../message/unit.ts";
import type { NodeRecord, Store } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { decodeMessage } from "../draft/encode.ts";
import { replaceParts } from "../draft/render.ts";
import { looseChainOf } from "../log/log.ts";
import type { FactsReader, Ruler } from "../measure/message-facts.ts";
import type { Targets } from "../measure/target.ts";
import { type Sketch, sketchOf } from "./message-sketch.ts";
import type { Place } from "./window-at.ts";

export interface LearningWorld {
  readonly store: Pick<Store, "bodies">;
  readonly facts: FactsReader;
  readonly targets: Targets;
  readonly areas: readonly PriorityArea[];
}

/** Maximum number of sketches per wire, for all sessions together. Each takes a few hundred bytes. */
const maxSketches = 50_000;
/** Sketches by the hash of their message. */
export type Sketches = BoundedMap<string, Sketch>;
/** Messages in which edits replaced parts, by `replacedKey`. */
export type ReplacedMessages = BoundedMap<string, Replaced>;

export function noneLearned<T>(): BoundedMap<string, T> {
  return new BoundedMap({ entries: maxSketches });
}

/**
 * Number of bodies in one read of the store. The store already performs the next few reads while Plimsoll processes the bodies of
 * earlier ones.
 */
const bodiesAtOnce = 200;
const readingsAtOnce = 4;

interface Unlearned {
  readonly session: string;
  readonly wire: Wire;
  readonly nodes: readonly NodeRecord[];
}

/** Contract: afterwards `sketches` contains a sketch of every message whose body the store has, by the hash of the message. */
export async function learnSketches(
  { store, areas }: Pick<LearningWorld, "store" | "areas">,
  { session, wire, nodes }: Unlearned,
  sketches: Sketches,
): Promise<void> {
  const unknown = nodes.filter(({ hash }) => !sketches.has(hash));
  for await (const { some, bodies } of readInSteps(store, session, unknown))
    for (const { seq, hash } of some) {
      const body = bodies.get(seq);
      if (body === undefined) continue;
      const sketch = sketchOf(wire.messages.decode(decodeMessage(body)), areas);
      sketches.set(hash, sketch);
    }
}

interface Step {
  readonly some: readonly NodeRecord[];
  readonly bodies: ReadonlyMap<number, Uint8Array>;
}

/** Reads the bodies of these messages step by step, in order. The store reads the next steps while the caller works on one. */
async function* readInSteps(
  store: Pick<Store, "bodies">,
  session: string,
  nodes: readonly NodeRecord[],
): AsyncGenerator<Step> {
  const steps = stepsOf(nodes);
  const readings: Promise<ReadonlyMap<number, Uint8Array>>[] = [];
  const read = (some: readonly NodeRecord[]): void => {
    const reading = store.bodies(
      session,
      some.map(({ seq }) => seq),
    );
    // If an earlier read fails, nobody awaits this one any more, so its error must be caught here.
    reading.catch(() => undefined);
    readings.push(reading);
  };
  steps.slice(0, readingsAtOnce).forEach(read);
  for (const [index, some] of steps.entries()) {
    const bodies = (await readings.shift()) ?? new Map<number, Uint8Array>();
    const next = steps[index + readingsAtOnce];
    if (next !== undefined) read(next);
    yield { some, bodies };
  }
}

function stepsOf<T>(all: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / bodiesAtOnce) }, (_, step) =>
    all.slice(step * bodiesAtOnce, (step + 1) * bodiesAtOnce),
  );
}

/** Facts about a message as the model sees it, after edits have replaced parts of it. */
export interface Replaced {
  readonly tokens: number;
}

/** Identifies the message, the edits that replace parts of it, and the model whose tokenizer counts. */
export function replacedKey({ session, nodes, replacing, lastTurn }: Place, index: number): string {
  const node = nodes[index];
  const edits = node === undefined ? [] : (replacing.get(looseChainOf(node)) ?? []);
  return [session, node?.seq, lastTurn?.model, ...edits.map(({ seq }) => seq)].join(" ");
}

/** Contract: afterwards `replaced` contains every message of this branch in which edits replaced parts. */
export async function learnReplaced(
  { store, facts, targets }: Omit<LearningWorld, "areas">,
  place: Place,
  replaced: ReplacedMessages,
): Promise<void> {
  const ruler = rulerOf(targets, place);
  const unknown = [...place.view.replacements.keys()].filter(
    (index) => !replaced.has(replacedKey(place, index)),
  );
  for (const some of stepsOf(unknown)) {
    const learned = await facts.learn(place.wire, await visibleBodies(store, place, some), ruler);
    for (const [at, index] of some.entries())
      replaced.set(replacedKey(place, index), { tokens: learned[at]?.tokens ?? 0 });
  }
}

/** The ruler that counts as the model of the last turn does. */
function rulerOf(targets: Targets, { wire, lastTurn }: Pick<Place, "wire" | "lastTurn">): Ruler {
  const { provider = wire.name, model = "" } = lastTurn ?? {};
  return targets.resolve(provider, wire, { model }).ruler;
}

/** The bodies of the messages at these indexes, after edits have replaced parts of them. */
async function visibleBodies(
  store: Pick<Store, "bodies">,
  { session, wire, nodes, view }: Pick<Place, "session" | "wire" | "nodes" | "view">,
  indexes: readonly number[],
): Promise<readonly Uint8Array[]> {
  const seqs = indexes.flatMap((index) => nodes[index]?.seq ?? []);
  const bodies = await store.bodies(session, seqs);
  return indexes.map((index) => {
    const body = bodies.get(nodes[index]?.seq ?? -1) ?? new Uint8Array();
    return replaceParts(wire, body, view.replacements.get(index) ?? []);
  });
}
