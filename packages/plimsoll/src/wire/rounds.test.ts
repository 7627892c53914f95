/** Several rounds become one answer, for every recorded stream of every wire and every pair of them. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isObject, type JsonObject, parseObject } from "../message/json.ts";
import { createSseReader, writeSse } from "./format/sse.ts";
import type { Answer, IsOwn, StreamEvent, Wire, WireName } from "./format/wire.ts";
import { wires } from "./wires.ts";

const streams = join(import.meta.dirname, "../../test/wire-fixtures/streams");
const wireNames = Object.keys(wires) as readonly WireName[];

function eventsOf(bytes: Uint8Array): readonly StreamEvent[] {
  const events: StreamEvent[] = [];
  createSseReader(({ name, data }) => events.push({ name, data })).push(bytes);
  return events;
}

interface Recorded {
  readonly name: string;
  readonly events: readonly StreamEvent[];
  readonly answer: Answer;
}

function recordedOn(wire: Wire): readonly Recorded[] {
  const folder = join(streams, wire.name);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".sse"))
    .map((name) => {
      const events = eventsOf(readFileSync(join(folder, name)));
      return { name, events, answer: heard(wire, events) };
    });
}

function heard(wire: Wire, events: readonly StreamEvent[]): Answer {
  const accumulator = wire.answer.open();
  for (const event of events) accumulator.take(event);
  return accumulator.finish();
}

/** The events that a client gets for these rounds, in order. Everything except the end is sent at once. */
function told(wire: Wire, rounds: readonly Recorded[], isOwn: IsOwn): readonly StreamEvent[] {
  const merger = wire.rounds.open(isOwn);
  const events = rounds.flatMap((round, index) => {
    if (index > 0) merger.next();
    return round.events.flatMap((event) => merger.take(event));
  });
  return [...events, ...merger.end()];
}

const nobodys: IsOwn = () => false;

function callNames(wire: Wire, { choices }: Answer): readonly string[] {
  const [messages = []] = choices;
  return messages.flatMap((message) => wire.messages.toolCalls(message).map(({ name }) => name));
}

for (const name of wireNames) {
  const wire = wires[name];
  const recorded = recordedOn(wire);
  const whole = recorded.filter(({ answer }) => answer.outcome === "message");
  // Plimsoll's tools are functions. Calls of another kind are never Plimsoll's, even if the name matches.
  const calling = whole
    .filter(({ answer }) => callNames(wire, answer).length > 0)
    .filter(({ name: stream }) => stream !== "custom-tool.sse");

  describe(name, () => {
    test("one round without calls of ours is told event by event as it came", () => {
      expect(whole.length).toBeGreaterThan(8);
      for (const { name: stream, events } of recorded) {
        const said = told(wire, [{ name: stream, events, answer: heard(wire, events) }], nobodys);
        expect(heard(wire, said), stream).toEqual(heard(wire, events));
        expect(said.every((event) => events.includes(event) || isHeld(event, events))).toBe(true);
      }
    });

    test("calls of ours are not told, whatever else the round says is", () => {
      expect(calling.length).toBeGreaterThan(0);
      for (const round of calling) {
        const names = new Set(callNames(wire, round.answer));
        const said = heard(
          wire,
          told(wire, [round], (tool) => names.has(tool)),
        );
        const [messages = []] = round.answer.choices;
        expect(callNames(wire, said), round.name).toEqual([]);
        expect(said.choices[0] ?? [], round.name).toEqual(
          wire.rounds.withoutOwnCalls(messages, (tool) => names.has(tool)),
        );
      }
    });

    test("of several calls only ours are left out, and the others are numbered from 0", () => {
      for (const round of calling) {
        const [own, ...others] = callNames(wire, round.answer);
        const isOwn: IsOwn = (tool) => tool === own && !others.includes(tool);
        const said = told(wire, [round], isOwn);
        expect(callNames(wire, heard(wire, said)), round.name).toEqual(
          callNames(wire, round.answer).filter((tool) => !isOwn(tool)),
        );
        expect(numbersOf(said), round.name).toEqual(range(numbersOf(said).length));
      }
    });

    test("two rounds are one answer: both say their part, the first gives the id, the second the end", () => {
      for (const first of calling)
        for (const second of whole) {
          const names = new Set(callNames(wire, first.answer));
          const isOwn: IsOwn = (tool) => names.has(tool);
          const said = heard(wire, told(wire, [first, second], isOwn));
          const pair = `${first.name} + ${second.name}`;
          expect(said.outcome, pair).toBe("message");
          expect(textOf(wire, said), pair).toBe(
            textOf(wire, first.answer) + textOf(wire, second.answer),
          );
          expect(said.response?.["id"], pair).toBe(first.answer.response?.["id"]);
          expect(said.usage?.inputTokens, pair).toBe(second.answer.usage?.inputTokens);
          if (second.answer.usage !== undefined)
            expect(said.usage?.outputTokens, pair).toBe(
              (first.answer.usage?.outputTokens ?? 0) + second.answer.usage.outputTokens,
            );
        }
    });

    test("in one piece it says the same as in a stream", () => {
      for (const first of calling)
        for (const second of whole) {
          const names = new Set(callNames(wire, first.answer));
          const isOwn: IsOwn = (tool) => names.has(tool);
          const bodies = [first, second].map(({ answer }) => answer.response ?? {});
          const merged = wire.rounds.merge(bodies as [JsonObject, JsonObject], isOwn);
          const streamed = heard(wire, told(wire, [first, second], isOwn));
          const whole = wire.answer.read(merged);
          const pair = `${first.name} + ${second.name}`;
          expect(whole.choices, pair).toEqual(streamed.choices);
          expect(whole.stopReason, pair).toBe(streamed.stopReason);
          expect(whole.usage?.outputTokens, pair).toBe(streamed.usage?.outputTokens);
          expect(whole.usage?.inputTokens, pair).toBe(streamed.usage?.inputTokens);
        }
    });

    test("events survive being written and read again", () => {
      for (const { events, name: stream } of recorded) {
        const text = events.map(writeSse).join("");
        expect(eventsOf(new TextEncoder().encode(text)), stream).toEqual(events);
      }
    });
  });
}

