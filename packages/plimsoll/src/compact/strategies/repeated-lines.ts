/** Finds lines that a later text repeats. Works from the newest text to the oldest, so that the latest copy stays. */

import { type InSteps, Steps } from "../../message/steps.ts";

export interface LinedText {
  readonly lines: readonly string[];
  /** The files that the text shows. If two texts show the same file, shorter runs of equal lines are enough. */
  readonly files: readonly string[];
  /** Whether a line may be left out. */
  readonly mayGo: (line: number) => boolean;
}

/** The lines from `from` up to, but not including, `to`. A later text repeats them. */
export interface RepeatedRun {
  readonly from: number;
  readonly to: number;
  /** Index of the later text. */
  readonly text: number;
}

/**
 * If both texts show the same file, a run is worth a mark if it has at least this many lines or tokens, but never below `least`
 * tokens.
 */
const ofFile = { lines: 3, tokens: 60, least: 24 };
/** If the two texts show different files, a run is worth a mark if it has at least this many lines and this many tokens. */
const ofAny = { lines: 8, tokens: 100 };
/** Counting the tokens of this many characters takes about as long as comparing one line. */
const charsPerLine = 16;
/** If a line occurs in many places, only this many places are tried, newest first. */
const placesMax = 16;

/**
 * For each text, in the given order (oldest first), the runs that may be left out of it. Invariant: the later text contains every
 * line of a run in a place that no run covers. Line numbers before the lines are ignored.
 */
export function* repeatedRuns(
  texts: readonly LinedText[],
  count: (text: string) => number,
): InSteps<readonly (readonly RepeatedRun[])[]> {
  const finder = new RunFinder(texts, count);
  yield* finder.read();
  const runs = texts.map((): readonly RepeatedRun[] => []);
  for (let index = texts.length - 1; index >= 0; index--) {
    runs[index] = yield* finder.runsOf(index);
    yield* finder.add(index);
  }
  return runs;
}

interface Place {
  readonly text: number;
  readonly line: number;
}

class RunFinder {
  readonly #texts: readonly LinedText[];
  readonly #count: (text: string) => number;
  readonly #steps = new Steps();
  readonly #names = new Map<string, number>();
  /** Each line as a number. Equal lines have equal numbers. */
  readonly #exact: Int32Array[] = [];
  readonly #bare: Int32Array[] = [];
  readonly #isLeftOut: readonly Uint8Array[];
  /** Number of compared lines that `#steps` has not counted yet. */
  #compared = 0;
  readonly #byLine = new Map<string, Place[]>();
  readonly #byBlock = new Map<string, Place[]>();

  constructor(texts: readonly LinedText[], count: (text: string) => number) {
    this.#texts = texts;
    this.#count = count;
    this.#isLeftOut = texts.map(({ lines }) => new Uint8Array(lines.length));
  }

