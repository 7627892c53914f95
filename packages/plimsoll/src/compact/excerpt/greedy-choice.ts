/**
 * Chooses the pieces to keep, in the order of new weight per token. A mention that another kept piece already contains adds
 * almost nothing, so pieces with new mentions are preferred. The header of `excerpt.ts` explains the whole algorithm.
 */

import { chooseGreedily } from "../../search/greedy.ts";
import type { Frame, Piece } from "./json-pieces.ts";
import { isBlank, type TextPieces } from "./text-pieces.ts";

/** One text of a unit. */
export interface Slot {
  readonly unit: number;
  readonly textPieces: TextPieces;
  /** The mentions of each piece, by number. */
  readonly mentions: readonly (readonly number[])[];
  /** True for a text that is kept whole if its unit is kept: a short text, or a call that must stay as it is. */
  readonly isExact: boolean;
}

export interface ChoiceUnit {
  /** Tokens of the unit without its texts. They are spent as soon as any piece of the unit is kept. */
  readonly frameTokens: number;
  readonly slots: readonly number[];
}

export interface ChoiceTask {
  readonly units: readonly ChoiceUnit[];
  readonly slots: readonly Slot[];
  /** The weight of each mention, by the number of the mention. */
  readonly weights: Float64Array;
}

/** Share of its weight that a mention still has if another kept piece already contains the mention. */
const worthAgain = 0.005;
/** Tokens of a mark between two kept pieces. */
const markTokens = 5;

interface Option {
  readonly slot: number;
  /** Undefined if the option keeps only the exact texts of the unit. */
  readonly piece: number | undefined;
  /** The piece and, if it needs one, the neighbour that is kept with it. */
  readonly pieces: readonly number[];
  readonly tokens: number;
  readonly gain: number;
}

interface Pick extends Option {
  readonly opens: number | undefined;
}

export class Choice {
  readonly #task: ChoiceTask;
  readonly #kept: readonly Uint8Array[];
  readonly #isOpen: Uint8Array;
  readonly #covered: Uint32Array;
  readonly #frames = new Map<Frame, number>();
  readonly #picks: Pick[] = [];

  constructor(task: ChoiceTask) {
    this.#task = task;
    this.#kept = task.slots.map(({ textPieces }) => new Uint8Array(textPieces.pieces.length));
    this.#isOpen = new Uint8Array(task.units.length);
    this.#covered = new Uint32Array(task.weights.length);
  }

  isOpen(unit: number): boolean {
    return this.#isOpen[unit] === 1;
  }

  isKept(slot: number, piece: number): boolean {
    return this.#kept[slot]?.[piece] === 1;
  }

