/** The screen drawn by ink: lines of text as they are, with colours where they are wanted, and the keys. */

import { Box, type Key as InkKey, Text, useInput, usePaste, useWindowSize } from "ink";
import { createElement as h, type ReactNode, useSyncExternalStore } from "react";
import type { Key } from "./keys.ts";
import type { Line, Span, Tone } from "./lines.ts";
import { screenLines } from "./screen.ts";
import type { TopState } from "./state.ts";

export interface TopViewProps {
  readonly hasColour: boolean;
  readonly read: () => TopState;
  /** Calls back whenever another state can be read; answers how to end it. */
  readonly subscribe: (changed: () => void) => () => void;
  readonly press: (key: Key) => void;
}

interface Look {
  readonly color?: string;
  readonly bold?: true;
  readonly dimColor?: true;
}

/** The sixteen colours that every terminal has, as its user chose them. */
const looks: Readonly<Record<Tone, Look>> = {
  dim: { dimColor: true },
  strong: { bold: true },
  normal: { color: "blueBright" },
  p1: { color: "green" },
  warning: { color: "yellow" },
  recovery: { color: "red" },
  system: { color: "magenta" },
  skills: { color: "magentaBright" },
  tools: { color: "cyan" },
  user: { color: "green" },
  assistant: { color: "blueBright" },
  results: { color: "yellow" },
  summary: { color: "whiteBright" },
  handle: { color: "gray" },
};

export function TopView({ hasColour, read, subscribe, press }: TopViewProps): ReactNode {
  const state = useSyncExternalStore(subscribe, read);
  const size = useWindowSize();
  useInput((input, key) => {
    for (const pressed of keysOf(input, key)) press(pressed);
  });
  // What is pasted is no command.
  usePaste(() => undefined);
  const lines = screenLines(state, size);
  return h(
    Box,
    { flexDirection: "column", height: size.rows },
    ...lines.map((line, index) =>
      // An empty text would take no row.
      h(Box, { key: index, height: 1, flexShrink: 0 }, textOf(line, hasColour)),
    ),
  );
}

function textOf(line: Line, hasColour: boolean): ReactNode {
  const pieces = line.map((piece, index) =>
    h(Text, { key: index, ...lookOf(piece, hasColour) }, piece.text),
  );
  return h(Text, { wrap: "truncate" }, ...(pieces.length === 0 ? [" "] : pieces));
}

function lookOf(
  { tone, isBlock }: Span,
  hasColour: boolean,
): Look & { readonly backgroundColor?: string } {
  if (!hasColour || tone === undefined) return {};
  const look = looks[tone];
  return isBlock === true && look.color !== undefined
    ? { color: "black", backgroundColor: look.color }
    : look;
}

/** More at once is nobody's hand: a paste, in a terminal that does not say so. */
const mostKeys = 16;

/** Over a slow line several keys come at once. */
function keysOf(input: string, key: InkKey): readonly Key[] {
  if (key.upArrow) return ["up"];
  if (key.downArrow) return ["down"];
  if (key.pageUp) return ["page-up"];
  if (key.pageDown) return ["page-down"];
  if (key.return) return ["enter"];
  if (key.escape) return ["escape"];
  if (key.ctrl || key.meta || input.length > mostKeys) return [];
  return [...input].map((character) => (character === "\r" ? "enter" : { character }));
}
