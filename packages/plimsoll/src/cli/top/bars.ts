/** Bars that show how full a window is, with the load line at its limit, and bars that show its content. Pure. */

import type { SegmentKind, WindowPicture } from "../../message/api.ts";
import { drawWindow, type WindowSize } from "../../watch/drawn-window.ts";
import { kindLetter } from "../../watch/kind-words.ts";
import { type Line, type Span, span, type Tone } from "./lines.ts";

/** The load line, like the mark on a ship's hull. */
const loadLine = "│";

/** Fills the cells beyond the limit. */
const beyondLimit = "╱";

/** A bar for the window, filled in proportion to the tokens in use. */
export function fillBar(size: WindowSize, tone: Tone, cells: number): Line {
  const { tokens, limit } = size;
  const inner = Math.max(1, cells - 1);
  const scale = drawWindow(size).capacity;
  const full = Math.round(Math.min(1, tokens / scale) * inner);
  // Even a small number of tokens fills one cell, so that it is visible.
  const filled = tokens > 0 ? Math.max(1, full) : 0;
  const at = Math.round((limit / scale) * inner);
  const piece = (from: number, to: number, empty: string): Line => [
    span("■".repeat(Math.max(0, Math.min(to, filled) - from)), tone),
    span(empty.repeat(Math.max(0, to - Math.max(from, filled))), "dim"),
  ];
  return [
    ...piece(0, at, "·"),
    span(loadLine, "strong"),
    ...piece(at, inner, limit > 0 ? beyondLimit : "·"),
  ];
}

/** `progress` is in percent, from 0 to 100. A negative value means that the progress is unknown. */
export function progressBar(progress: number, tone: Tone, cells: number): Line {
  if (progress < 0) return [span("▒".repeat(cells), tone)];
  const full = Math.round((Math.min(100, progress) / 100) * cells);
  return [span("■".repeat(full), tone), span("·".repeat(cells - full), "dim")];
}

/** A bar of the window's content by kind. Each stretch of one kind begins with the letter of that kind. */
export function pictureBar(picture: WindowPicture, cells: number): Line {
  const { limit } = picture;
  const inner = Math.max(1, cells - 1);
  const scale = drawWindow(picture).capacity;
  const kindByCell = cellKinds(picture, scale / inner);
  const at = Math.round((Math.min(limit, scale) / scale) * inner);
  const drawn = Array.from({ length: inner }, (_, index): Span => {
    const kind = kindByCell[index];
    if (kind === undefined) return span(index < at || limit <= 0 ? "░" : beyondLimit, "dim");
    if (kind !== kindByCell[index - 1])
      return { text: kindLetter(kind), tone: kind, isBlock: true };
    return span("█", kind);
  });
  return merged([...drawn.slice(0, at), span(loadLine, "strong"), ...drawn.slice(at)]);
}

/** For each cell, the kind that has the largest share of it. */
function cellKinds({ units, tokens }: WindowPicture, perCell: number): readonly SegmentKind[] {
  const count = Math.ceil(tokens / perCell - 0.5);
  const shares = Array.from({ length: Math.max(0, count) }, () => new Map<SegmentKind, number>());
  let position = 0;
  for (const { segments } of units)
    for (const { kind, tokens: own } of segments) {
      const end = position + own;
      for (let cell = Math.floor(position / perCell); cell * perCell < end; cell++) {
        const share = Math.min(end, (cell + 1) * perCell) - Math.max(position, cell * perCell);
        const sums = shares[cell];
        sums?.set(kind, (sums.get(kind) ?? 0) + share);
      }
      position = end;
    }
  return shares.map(largest);
}

function largest(sums: ReadonlyMap<SegmentKind, number>): SegmentKind {
  let best: SegmentKind = "user";
  for (const [kind, tokens] of sums) if (tokens > (sums.get(best) ?? 0)) best = kind;
  return best;
}

function merged(spans: readonly Span[]): Line {
  const all: Span[] = [];
  for (const piece of spans) {
    const last = all.at(-1);
    const isSame = last !== undefined && last.tone === piece.tone && last.isBlock === piece.isBlock;
    if (isSame) all[all.length - 1] = { ...last, text: last.text + piece.text };
    else all.push(piece);
  }
  return all;
}