  /** True if a kept piece contains the mention. */
  isMentioned(atom: number): boolean {
    return (this.#covered[atom] ?? 0) > 0;
  }

  /** Keeps the unit, with all of its exact texts. */
  open(unit: number): void {
    if (this.isOpen(unit)) return;
    this.#isOpen[unit] = 1;
    for (const slot of this.#task.units[unit]?.slots ?? [])
      if (this.#task.slots[slot]?.isExact) this.keepWhole(slot);
  }

  keepWhole(slot: number): void {
    const { length } = this.#task.slots[slot]?.textPieces.pieces ?? [];
    for (let piece = 0; piece < length; piece++) this.keep(slot, piece);
  }

  keep(slot: number, piece: number): void {
    const kept = this.#kept[slot];
    if (kept === undefined || kept[piece] === 1) return;
    kept[piece] = 1;
    this.#count(slot, piece, 1);
  }

  /** Keeps at least this many tokens of a text, the best pieces first, and no line without a neighbour. */
  keepAtLeast(slot: number, tokens: number): void {
    const { pieces } = this.#task.slots[slot]?.textPieces ?? { pieces: [] };
    const best = [...pieces.keys()]
      .flatMap((piece) => this.#option(slot, piece) ?? [])
      .toSorted((one, other) => worth(other) - worth(one));
    let left = tokens;
    for (const [piece, { tokens: own }] of pieces.entries())
      if (this.isKept(slot, piece)) left -= own;
    for (const option of best) {
      if (left <= 0) return;
      for (const piece of option.pieces.filter((index) => !this.isKept(slot, index))) {
        this.keep(slot, piece);
        left -= pieces[piece]?.tokens ?? 0;
      }
    }
  }

  /** Keeps the pieces that add the most, as long as they fit into the room. Returns "nothing" if it found no such piece. */
  fill(room: number): "filled" | "nothing" {
    let left = room;
    const before = this.#picks.length;
    if (left <= 0) return "nothing";
    chooseGreedily(
      [...this.#task.slots.keys()].flatMap((slot) => this.#offers(slot)),
      {
        worth,
        isEarlier,
        renew: ({ slot, piece }) => this.#wanted(slot, piece).find(({ tokens }) => tokens <= left),
        take: (option) => {
          this.#take(option);
          left -= option.tokens;
          if (left <= 0) return "full";
          return this.#aroundAll(option).flatMap((piece) => this.#wanted(option.slot, piece));
        },
      },
    );
    return this.#picks.length > before ? "filled" : "nothing";
  }

  /** Takes back the last picks until this many tokens are free. Returns how many tokens it freed. */
  drop(tokens: number): number {
    let freed = 0;
    while (freed < tokens) {
      const pick = this.#picks.pop();
      if (pick === undefined) return freed;
      freed += Math.max(1, pick.tokens);
      for (const piece of pick.pieces) this.#leave(pick.slot, piece);
      if (pick.opens !== undefined) this.#close(pick.opens);
    }
    return freed;
  }

  #take(option: Option): void {
    const { unit } = this.#task.slots[option.slot] ?? { unit: -1 };
    const opens = this.isOpen(unit) ? undefined : unit;
    this.open(unit);
    const pieces = option.pieces.filter((piece) => !this.isKept(option.slot, piece));
    for (const piece of pieces) this.keep(option.slot, piece);
    this.#picks.push({ ...option, pieces, opens });
  }

  #leave(slot: number, piece: number): void {
    const kept = this.#kept[slot];
    if (kept?.[piece] !== 1) return;
    kept[piece] = 0;
    this.#count(slot, piece, -1);
  }

  #close(unit: number): void {
    const { slots = [] } = this.#task.units[unit] ?? {};
    const holdsMore = slots.some(
      (slot) => !this.#task.slots[slot]?.isExact && this.#kept[slot]?.includes(1),
    );
    if (holdsMore) return;
    this.#isOpen[unit] = 0;
    for (const slot of slots)
      for (const piece of this.#kept[slot]?.keys() ?? []) this.#leave(slot, piece);
  }

  #count(slot: number, piece: number, step: 1 | -1): void {
    const { mentions, textPieces } = this.#task.slots[slot] ?? {};
    for (const atom of mentions?.[piece] ?? [])
      this.#covered[atom] = (this.#covered[atom] ?? 0) + step;
    for (const frame of textPieces?.pieces[piece]?.frames ?? [])
      this.#frames.set(frame, (this.#frames.get(frame) ?? 0) + step);
  }

  #gain(slot: number, piece: number, mentionsHere?: Map<number, number>): number {
    const { mentions } = this.#task.slots[slot] ?? { mentions: [] };
    let gain = 0;
    for (const atom of mentions[piece] ?? []) {
      const before = (this.#covered[atom] ?? 0) + (mentionsHere?.get(atom) ?? 0);
      mentionsHere?.set(atom, (mentionsHere.get(atom) ?? 0) + 1);
      gain += (this.#task.weights[atom] ?? 0) * worthAgain ** Math.min(before, 2);
    }
    return gain;
  }

  #offers(slot: number): readonly Option[] {
    const { textPieces, isExact } = this.#task.slots[slot] ?? { isExact: false };
    if (isExact) return this.#wanted(slot, undefined);
    return [...(textPieces?.pieces.keys() ?? [])].flatMap((piece) => this.#wanted(slot, piece));
  }

  /** The option of keeping this piece. Empty if the piece contains nothing new. */
  #wanted(slot: number, piece: number | undefined): readonly Option[] {
    const option = this.#option(slot, piece);
    return option !== undefined && option.gain > 0 ? [option] : [];
  }

  /** The best way to keep this piece: alone, or with a neighbour if it needs one. */
  #option(slot: number, piece: number | undefined): Option | undefined {
    const { textPieces, unit } = this.#task.slots[slot] ?? {};
    if (textPieces === undefined || unit === undefined) return undefined;
    if (piece === undefined)
      return this.isOpen(unit) ? undefined : this.#priced({ slot, piece, pieces: [], unit });
    const wanted = textPieces.pieces[piece];
    if (wanted === undefined || this.isKept(slot, piece) || isBlank(wanted)) return undefined;
    const ways = this.#ways(slot, piece, wanted);
    return ways
      .map((pieces) => this.#priced({ slot, piece, pieces, unit }))
      .reduce((best, other) => (worth(other) > worth(best) ? other : best));
  }

  #ways(slot: number, piece: number, { needsNeighbour }: Piece): readonly (readonly number[])[] {
    const around = this.#around(slot, piece);
    const hasCompany = around.some((neighbour) => this.isKept(slot, neighbour));
    if (!needsNeighbour || hasCompany || around.length === 0) return [[piece]];
    return around.map((neighbour) => [piece, neighbour]);
  }

  #priced(wanted: Wanted): Option {
    const { slot, piece, pieces, unit } = wanted;
    const { textPieces } = this.#task.slots[slot] ?? {};
    const mentionsHere = new Map<number, number>();
    const frames = new Set<Frame>();
    let gain = this.isOpen(unit) ? 0 : this.#openingGain(unit, mentionsHere);
    let tokens = this.isOpen(unit) ? 0 : this.#openingTokens(unit);
    for (const index of pieces) {
      const { tokens: own = 0, frames: around = [] } = textPieces?.pieces[index] ?? {};
      tokens += own;
      for (const frame of around) if (!this.#frames.get(frame)) frames.add(frame);
      gain += this.#gain(slot, index, mentionsHere);
    }
    for (const frame of frames) tokens += frame.tokens;
    tokens += this.#markTokens(slot, pieces);
    return { slot, piece, pieces, gain, tokens: Math.max(1, tokens) };
  }

  /** Tokens of the mark for a new gap. Negative if these pieces close a gap, because its mark is no longer needed. */
  #markTokens(slot: number, pieces: readonly number[]): number {
    const { textPieces } = this.#task.slots[slot] ?? {};
    if (textPieces === undefined || textPieces.json !== undefined || pieces.length === 0) return 0;
    const outside = pieces
      .flatMap((piece) => this.#around(slot, piece))
      .filter((piece) => !pieces.includes(piece));
    const open = outside.filter((piece) => !this.isKept(slot, piece)).length;
    const gaps = open - (outside.length - open) - 1;
    return gaps > 0 ? markTokens : gaps < 0 && outside.length > 1 ? -markTokens / 2 : 0;
  }

  #openingGain(unit: number, mentionsHere: Map<number, number>): number {
    let gain = 0;
    for (const slot of this.#task.units[unit]?.slots ?? []) {
      const { isExact, textPieces } = this.#task.slots[slot] ?? {};
      if (isExact)
        for (const piece of textPieces?.pieces.keys() ?? [])
          gain += this.#gain(slot, piece, mentionsHere);
    }
    return gain;
  }

