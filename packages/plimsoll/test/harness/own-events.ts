/** Reads the stored events of a session with the owner's token. */
import { OWNER_TOKEN, type Service } from "./service.ts";
import { within } from "./waiting.ts";

export interface SeenEvent {
  readonly type: string;
  /** Only in a `turn-end` event. */
  readonly status?: string;
}

/** All events from the first one, as soon as `isEnough` is true. */
export async function eventsOf(
  { url }: Pick<Service, "url">,
  session: string,
  wanted: { readonly limitMs: number; readonly isEnough: (seen: readonly SeenEvent[]) => boolean },
): Promise<readonly SeenEvent[]> {
  const leaving = new AbortController();
  const response = await fetch(`${url}/events?session=${session}`, {
    headers: { authorization: `Bearer ${OWNER_TOKEN}`, "last-event-id": "0" },
    signal: leaving.signal,
  });
  const read = async (): Promise<readonly SeenEvent[]> => {
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      const seen = [...text.matchAll(/^data: (.*)\n\n/gm)].map(
        ([, data = "{}"]) => JSON.parse(data) as SeenEvent,
      );
      if (wanted.isEnough(seen)) return seen;
    }
    throw new Error("The events ended too early.");
  };
  return within(wanted.limitMs, "the events", read()).finally(() => leaving.abort());
}
