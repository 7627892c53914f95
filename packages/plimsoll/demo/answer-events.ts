/** Converts an answer of the Messages wire to stream events and back. The upstream writes the events, the client reads them. */

import type { CallBlock, TextBlock, WireAnswer } from "./wire-forms.ts";

export interface WireEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Maximum number of characters in one delta. */
const deltaChars = 40;

export function eventsOf(answer: WireAnswer): readonly WireEvent[] {
  const { content, stop_reason: stopReason, usage } = answer;
  const opened = {
    ...answer,
    content: [],
    stop_reason: null,
    usage: { ...usage, output_tokens: 1 },
  };
  return [
    event("message_start", { message: opened }),
    event("ping", {}),
    ...content.flatMap((block, index) => blockEvents(block, index)),
    event("message_delta", {
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: { output_tokens: usage.output_tokens },
    }),
    event("message_stop", {}),
  ];
}

function event(type: string, data: Readonly<Record<string, unknown>>): WireEvent {
  return { type, data: { type, ...data } };
}

function blockEvents(block: TextBlock | CallBlock, index: number): readonly WireEvent[] {
  const isText = block.type === "text";
  const pieces = piecesOf(isText ? block.text : JSON.stringify(block.input));
  const opened = isText ? { type: "text", text: "" } : { ...block, input: {} };
  return [
    event("content_block_start", { index, content_block: opened }),
    ...pieces.map((piece) =>
      event("content_block_delta", {
        index,
        delta: isText
          ? { type: "text_delta", text: piece }
          : { type: "input_json_delta", partial_json: piece },
      }),
    ),
    event("content_block_stop", { index }),
  ];
}

function piecesOf(text: string): readonly string[] {
  const letters = [...text];
  return Array.from({ length: Math.ceil(letters.length / deltaChars) }, (_, piece) =>
    letters.slice(piece * deltaChars, (piece + 1) * deltaChars).join(""),
  );
}

interface Gathered {
  readonly opened: TextBlock | CallBlock;
  text: string;
}

/** Contract: throws an error with a sentence if the events are not a complete answer. */
export function answerOf(events: readonly WireEvent[]): WireAnswer["content"] {
  const blocks = new Map<number, Gathered>();
  let isStopped = false;
  for (const { type, data } of events) {
    if (type === "error") throw new Error(`The stream brought an error: ${JSON.stringify(data)}`);
    if (type === "content_block_start")
      blocks.set(Number(data["index"]), {
        opened: data["content_block"] as TextBlock | CallBlock,
        text: "",
      });
    if (type === "content_block_delta") {
      const gathered = blocks.get(Number(data["index"]));
      if (gathered === undefined) throw new Error("A delta came for a block that was not begun.");
      const delta = data["delta"] as { readonly text?: string; readonly partial_json?: string };
      gathered.text += delta.text ?? delta.partial_json ?? "";
    }
    if (type === "message_stop") isStopped = true;
  }
  if (!isStopped) throw new Error("The stream ended before its message did.");
  return [...blocks.entries()]
    .toSorted(([left], [right]) => left - right)
    .map(([, { opened, text }]) =>
      opened.type === "text"
        ? { type: "text", text }
        : { ...opened, input: JSON.parse(text === "" ? "{}" : text) as CallBlock["input"] },
    );
}
