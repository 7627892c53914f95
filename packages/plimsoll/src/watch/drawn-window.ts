/** How a window is drawn on every screen: what the whole drawing represents, and what is beyond the limit. Pure. */

export interface WindowSize {
  readonly tokens: number;
  /** The limit in tokens, or 0 if it is not known yet. */
  readonly limit: number;
  /** Size of the window in tokens, or 0 if it is not known yet. */
  readonly window: number;
  /** The limit that the window alone would give. Undefined if no lower limit of the user applies. */
  readonly windowLimit?: number | undefined;
}

export interface DrawnWindow {
  /** What the whole drawing represents, in tokens. Everything up to the limit is drawn to this scale. */
  readonly capacity: number;
  /** The parts of the window after the limit and after the content, in order. */
  readonly beyond: readonly BeyondLimit[];
}

/** beyond-limit: the user's own limit rules it out. answer: the window has it, but the answer needs it. */
export interface BeyondLimit {
  readonly kind: "beyond-limit" | "answer";
  /** Where the part begins and ends in the drawing. */
  readonly from: number;
  readonly to: number;
  /** The real size of the part. It may be drawn smaller than that. */
  readonly tokens: number;
}

/** If the limit is below this share of the window, the rest of the window is drawn smaller than it is. */
const farBelow = 0.6;
/** The share of the drawing that the rest of the window then gets. */
const shareBeyond = 0.1;
/** If the window is not known, the drawing ends this far after the limit, so that the load line is visible. */
const afterLimit = 1.04;

export function drawWindow({ tokens, limit, window, windowLimit }: WindowSize): DrawnWindow {
  const edge = Math.max(limit, tokens);
  const rest = window - edge;
  if (limit <= 0 || rest <= 0)
    return { capacity: Math.max(1, edge, window > 0 ? 0 : limit * afterLimit), beyond: [] };
  const isFarBelow = limit < window * farBelow;
  const drawn = isFarBelow ? Math.min(rest, (edge * shareBeyond) / (1 - shareBeyond)) : rest;
  const ruledOut = Math.max(0, Math.min(rest, (windowLimit ?? 0) - edge));
  const middle = edge + drawn * (ruledOut / rest);
  const beyond: readonly BeyondLimit[] = [
    { kind: "beyond-limit", from: edge, to: middle, tokens: ruledOut },
    { kind: "answer", from: middle, to: edge + drawn, tokens: rest - ruledOut },
  ];
  return { capacity: edge + drawn, beyond: beyond.filter((part) => part.tokens > 0) };
}

export function beyondWords({ kind }: Pick<BeyondLimit, "kind">): string {
  return kind === "answer" ? "kept for the answer" : "beyond your limit";
}
