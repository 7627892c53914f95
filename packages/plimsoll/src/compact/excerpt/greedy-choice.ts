/**
 * Chooses the pieces to keep, in the order of new weight per token. A mention that another kept piece already contains adds
 * almost nothing, so pieces with new mentions are preferred. The header of `excerpt.ts` explains the whole algorithm.
 */

import { chooseGreedily } from "../../search/greedy.ts";
import type { ChoiceTask, PieceName } from "./choice-task.ts";
import type { Frame, Piece } from "./json-pieces.ts";
import { type ChoiceState, promisingPieces, worthAgain } from "./promising-pieces.ts";
import { isBlank } from "./text-pieces.ts";

/** Tokens of a mark between two kept pieces. */
const markTokens = 6;
/** A hole in a text, and a gap between messages, count as this many times their tokens: a view with few of them reads better. */
const dislikeOfHoles = 2;
/** A hole of at most this many lines is not worth its mark, so its lines are kept too. */
const smallestHole = 3;

interface Option {
  readonly slot: number;
  /** Undefined if the option keeps only the texts that stay with the unit. */
  readonly piece: number | undefined;
  /** The piece, and the pieces of the same text that are kept with it. */
  readonly pieces: readonly number[];
  readonly tokens: number;
  /** The tokens of the marks among them. */
  readonly marks: number;
  readonly gain: number;
}

/** What one decision added. It is undone as a whole. */
interface Pick {
  readonly tokens: number;
  readonly units: readonly number[];
  readonly pieces: readonly PieceName[];
}

interface Addition extends Pick {
  readonly gain: number;
  readonly marks: number;
}

export class Choice implements ChoiceState {
  readonly #task: ChoiceTask;
  readonly #kept: readonly Uint8Array[];
  readonly #isOpen: Uint8Array;
  readonly #covered: Uint32Array;
  readonly #frames = new Map<Frame, number>();
  readonly #picks: Pick[] = [];
  #tokens = 0;

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

  /** Estimated tokens of everything that is kept, without marks. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Whether the calls of an exchange would take so much room, even if shortened, that it cannot stay. */
  isTooLarge(unit: number): boolean {
    const { callTokens = 0 } = this.#task.units[unit] ?? {};
    return callTokens > this.#task.largestCalls;
  }

