/** What runs inside of the dashboard's page while it is measured. Contract: each function stands alone, because it is sent there as text. */

/** What a page came to show of one session. */
export interface Shown {
  readonly session: string;
  /** The words of the phase; empty: none is shown. */
  readonly phase: string;
  /** Of the bar: tokens and limit; absent on the session's own page. */
  readonly tokens?: number;
  readonly limit?: number;
  /** The cell of the last turn: its outcome, or that one runs. */
  readonly outcome?: string;
  /** When it was written into the document, in milliseconds since 1970. */
  readonly writtenAt: number;
  /** When the frame after the one that shows it began; absent: it was overwritten before it could be painted. */
  readonly at?: number;
}

/** How a page came to its first picture, in milliseconds since it was asked for. */
export interface Painted {
  /** The frame after the first one that had the picture and rows in the list. */
  readonly shown: number;
  /** The link was clicked; 0: the page was opened there. */
  readonly clicked: number;
  readonly firstContent: number;
  /** The picture's own request: when it was sent, when its answer began, when it was there. */
  readonly asked: number;
  readonly answered: number;
  readonly received: number;
}

export interface Scrolled {
  /** From each frame to the next, in milliseconds. */
  readonly frames: readonly number[];
  /** Tasks of 50 ms and more, as the browser counts them. */
  readonly longTasks: readonly number[];
}

/** What the functions below leave in the page, to be fetched later. */
export interface PageNotes {
  benchShown: Shown[];
  benchPainted: Painted | undefined;
  benchFrames: number[];
  benchLongTasks: number[];
  benchStop: () => void;
}

// Of the browser's own types, what is used here: the rest of the benchmark has no window.
interface PageElement {
  readonly textContent: string;
  readonly isConnected: boolean;
  getAttribute(name: string): string | null;
  closest(selector: string): PageElement | null;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): ArrayLike<PageElement> & Iterable<PageElement>;
  matches?(selector: string): boolean;
  readonly parentElement: PageElement | null;
}
interface Change {
  readonly target: PageElement;
  readonly addedNodes: Iterable<PageElement>;
}
declare const document: PageElement & {
  addEventListener(type: string, handler: () => void, isCapture: boolean): void;
};
declare const location: { readonly hash: string };
declare const requestAnimationFrame: (work: () => void) => void;
declare const MutationObserver: new (
  take: (changes: readonly Change[]) => void,
) => { observe(target: object, options: object): void };
declare const CanvasRenderingContext2D: {
  readonly prototype: { fillRect(...box: readonly number[]): void };
};

/** Notes what each row, or the panel of a session's page, came to show, and which frame painted it. */
export function noteRows(): void {
  const notes = globalThis as unknown as PageNotes;
  notes.benchShown = [];
  let written: Omit<Shown, "at">[] = [];
  let isAsked = false;
  let panel = "";

  const readRow = (row: PageElement, writtenAt: number): Omit<Shown, "at"> => {
    const bar = row.querySelector("[role=meter]");
    return {
      session: row.getAttribute("data-session") ?? "",
      phase: row.querySelector(".phase .words")?.textContent.trim() ?? "",
      tokens: Number(bar?.getAttribute("aria-valuenow")),
      limit: Number(bar?.getAttribute("aria-valuemax")),
      outcome: row.querySelector("td.outcome")?.textContent.trim() ?? "",
      writtenAt,
    };
  };
  const readPanel = (writtenAt: number): readonly Omit<Shown, "at">[] => {
    const [, session = ""] = /^#\/session\/([^/]+)/.exec(location.hash) ?? [];
    const phase = document.querySelector("section.run .message")?.textContent.trim() ?? "";
    const isSame = phase === panel;
    panel = phase;
    return isSame ? [] : [{ session, phase, writtenAt }];
  };
  const rowOf = (node: PageElement): PageElement | null | undefined =>
    node.closest === undefined
      ? node.parentElement?.closest("[data-session]")
      : node.closest("[data-session]");
  // What stands there when a frame begins is what that frame paints; the next one begins behind it.
  const paint = (): void => {
    const all = written;
    written = [];
    isAsked = false;
    const last = new Map(all.map((one) => [one.session, one]));
    requestAnimationFrame(() => {
      const at = Date.now();
      for (const one of all)
        notes.benchShown.push(last.get(one.session) === one ? { ...one, at } : one);
    });
  };
  const watch = new MutationObserver((changes) => {
    const nodes = changes.flatMap(({ target, addedNodes }) => [target, ...addedNodes]);
    const rows = new Set(nodes.map(rowOf).filter((row) => row?.isConnected === true));
    const now = Date.now();
    for (const row of rows) if (row) written.push(readRow(row, now));
    written.push(...readPanel(now));
    if (isAsked || written.length === 0) return;
    isAsked = true;
    requestAnimationFrame(paint);
  });
  watch.observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
  });
}