/** The end of a stream is held back, and may come as an equal event instead of the same object. */
function isHeld(event: StreamEvent, events: readonly StreamEvent[]): boolean {
  return events.some(({ name, data }) => name === event.name && data === event.data);
}

function textOf(wire: Wire, { choices }: Answer): string {
  const parts = (choices[0] ?? []).flatMap((message) => wire.messages.decode(message).parts);
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

/** The numbers of blocks, calls or events, as each wire counts them, in the order of their first appearance. */
function numbersOf(events: readonly StreamEvent[]): readonly number[] {
  const numbers = events.flatMap(({ data }) => {
    const json = parseObject(data);
    if (json === undefined) return [];
    if (typeof json["sequence_number"] === "number") return [json["sequence_number"]];
    if (typeof json["index"] === "number") return [json["index"]];
    const [choice] = Array.isArray(json["choices"]) ? json["choices"] : [];
    const delta = isObject(choice) ? choice["delta"] : undefined;
    const calls = isObject(delta) && Array.isArray(delta["tool_calls"]) ? delta["tool_calls"] : [];
    return calls.flatMap((call) =>
      isObject(call) && typeof call["index"] === "number" ? [call["index"]] : [],
    );
  });
  return [...new Set(numbers)];
}

function range(length: number): readonly number[] {
  return Array.from({ length }, (_, index) => index);
}

test("thinking that led to a lookup does not end a message when the lookup is not there", () => {
  const { anthropic } = wires;
  const left = (...content: readonly JsonObject[]): unknown => {
    const bytes = new TextEncoder().encode(JSON.stringify({ role: "assistant", content }));
    const { content: kept } = JSON.parse(
      new TextDecoder().decode(anthropic.rounds.withoutLookups(bytes, []) as Uint8Array),
    ) as { content: readonly JsonObject[] };
    return kept.map(({ type }) => type);
  };
  const thought = { type: "thinking", thinking: "hm", signature: "s" };
  const text = { type: "text", text: "Yes." };
  expect(left(thought, text, thought)).toEqual(["thinking", "text"]);
  expect(left(thought, text)).toEqual(["thinking", "text"]);
  expect(left(thought, thought)).toEqual(["text"]);
});