  /** Must be called once, before anything else. */
  *read(): InSteps<void> {
    for (const { lines } of this.#texts) this.#exact.push(yield* this.#named(lines));
    for (const [index, { lines }] of this.#texts.entries()) {
      const bare = yield* withoutNumbers(lines, this.#steps);
      const exact = this.#exact[index] ?? new Int32Array();
      this.#bare.push(bare === lines ? exact : yield* this.#named(bare));
    }
  }

  *#named(lines: readonly string[]): InSteps<Int32Array> {
    const numbers = new Int32Array(lines.length);
    for (const [index, line] of lines.entries()) {
      const known = this.#names.get(line);
      numbers[index] = known ?? this.#names.size;
      if (known === undefined) this.#names.set(line, this.#names.size);
      if (this.#steps.isOver(1)) yield;
    }
    return numbers;
  }

  *runsOf(index: number): InSteps<readonly RepeatedRun[]> {
    const text = this.#texts[index];
    const runs: RepeatedRun[] = [];
    let line = 0;
    while (text !== undefined && line < text.lines.length) {
      if (this.#steps.isOver(1 + this.#compared)) yield;
      this.#compared = 0;
      const run = text.mayGo(line) ? this.#bestRun(index, line, runs.at(-1)?.to ?? 0) : undefined;
      if (run === undefined) {
        line++;
        continue;
      }
      runs.push(run);
      this.#isLeftOut[index]?.fill(1, run.from, run.to);
      line = run.to;
    }
    return runs;
  }

  #bestRun(index: number, line: number, floor: number): RepeatedRun | undefined {
    const { lines = [], files = [] } = this.#texts[index] ?? {};
    if (lines[line]?.trim() === "") return undefined;
    const bare = this.#bare[index]?.[line];
    const exact = blockKey(this.#exact[index], line);
    const places = files.flatMap((file) => this.#byLine.get(`${bare}\0${file}`) ?? []);
    const candidates = [
      ...places.map((place) => this.#grown({ text: index, line }, place, this.#bare, floor)),
      ...(this.#byBlock.get(exact) ?? []).map((place) =>
        this.#grown({ text: index, line }, place, this.#exact, floor),
      ),
    ];
    let best: RepeatedRun | undefined;
    for (const run of candidates)
      if (best === undefined || run.to - run.from > best.to - best.from) best = run;
    return best !== undefined && this.#isWorthIt(index, best) ? best : undefined;
  }

  /** Extends the run in both directions while the lines are equal and the later text still contains them. */
  #grown(here: Place, there: Place, keys: readonly Int32Array[], floor: number): RepeatedRun {
    const [own, other] = [keys[here.text], keys[there.text]];
    const mayGo = this.#texts[here.text]?.mayGo ?? (() => false);
    const isGone = this.#isLeftOut[there.text];
    const isSame = (step: number): boolean => {
      const [line, later] = [here.line + step, there.line + step];
      if (line < floor || later < 0) return false;
      const key = own?.[line];
      return key !== undefined && key === other?.[later] && isGone?.[later] !== 1 && mayGo(line);
    };
    let [before, behind] = [0, 1];
    while (isSame(before - 1)) before--;
    while (isSame(behind)) behind++;
    this.#compared += behind - before;
    return { from: here.line + before, to: here.line + behind, text: there.text };
  }

  #isWorthIt(index: number, { from, to, text }: RepeatedRun): boolean {
    const [own, later] = [this.#texts[index], this.#texts[text]];
    const run = own?.lines.slice(from, to) ?? [];
    const lines = run.filter((line) => line.trim() !== "").length;
    const whole = run.join("\n");
    const tokens = this.#count(whole);
    this.#compared += whole.length / charsPerLine;
    const isOneFile = own?.files.some((file) => later?.files.includes(file)) === true;
    if (!isOneFile) return lines >= ofAny.lines && tokens >= ofAny.tokens;
    return (lines >= ofFile.lines || tokens >= ofFile.tokens) && tokens >= ofFile.least;
  }

  /** From now on, earlier texts may refer to the lines of this text that are still in the view. */
  *add(index: number): InSteps<void> {
    const { lines = [], files = [] } = this.#texts[index] ?? {};
    const isGone = this.#isLeftOut[index];
    let there = 0;
    for (let line = lines.length - 1; line >= 0; line--) {
      if (this.#steps.isOver(1)) yield;
      there = isGone?.[line] === 1 ? 0 : there + 1;
      if (there === 0) continue;
      const bare = this.#bare[index]?.[line];
      if (lines[line]?.trim() !== "")
        for (const file of files) pushTo(this.#byLine, `${bare}\0${file}`, { text: index, line });
      if (there >= ofAny.lines)
        pushTo(this.#byBlock, blockKey(this.#exact[index], line), { text: index, line });
    }
  }
}

function blockKey(keys: Int32Array | undefined, line: number): string {
  return keys === undefined ? "" : keys.subarray(line, line + ofAny.lines).join(",");
}

function pushTo(places: Map<string, Place[]>, key: string, place: Place): void {
  const known = places.get(key);
  if (known === undefined) places.set(key, [place]);
  else if (known.length < placesMax) known.push(place);
}

/** Line numbers as `cat -n`, `nl` and the tools of agents print them. */
const numbered = /^(?: *(\d+)(?:\t|→)|(\d+)[:|] ?)/;
/** A text is treated as numbered only if at least this share of its lines begins with a number. */
const numberedShare = 0.9;

const padding = /^ +\d+(?:\t|→)|^\d{6,}\t|^\d+(?:→|[:|])/;

/** Returns the lines unchanged if they are not numbered consecutively. */
function* withoutNumbers(lines: readonly string[], steps: Steps): InSteps<readonly string[]> {
  let isPadded = false;
  let previous: number | undefined;
  let inOrder = 0;
  let filled = 0;
  for (const line of lines) {
    if (steps.isOver(1)) yield;
    if (line.trim() === "") continue;
    filled++;
    isPadded ||= padding.test(line);
    const [, padded, bare] = numbered.exec(line) ?? [];
    const number = padded ?? bare;
    if (number === undefined) continue;
    if (previous === undefined || Number(number) === previous + 1) inOrder++;
    previous = Number(number);
  }
  const isNumbered = isPadded && inOrder >= 3 && inOrder >= filled * numberedShare;
  return isNumbered ? lines.map((line) => line.replace(numbered, "")) : lines;
}