  /** Keeps the unit, with all texts and pieces that stay with it. */
  open(unit: number): void {
    if (this.isOpen(unit)) return;
    this.#setOpen(unit, 1);
    for (const [slot, piece] of this.#staying(unit)) this.keep(slot, piece);
  }

  /** Whether a kept piece contains the mention. */
  isCovered(mention: number): boolean {
    return (this.#covered[mention] ?? 0) > 0;
  }

  /** Tokens of the pieces of a text that are not kept. */
  missing(slot: number): number {
    const { pieces } = this.#task.slots[slot]?.textPieces ?? { pieces: [] };
    return pieces.reduce(
      (sum, { tokens }, piece) => sum + (this.isKept(slot, piece) ? 0 : tokens),
      0,
    );
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

  /**
   * Keeps at least this many tokens of a text. Of JSON, it keeps the best pieces. Of every other text, it keeps the beginning and the
   * end, each without a hole. Of a text that may lose only its middle, it keeps the beginning.
   */
  keepAtLeast(slot: number, tokens: number): void {
    const { textPieces } = this.#task.slots[slot] ?? {};
    const pieces = textPieces?.pieces ?? [];
    const isJson = textPieces?.json !== undefined;
    const order = isJson ? this.#bestFirst(slot) : this.#endsFirst(slot);
    let left = tokens;
    for (const [piece, { tokens: own }] of pieces.entries())
      if (this.isKept(slot, piece)) left -= own;
    for (const piece of order) {
      if (left <= 0) break;
      const wanted = isJson ? (this.#option(slot, piece)?.pieces ?? []) : [piece];
      const added = this.#added(
        [],
        wanted.map((index): PieceName => [slot, index]),
      );
      for (const name of added.pieces) this.keep(...name);
      left -= added.tokens;
    }
    if (!isJson) this.#closeSmallHoles(slot);
  }

  #closeSmallHoles(slot: number): void {
    const { pieces } = this.#task.slots[slot]?.textPieces ?? { pieces: [] };
    const said = [...pieces.keys()].filter((piece) => !isBlank(pieces[piece] as Piece));
    let before = -1;
    for (const [at, piece] of said.entries()) {
      if (!this.isKept(slot, piece)) continue;
      if (before >= 0 && at - before <= smallestHole)
        for (const one of said.slice(before + 1, at)) this.keep(slot, one);
      before = at;
    }
  }

  /** One piece from the beginning, then two from the end, and so on. The end of an output says how it ended. */
  #endsFirst(slot: number): readonly number[] {
    const { textPieces, mayLose } = this.#task.slots[slot] ?? {};
    const order: number[] = [];
    let [first, last] = [0, (textPieces?.pieces.length ?? 0) - 1];
    while (first <= last) {
      const isBeginning = mayLose === "middle" || order.length % 3 === 0;
      order.push(isBeginning ? first++ : last--);
    }
    return order;
  }

  #bestFirst(slot: number): readonly number[] {
    const { pieces } = this.#task.slots[slot]?.textPieces ?? { pieces: [] };
    return [...pieces.keys()]
      .flatMap((piece) => this.#option(slot, piece) ?? [])
      .toSorted((one, other) => worth(other) - worth(one))
      .flatMap(({ piece }) => piece ?? []);
  }

  /**
   * Keeps the closing words that belong to a request, if they fit into the room. Returns the tokens that this takes. It is a pick,
   * so it can be taken back.
   */
  keepOutcome(request: number, room: number): number {
    const outcome = this.#task.units[request]?.outcome ?? [];
    const added = this.#added(this.#unitsOf(outcome), outcome);
    if (added.pieces.length === 0 || added.tokens > room) return 0;
    this.#take(added);
    return added.tokens;
  }

  /** Whether all closing words that belong to a request are kept. */
  hasOutcome(request: number): boolean {
    const outcome = this.#task.units[request]?.outcome ?? [];
    return outcome.every(([slot, piece]) => this.isKept(slot, piece));
  }

  /** Takes back everything of a unit, and returns the pieces. No pick may contain any of them. */
  close(unit: number): readonly PieceName[] {
    this.#setOpen(unit, 0);
    const taken = (this.#task.units[unit]?.slots ?? []).flatMap((slot) =>
      [...(this.#kept[slot]?.keys() ?? [])]
        .filter((piece) => this.isKept(slot, piece))
        .map((piece): PieceName => [slot, piece]),
    );
    for (const [slot, piece] of taken) this.#leave(slot, piece);
    return taken;
  }

  /** Keeps the pieces that add the most, as long as they fit into the room. Returns "nothing" if it found no such piece. */
  fill(room: number): "filled" | "nothing" {
    let left = room;
    const before = this.#picks.length;
    if (left <= 0) return "nothing";
    chooseGreedily(
      promisingPieces(this.#task, this, room).flatMap(({ slot, piece }) =>
        this.#wanted(slot, piece),
      ),
      {
        worth,
        isEarlier,
        renew: ({ slot, piece }) => this.#wanted(slot, piece).find(({ tokens }) => tokens <= left),
        take: (option) => {
          this.#take({ ...this.#addedBy(option), tokens: option.tokens });
          left -= option.tokens;
          if (left <= 0) return "full";
          return this.#aroundAll(option).flatMap((piece) => this.#wanted(option.slot, piece));
        },
      },
    );
    return this.#picks.length > before ? "filled" : "nothing";
  }

  /**
   * Keeps whole units, newest first, as long as they fit into the room. It is for texts whose pieces add nothing new, such as the
   * same few words again and again. Returns "nothing" if there is no such unit.
   */
  fillNewest(room: number): "filled" | "nothing" {
    let left = room;
    const before = this.#picks.length;
    for (const unit of [...this.#task.units.keys()].toReversed()) {
      if (this.isTooLarge(unit)) continue;
      const { slots = [], outcome = [] } = this.#task.units[unit] ?? {};
      const own = slots.flatMap((slot) => this.#allOf(slot));
      const added = this.#added([unit, ...this.#unitsOf(outcome)], [...outcome, ...own]);
      if (added.pieces.length === 0) continue;
      if (added.tokens > left) break;
      this.#take(added);
      left -= added.tokens;
    }
    return this.#picks.length > before ? "filled" : "nothing";
  }

  #allOf(slot: number): readonly PieceName[] {
    const { pieces } = this.#task.slots[slot]?.textPieces ?? { pieces: [] };
    return [...pieces.keys()].map((piece): PieceName => [slot, piece]);
  }

  /** Takes back the last picks until this many tokens are free. Returns how many tokens it freed. */
  drop(tokens: number): number {
    let freed = 0;
    while (freed < tokens) {
      const pick = this.#picks.pop();
      if (pick === undefined) return freed;
      freed += Math.max(1, pick.tokens);
      for (const [slot, piece] of pick.pieces) this.#leave(slot, piece);
      for (const unit of pick.units) this.#setOpen(unit, 0);
    }
    return freed;
  }

  #take({ tokens, units, pieces }: Pick): void {
    for (const unit of units) this.#setOpen(unit, 1);
    for (const [slot, piece] of pieces) this.keep(slot, piece);
    this.#picks.push({ tokens, units, pieces });
  }

  #setOpen(unit: number, isOpen: 0 | 1): void {
    const step = isOpen - (this.#isOpen[unit] ?? 0);
    this.#isOpen[unit] = isOpen;
    this.#tokens += step * (this.#task.units[unit]?.frameTokens ?? 0);
  }

  #leave(slot: number, piece: number): void {
    const kept = this.#kept[slot];
    if (kept?.[piece] !== 1) return;
    kept[piece] = 0;
    this.#count(slot, piece, -1);
  }

  #count(slot: number, piece: number, step: 1 | -1): void {
    const { mentions, textPieces } = this.#task.slots[slot] ?? {};
    for (const atom of mentions?.[piece] ?? [])
      this.#covered[atom] = (this.#covered[atom] ?? 0) + step;
    const { tokens = 0, frames = [] } = textPieces?.pieces[piece] ?? {};
    this.#tokens += step * tokens;
    for (const frame of frames) {
      const before = this.#frames.get(frame) ?? 0;
      this.#frames.set(frame, before + step);
      if (before === 0 || before + step === 0) this.#tokens += step * frame.tokens;
    }
  }

  /** The pieces that stay whenever the unit stays. */
  *#staying(unit: number): Generator<PieceName> {
    for (const slot of this.#task.units[unit]?.slots ?? []) {
      const { isExact, textPieces, least } = this.#task.slots[slot] ?? {};
      const pieces = isExact ? (textPieces?.pieces.keys() ?? []) : (least ?? []);
      for (const piece of pieces) yield [slot, piece];
    }
  }

