import { expect, test } from "vitest";
import { createSseReader, maxEventBytes, type SseEvent } from "./sse.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function read(text: string, step: number): readonly SseEvent[] {
  const events: SseEvent[] = [];
  const reader = createSseReader((event) => events.push(event));
  const bytes = bytesOf(text);
  for (let start = 0; start < bytes.length; start += step)
    reader.push(bytes.subarray(start, start + step));
  return events;
}

test("where an event begins is known, however its bytes arrive and its lines end", () => {
  for (const lineEnd of ["\n", "\r\n", "\r"]) {
    const first = ["event: a", "data: 1", "", ": comment", ""].join(lineEnd) + lineEnd;
    const second = ["id: 7", "data: ö", "data: 2", ""].join(lineEnd) + lineEnd;
    const text = first + second;
    for (const step of [1, 2, 3, 1000]) {
      const events = read(text, step);
      expect(events).toMatchObject([
        { name: "a", data: "1", start: 0 },
        { name: "", data: "ö\n2", start: first.length },
      ]);
    }
  }
});

test("an event that is too large is passed over, and the stream goes on", () => {
  const piece = new Uint8Array(1024 * 1024).fill(0x78);
  const events: SseEvent[] = [];
  const reader = createSseReader((event) => events.push(event));
  reader.push(bytesOf("data: "));
  for (let sent = 0; sent <= maxEventBytes; sent += piece.length) reader.push(piece);
  reader.push(bytesOf("\n\ndata: next\n\n"));
  expect(events.map(({ data }) => data)).toEqual(["next"]);
});
