/** Server-sent events as they come over fetch: the client's answers, and the events of the service. */

export interface ReceivedEvent {
  readonly id?: string;
  readonly type: string;
  readonly data: string;
}

/** A longer event is none of ours. */
const eventCharsMax = 16 * 1024 * 1024;

export async function* receivedEvents(response: Response): AsyncGenerator<ReceivedEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body ?? []) {
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > eventCharsMax) throw new Error("An event is too long to be one.");
    const frames = rest.split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const event = eventIn(frame);
      if (event !== undefined) yield event;
    }
  }
}

/** Undefined for comments. */
function eventIn(frame: string): ReceivedEvent | undefined {
  const field = (name: string): string | undefined =>
    frame
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  const [id, type, data] = [field("id"), field("event"), field("data")];
  return type === undefined || data === undefined
    ? undefined
    : { ...(id === undefined ? {} : { id }), type, data };
}
