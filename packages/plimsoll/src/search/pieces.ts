/**
 * Cuts long text into pieces that can be found and read separately. A piece begins and ends where a reader would: at sentences in
 * prose, at lines in output, at records and members in JSON.
 */

import { type JsonNode, readJson, readJsonLines } from "../text/json-tree.ts";
import { sentencesIn } from "../text/sentences.ts";
import { paragraphsOf } from "../text/wrapped-lines.ts";

export interface Piece {
  readonly start: number;
  readonly end: number;
}

/** prose: words of a person or a model. output: everything else, such as the result of a tool or the arguments of a call. */
export type TextKind = "prose" | "output";

/** Target size of a piece in characters, about 80 tokens: a few lines of code or output, or a whole short message. */
const pieceChars = 300;
/** Paragraphs, lines and sentences of up to this many characters stay whole. Longer ones are cut. */
const wholeChars = 1_500;
/**
 * JSON records of up to this many characters stay whole. Of longer records, whole members are found. With 1,500 characters, a
 * search in tau-bench supplies 1.2 % fewer of the names that are needed later.
 */
const recordChars = 600;

/** A part of a text that stays whole. Neighbouring units share a piece if they have the same group and are short enough. */
interface Unit extends Piece {
  readonly group: number;
}

/**
 * Contract: pieces are in order, do not overlap, and contain more than white space. Only white space between them is left out, and
 * the commas between JSON values. A word is cut only if it is longer than 1,500 characters, because then it is data.
 */
export function piecesOf(text: string, kind: TextKind): readonly Piece[] {
  const pieces: Piece[] = [];
  let open: Unit | undefined;
  const close = (): void => {
    if (open !== undefined && /\S/.test(text.slice(open.start, open.end)))
      pieces.push({ start: open.start, end: open.end });
  };
  for (const unit of unitsOf(text, kind)) {
    if (open?.group === unit.group && unit.end - open.start <= pieceChars)
      open = { ...open, end: unit.end };
    else {
      close();
      open = unit;
    }
  }
  close();
  return pieces;
}

function unitsOf(text: string, kind: TextKind): readonly Unit[] {
  if (kind === "output") {
    const records = jsonUnits(text, 0);
    if (records !== undefined) return records;
  }
  const lines = text.split("\n");
  const paragraphs =
    kind === "prose" ? paragraphsOf(lines) : lines.map((_, line) => [line, line] as const);
  const units: Unit[] = [];
  let start = 0;
  let group = 0;
  for (const [first, last] of paragraphs) {
    let end = start - 1;
    for (let line = first; line <= last; line++) end += (lines[line]?.length ?? 0) + 1;
    if (end - start <= wholeChars) units.push({ start, end, group });
    else {
      for (const unit of unitsInLong(text.slice(start, end), kind, { start, group: group + 1 }))
        units.push(unit);
      group = (units.at(-1)?.group ?? group) + 1;
    }
    start = end + 1;
  }
  return units;
}

interface Place {
  /** Position of the part in the whole text. */
  readonly start: number;
  readonly group: number;
}

/** The units of a paragraph or a line that is too long to stay whole. */
function unitsInLong(part: string, kind: TextKind, { start, group }: Place): readonly Unit[] {
  const records = kind === "output" ? jsonUnits(part, group) : undefined;
  const units = records ?? sentenceUnits(part, group);
  return units.map((unit) => ({
    ...unit,
    start: start + unit.start,
    end: start + unit.end,
  }));
}

function sentenceUnits(text: string, group: number): readonly Unit[] {
  let end = 0;
  return sentencesIn(text).flatMap((sentence) => {
    const start = end;
    end += sentence.length;
    return end - start <= wholeChars
      ? [{ start, end, group }]
      : cutSentence(text, { start, end }).map((piece) => ({ ...piece, group }));
  });
}

/** Whole records, or whole members of records that are too long. Undefined if the text is not JSON. */
function jsonUnits(text: string, group: number): readonly Unit[] | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  const root = readJson(text);
  const roots = root === undefined ? readJsonLines(text) : [root];
  if (roots === undefined) return undefined;
  const units: Unit[] = [];
  // An explicit stack, because JSON can be nested deeper than the call stack allows.
  const stack = roots.toReversed().map((node): Open => {
    return { node, group, start: node.from, end: node.end };
  });
  let groups = group;
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { node, start, end } = next;
    if (end - start <= recordChars) units.push({ start, end, group: next.group });
    else if (node.children.length === 0)
      for (const piece of cutSentence(text, next)) units.push({ ...piece, group: ++groups });
    else for (const value of inside(next, ++groups)) stack.push(value);
  }
  return units;
}

interface Open extends Unit {
  readonly node: JsonNode;
}

/** The values in a container, last first. The first value has what opens the container, and the last has what closes it. */
function inside({ node, start, end }: Open, group: number): readonly Open[] {
  const last = node.children.length - 1;
  return node.children
    .map((child, index) => ({
      node: child,
      group,
      start: index === 0 ? start : child.from,
      end: index === last ? end : child.end,
    }))
    .toReversed();
}

/** Places to cut a long sentence or value, best first: a line end in quoted text, the end of a JSON value, of a clause, of a word. */
const cutPlaces = [/\\n/g, /[}\]],?/g, /[.!?,;。、，]\s|[。、，]/g, /\s/g];

function cutSentence(text: string, { start: from, end: to }: Piece): readonly Piece[] {
  const cuts: Piece[] = [];
  let start = from;
  let isData = false;
  while (to - start > pieceChars) {
    const reach = text.slice(start, Math.min(to, start + wholeChars));
    const length = cutLength(reach);
    isData = length === undefined && (isData || reach.length === wholeChars);
    const end = start + (length ?? (isData ? wholeCharacters(reach) : reach.length));
    cuts.push({ start, end });
    start = end;
  }
  if (start < to) cuts.push({ start, end: to });
  return cuts;
}

/** Undefined if the text is a single word. */
function cutLength(text: string): number | undefined {
  const usual = text.slice(0, pieceChars);
  for (const place of cutPlaces) {
    const last = [...usual.matchAll(place)].at(-1);
    const end = last === undefined ? 0 : last.index + last[0].length;
    if (end > pieceChars / 3) return end;
  }
  const wordEnd = /\S\s/.exec(text)?.index;
  return wordEnd === undefined ? undefined : wordEnd + 2;
}

/** The usual length, or one less, so that no surrogate pair is split. */
function wholeCharacters(text: string): number {
  return /[\ud800-\udbff]$/.test(text.slice(0, pieceChars)) ? pieceChars - 1 : pieceChars;
}