/** Takes what was noted so far. */
export function takeShown(): readonly Shown[] {
  const notes = globalThis as unknown as PageNotes;
  return notes.benchShown.splice(0);
}

/** Notes when the picture is drawn, which is done in one go, and the list of its units has rows. */
export function notePicture(): void {
  const notes = globalThis as unknown as PageNotes;
  const sheet = CanvasRenderingContext2D.prototype;
  const { fillRect } = sheet;
  let isDrawn = false;
  let isOver = false;
  let clicked = 0;
  sheet.fillRect = function (...box) {
    isDrawn = true;
    fillRect.apply(this, box as number[]);
  };
  document.addEventListener(
    "click",
    () => {
      clicked = performance.now();
    },
    true,
  );
  const finish = (): void => {
    const entries = performance.getEntries() as unknown as readonly {
      readonly name: string;
      readonly startTime: number;
      readonly responseStart: number;
      readonly responseEnd: number;
    }[];
    const request = entries.find(({ name }) => name.includes("/window"));
    notes.benchPainted = {
      shown: performance.now(),
      clicked,
      firstContent: entries.find(({ name }) => name === "first-contentful-paint")?.startTime ?? 0,
      asked: request?.startTime ?? 0,
      answered: request?.responseStart ?? 0,
      received: request?.responseEnd ?? 0,
    };
  };
  // Asked when something has changed: frames of its own would take the time of what is waited for.
  const watch = new MutationObserver(() => {
    if (isOver || !isDrawn || document.querySelector("[role=option]") === null) return;
    isOver = true;
    requestAnimationFrame(() => requestAnimationFrame(finish));
  });
  watch.observe(document, { subtree: true, childList: true, attributes: true });
}

/** Begins to note frames and long tasks. */
export function noteFrames(): void {
  const notes = globalThis as unknown as PageNotes;
  notes.benchFrames = [];
  notes.benchLongTasks = [];
  let isWatched = true;
  let last: number | undefined;
  const frame = (): void => {
    const now = performance.now();
    if (last !== undefined) notes.benchFrames.push(now - last);
    last = now;
    if (isWatched) requestAnimationFrame(frame);
  };
  const watch = new PerformanceObserver((list) =>
    notes.benchLongTasks.push(...list.getEntries().map(({ duration }) => duration)),
  );
  watch.observe({ type: "longtask" } as unknown as Parameters<typeof watch.observe>[0]);
  notes.benchStop = () => {
    isWatched = false;
    watch.disconnect();
  };
  requestAnimationFrame(frame);
}

/** Ends it. */
export function takeFrames(): Scrolled {
  const notes = globalThis as unknown as PageNotes;
  notes.benchStop();
  return { frames: notes.benchFrames, longTasks: notes.benchLongTasks };
}

/** How many of the picture's points are not empty, in a row of them. */
export function countPainted(): number {
  const canvas = document.querySelector("canvas") as unknown as {
    readonly width: number;
    getContext(kind: "2d"): {
      getImageData(...box: readonly number[]): { readonly data: Uint8ClampedArray };
    };
  };
  const { data } = canvas.getContext("2d").getImageData(0, 12, canvas.width, 1);
  return data.filter((value, index) => index % 4 === 3 && value > 0).length;
}
