/** The framing of a streamed answer: how its events are written as bytes, and read from them. */

import { createJsonArrayReader } from "./json-array.ts";
import { createSseReader, type SseEvent, type SseReader, writeSse } from "./sse.ts";
import type { StreamEvent } from "./wire.ts";

export type FramingName = "events" | "json-array";

/** Writes one answer. */
export interface FrameWriter {
  write(events: readonly StreamEvent[]): string;
  /** A text without content, which shows the client that the connection is alive. */
  readonly alive: string;
  /** The text after the last event. */
  end(): string;
}

export interface Framing {
  createReader(onEvent: (event: SseEvent) => void, onAlive?: () => void): SseReader;
  createWriter(): FrameWriter;
}

const events: Framing = {
  createReader: createSseReader,
  createWriter: () => ({
    write: (all) => all.map(writeSse).join(""),
    alive: ": alive\n\n",
    end: () => "",
  }),
};

const jsonArray: Framing = {
  createReader: createJsonArrayReader,
  createWriter: () => {
    let hasBegun = false;
    return {
      write: (all) =>
        all
          .map(({ data }) => {
            const before = hasBegun ? ",\r\n" : "[";
            hasBegun = true;
            return before + data;
          })
          .join(""),
      alive: "\n",
      end: () => (hasBegun ? "]" : "[]"),
    };
  },
};

export const framings: Readonly<Record<FramingName, Framing>> = {
  events,
  "json-array": jsonArray,
};
