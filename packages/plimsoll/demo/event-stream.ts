/** Reads server-sent events from a fetch response: streamed answers, and the events of the service. */

import { type EventSourceMessage, EventSourceParserStream } from "eventsource-parser/stream";

export interface ReceivedEvent extends Pick<EventSourceMessage, "id" | "data"> {
  /** Empty if the event has no name. */
  readonly type: string;
}

/** Longest accepted event, in characters. Neither the upstream nor the service sends longer ones. */
const eventCharsMax = 16 * 1024 * 1024;

export async function* receivedEvents({ body }: Response): AsyncGenerator<ReceivedEvent> {
  const events = body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: eventCharsMax }));
  for await (const { event: type = "", id, data } of events ?? []) yield { id, type, data };
}
