/** Server-sent events as they come over fetch: the client's answers, and the events of the service. */

import { createSseReader, type SseMessage } from "../src/watch/read-sse.ts";

export type ReceivedEvent = SseMessage & { readonly type: string };

/** A longer event is none of ours. */
const eventCharsMax = 16 * 1024 * 1024;

export async function* receivedEvents(response: Response): AsyncGenerator<ReceivedEvent> {
  const decoder = new TextDecoder();
  const read = createSseReader(eventCharsMax);
  for await (const chunk of response.body ?? []) {
    const events = read(decoder.decode(chunk, { stream: true }));
    if (events === "too-long") throw new Error("An event is too long to be one.");
    for (const { type, ...event } of events) if (type !== undefined) yield { ...event, type };
  }
}