  #openingTokens(unit: number): number {
    const { frameTokens = 0, slots = [] } = this.#task.units[unit] ?? {};
    return slots.reduce((sum, slot) => {
      const { isExact, textPieces } = this.#task.slots[slot] ?? {};
      if (!isExact) return sum + markTokens;
      return (textPieces?.pieces ?? []).reduce((all, { tokens }) => all + tokens, sum);
    }, frameTokens);
  }

  /** The nearest pieces before and after this piece that are not blank. */
  #around(slot: number, piece: number): readonly number[] {
    const { pieces } = this.#task.slots[slot]?.textPieces ?? { pieces: [] };
    const towards = (step: 1 | -1): readonly number[] => {
      for (let at = piece + step; at >= 0 && at < pieces.length; at += step) {
        const found = pieces[at];
        if (found !== undefined && !isBlank(found)) return [at];
      }
      return [];
    };
    return [...towards(-1), ...towards(1)];
  }

  #aroundAll({ slot, pieces }: Option): readonly number[] {
    return pieces.flatMap((piece) => this.#around(slot, piece));
  }
}

interface Wanted {
  readonly slot: number;
  readonly piece: number | undefined;
  readonly pieces: readonly number[];
  readonly unit: number;
}

function worth({ gain, tokens }: Option): number {
  return gain / tokens;
}

/** Prefers the earlier of two equal options, so that the same conversation gives the same choice. */
function isEarlier(one: Option, other: Option): boolean {
  return one.slot === other.slot ? (one.piece ?? -1) < (other.piece ?? -1) : one.slot < other.slot;
}