  /** The option of keeping this piece. Empty if the piece contains nothing new. */
  #wanted(slot: number, piece: number | undefined): readonly Option[] {
    const option = this.#option(slot, piece);
    return option !== undefined && option.gain > 0 ? [option] : [];
  }

  /** The best way to keep this piece: alone, or with other pieces if it needs them. */
  #option(slot: number, piece: number | undefined): Option | undefined {
    const { textPieces, unit } = this.#task.slots[slot] ?? {};
    if (textPieces === undefined || unit === undefined) return undefined;
    if (piece === undefined)
      return this.isOpen(unit) ? undefined : this.#priced({ slot, piece, pieces: [] });
    const wanted = textPieces.pieces[piece];
    if (wanted === undefined || this.isKept(slot, piece) || isBlank(wanted)) return undefined;
    return this.#ways(slot, piece, wanted)
      .map((pieces) => this.#priced({ slot, piece, pieces }))
      .reduce((best, other) => (worth(other) > worth(best) ? other : best));
  }

  #ways(slot: number, piece: number, wanted: Piece): readonly (readonly number[])[] {
    if (this.#task.slots[slot]?.mayLose === "middle") return this.#fromEnds(slot, piece);
    const company = wanted.company.filter((one) => one !== piece && !this.isKept(slot, one));
    const around = this.#around(slot, piece);
    const hasCompany = around.some((neighbour) => this.isKept(slot, neighbour));
    const ways =
      !wanted.needsNeighbour || hasCompany || around.length === 0
        ? [[piece]]
        : around.map((neighbour) => [piece, neighbour]);
    return ways.map((pieces) => [...this.#withoutHoles(slot, pieces), ...company]);
  }

  /** All pieces from the beginning up to this piece, or from this piece up to the end. */
  #fromEnds(slot: number, piece: number): readonly (readonly number[])[] {
    const last = (this.#task.slots[slot]?.textPieces.pieces.length ?? 0) - 1;
    const from: number[] = [];
    for (let at = piece; at >= 0 && !this.isKept(slot, at); at--) from.push(at);
    const to: number[] = [];
    for (let at = piece; at <= last && !this.isKept(slot, at); at++) to.push(at);
    return [from, to];
  }

  /** The pieces, and the lines between them and the nearest kept pieces if these are so few that a mark would cost as much. */
  #withoutHoles(slot: number, pieces: readonly number[]): readonly number[] {
    const { textPieces } = this.#task.slots[slot] ?? {};
    if (textPieces === undefined || textPieces.json !== undefined) return pieces;
    const all = [...pieces];
    for (const [end, step] of [
      [Math.min(...pieces), -1],
      [Math.max(...pieces), 1],
    ] as const) {
      const hole: number[] = [];
      let lines = 0;
      for (let at = end + step; lines <= smallestHole; at += step) {
        const found = textPieces.pieces[at];
        if (found === undefined) break;
        if (this.isKept(slot, at)) {
          all.push(...hole);
          break;
        }
        hole.push(at);
        if (!isBlank(found)) lines++;
      }
    }
    return all;
  }

  #priced(wanted: Wanted): Option {
    const { tokens, gain, marks } = this.#addedBy(wanted);
    const own = this.#markTokens(wanted);
    return { ...wanted, gain, marks: marks + own, tokens: Math.max(1, tokens + own) };
  }

  /** What this option adds. The first piece of a unit also adds everything that stays with the unit, and a request its outcome. */
  #addedBy({ slot, pieces }: Wanted): Addition {
    const { unit = -1 } = this.#task.slots[slot] ?? {};
    const own = pieces.map((piece): PieceName => [slot, piece]);
    if (this.isOpen(unit)) return this.#added([], own);
    const outcome = this.#task.units[unit]?.outcome ?? [];
    return this.#added([unit, ...this.#unitsOf(outcome)], [...outcome, ...own]);
  }

  #unitsOf(pieces: readonly PieceName[]): readonly number[] {
    return [...new Set(pieces.map(([slot]) => this.#task.slots[slot]?.unit ?? -1))];
  }

  /** The pieces that are not kept yet, each once. */
  #new(pieces: readonly PieceName[]): readonly PieceName[] {
    const known = new Map<number, Set<number>>();
    return pieces.filter(([slot, piece]) => {
      if (this.isKept(slot, piece)) return false;
      const own = known.get(slot) ?? new Set();
      known.set(slot, own);
      const isNew = !own.has(piece);
      own.add(piece);
      return isNew;
    });
  }

  /** The cost and the worth of adding these units and pieces. */
  #added(units: readonly number[], pieces: readonly PieceName[]): Addition {
    const opened = units.filter((unit) => !this.isOpen(unit));
    const staying = opened.flatMap((unit) => [...this.#staying(unit)]);
    const all = this.#new([...staying, ...pieces]);
    const mentionsHere = new Map<number, number>();
    const frames = new Set<Frame>();
    let gain = 0;
    let tokens = 0;
    let marks = 0;
    for (const unit of opened) {
      tokens += this.#task.units[unit]?.frameTokens ?? 0;
      marks += this.#openingMarks(unit);
    }
    tokens += marks;
    for (const [slot, piece] of all) {
      const found = this.#task.slots[slot]?.textPieces.pieces[piece];
      tokens += found?.tokens ?? 0;
      for (const frame of found?.frames ?? []) if (!this.#frames.get(frame)) frames.add(frame);
      gain += this.#gain(slot, piece, mentionsHere);
    }
    for (const frame of frames) tokens += frame.tokens;
    return { units: opened, pieces: all, gain, tokens, marks };
  }

  #gain(slot: number, piece: number, mentionsHere: Map<number, number>): number {
    const { mentions, worth: share } = this.#task.slots[slot] ?? { mentions: [], worth: 1 };
    let gain = 0;
    for (const atom of mentions[piece] ?? []) {
      const here = mentionsHere.get(atom) ?? 0;
      const before = (this.#covered[atom] ?? 0) + here;
      mentionsHere.set(atom, here + 1);
      gain += (this.#task.weights[atom] ?? 0) * worthAgain ** Math.min(before, 2);
    }
    return gain * share;
  }

  /** Tokens of the marks in the texts of a new unit, and of the gap that it makes between messages. */
  #openingMarks(unit: number): number {
    const { slots = [] } = this.#task.units[unit] ?? {};
    const cut = slots.filter((slot) => {
      const { isExact = true, least = [] } = this.#task.slots[slot] ?? {};
      return !isExact && least.length > 0;
    });
    const isAlone = !this.isOpen(unit - 1) && !this.isOpen(unit + 1);
    return cut.length * markTokens + (isAlone ? this.#task.gapTokens : 0);
  }

  /** Tokens of the mark for a new gap. Negative if these pieces close a gap, because its mark is no longer needed. */
  #markTokens({ slot, pieces }: Wanted): number {
    const { textPieces, mayLose } = this.#task.slots[slot] ?? {};
    if (textPieces === undefined || textPieces.json !== undefined || pieces.length === 0) return 0;
    if (mayLose === "middle") return 0;
    const outside = pieces
      .flatMap((piece) => this.#around(slot, piece))
      .filter((piece) => !pieces.includes(piece));
    const open = outside.filter((piece) => !this.isKept(slot, piece)).length;
    const gaps = open - (outside.length - open) - 1;
    return gaps > 0 ? markTokens : gaps < 0 && outside.length > 1 ? -markTokens / 2 : 0;
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

/** An option before it is priced. */
interface Wanted {
  readonly slot: number;
  readonly piece: number | undefined;
  readonly pieces: readonly number[];
}

function worth({ gain, tokens, marks }: Option): number {
  return gain / Math.max(1, tokens + marks * (dislikeOfHoles - 1));
}

/** Prefers the earlier of two equal options, so that the same conversation gives the same choice. */
function isEarlier(one: Option, other: Option): boolean {
  return one.slot === other.slot ? (one.piece ?? -1) < (other.piece ?? -1) : one.slot < other.slot;
}
