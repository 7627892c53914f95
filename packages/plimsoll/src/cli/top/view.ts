/**
 * The terminal screen of `plimsoll top`: draws when the state or the size
 * changes, forwards keys, and restores the terminal at the end.
 */

import { emitKeypressEvents, type Interface, type Key as PressedKey } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import type { Key } from "./keys.ts";
import type { Size } from "./lines.ts";
import { changes, rowText } from "./paint.ts";
import { screenLines } from "./screen.ts";
import type { TopState } from "./state.ts";

export interface ViewOptions {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly hasColour: boolean;
  readonly read: () => TopState;
  /** Calls `changed` whenever a new state can be read. Returns a function that unsubscribes. */
  readonly subscribe: (changed: () => void) => () => void;
  readonly press: (key: Key) => void;
}

export interface View {
  close(): void;
  /** Contract: when this promise settles, the terminal is as it was before. It rejects if the screen could not be drawn. */
  readonly closed: Promise<void>;
}

/** Switches to the alternate screen, hides the cursor, turns on marks around pasted text, and turns off line wrapping. */
const take = "\u001b[?1049h\u001b[?25l\u001b[?2004h\u001b[?7l";
const giveBack = "\u001b[?7h\u001b[?2004l\u001b[?25h\u001b[?1049l";
/** Minimum time between two frames. */
const frameMs = 30;
/** The size to assume if the terminal does not report one. */
const usualSize: Size = { columns: 80, rows: 24 };

export function openView(options: ViewOptions): View {
  const { input, output } = options;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const close = (error?: unknown): void => {
    for (const end of endings.splice(0)) end();
    if (error === undefined) resolve();
    else reject(error);
  };
  const leave = (): void => close();
  const drawing = startDrawing(options, close);
  const release = (): void => {
    input.setRawMode(false);
    output.write(giveBack);
  };
  const hold = (): void => {
    input.setRawMode(true);
    output.write(take);
    drawing.afresh();
  };
  const endings = [
    drawing.stop,
    on(input, "end", leave),
    hearKeys(options, leave),
    // While this process was stopped, another program used the terminal.
    on(process, "SIGCONT", hold),
    on(process, "exit", release),
    release,
  ];
  // If the user closes the window, the terminal is gone, and it cannot be restored either.
  on(output, "error", leave);
  on(input, "error", leave);
  hold();
  return { close: leave, closed: promise };
}

interface Drawing {
  /** Draws all rows again soon, because the terminal may show something else. */
  afresh(): void;
  stop(): void;
}

function startDrawing(
  { output, hasColour, read, subscribe }: ViewOptions,
  fail: (error: unknown) => void,
): Drawing {
  const painter = createPainter(output, hasColour);
  let timer: NodeJS.Timeout | undefined;
  const draw = (): void => {
    timer = undefined;
    // On a slow connection, the next frame is drawn only when the last one was received. It then shows the newest state.
    if (output.writableNeedDrain) return;
    try {
      painter.paint(read());
    } catch (error) {
      fail(error);
    }
  };
  const soon = (): void => {
    timer ??= setTimeout(draw, frameMs);
  };
  const afresh = (): void => {
    painter.forget();
    soon();
  };
  const endings = [subscribe(soon), on(output, "resize", afresh), on(output, "drain", soon)];
  const stop = (): void => {
    for (const end of endings) end();
    clearTimeout(timer);
  };
  return { afresh, stop };
}

function on(
  emitter: NodeJS.EventEmitter,
  event: string,
  listener: (...words: never[]) => void,
): () => void {
  emitter.on(event, listener as () => void);
  return () => void emitter.off(event, listener as () => void);
}

interface Painter {
  paint(state: TopState): void;
  /** Makes the next `paint` draw all rows, because the terminal may show something else. */
  forget(): void;
}

function createPainter(output: WriteStream, hasColour: boolean): Painter {
  let shown: readonly string[] | undefined;
  return {
    paint: (state) => {
      const columns = output.columns || usualSize.columns;
      const rows = output.rows || usualSize.rows;
      const next = screenLines(state, { columns, rows }).map((line) =>
        rowText(line, columns, hasColour),
      );
      const bytes = changes(shown, next);
      shown = next;
      if (bytes !== "") output.write(bytes);
    },
    forget: () => {
      shown = undefined;
    },
  };
}

/** Maximum number of keys at once. More keys must be pasted text, in a terminal that does not mark pastes. */
const mostKeys = 16;
/**
 * Time to wait after an escape character. If nothing follows in this time, the user pressed the escape key. Otherwise the
 * character begins a sequence.
 */
const escapeMs = 50;

/** Listens to keys. Returns a function that stops listening. */
function hearKeys({ input, press }: ViewOptions, leave: () => void): () => void {
  let isPasting = false;
  let pressed: Key[] = [];
  const pressAll = (): void => {
    const keys = pressed;
    pressed = [];
    if (keys.length <= mostKeys) for (const key of keys) press(key);
  };
  const heard = (character: string | undefined, key: PressedKey): void => {
    if (key.ctrl === true && key.name === "c") leave();
    // Pasted text is not a command.
    if (key.name === "paste-start" || key.name === "paste-end")
      isPasting = key.name === "paste-start";
    const known = isPasting ? undefined : keyOf(character, key);
    if (known === undefined) return;
    // Over a slow connection, several keys may arrive together.
    if (pressed.length === 0) setImmediate(pressAll);
    pressed.push(known);
  };
  // Node reads only this field of a readline interface. A real interface would keep the typed text.
  emitKeypressEvents(input, { escapeCodeTimeout: escapeMs } as unknown as Interface);
  const end = on(input, "keypress", heard);
  input.resume();
  return () => {
    end();
    pressed = [];
    input.pause();
  };
}

const named: Readonly<Record<string, Key>> = {
  up: "up",
  down: "down",
  pageup: "page-up",
  pagedown: "page-down",
  return: "enter",
  enter: "enter",
  escape: "escape",
};

function keyOf(
  character: string | undefined,
  { name = "", ctrl, meta }: PressedKey,
): Key | undefined {
  const known = named[name];
  if (known !== undefined) return known;
  if (ctrl === true || meta === true || character === undefined) return undefined;
  return { character };
}
