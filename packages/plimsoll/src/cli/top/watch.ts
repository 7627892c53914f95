/** `plimsoll top` in a terminal: draws the screen, receives events, sends actions, and always restores the terminal. */

import { type EventStream, openEvents } from "../../watch/event-stream.ts";
import { findService } from "../console/running.ts";
import type { TopClient } from "./client.ts";
import { createLive, type Live } from "./live.ts";
import type { TopState } from "./state.ts";
import { timing } from "./timing.ts";
import { openView } from "./view.ts";

export interface Watching {
  readonly data: string;
  readonly token: string;
  /** Address of the service. It changes if the service restarts on another port. */
  readonly place: { url: string };
  readonly client: TopClient;
  readonly start: TopState;
  readonly hasColour: boolean;
}

const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/** Contract: when the promise settles, the terminal is as it was before. */
export async function watchSessions(watching: Watching): Promise<void> {
  const { client, start, hasColour } = watching;
  const closing = new AbortController();
  const live = createLive({ start, client, quit: () => closing.abort() });
  const { read, subscribe, press } = live;
  const { stdin: input, stdout: output } = process;
  const view = openView({ input, output, hasColour, read, subscribe, press });
  closing.signal.addEventListener("abort", view.close);
  const end = (signal: keyof typeof signals): void => {
    process.exitCode = 128 + signals[signal];
    closing.abort();
  };
  for (const signal of Object.keys(signals)) process.on(signal, end);
  const stream = hearService(watching, live);
  try {
    await view.closed;
  } finally {
    closing.abort();
    stream.close();
    live.close();
    for (const signal of Object.keys(signals)) process.off(signal, end);
  }
}

/** The event stream of the service. It continues if the service restarts on another port. */
function hearService({ data, token, place }: Watching, live: Live): EventStream {
  return openEvents({
    token: () => token,
    fetch,
    later: timing.later,
    // After a refusal, try again, because another service may be running at the address by then.
    whenRefused: "tries-again",
    onEvent: live.hear,
    // The state `connecting` is not shown, because the state before it has already announced the retry.
    onState: (state) => state.kind === "connecting" || live.link(state),
    locate: async () => {
      const found = await findService(data);
      if (found !== undefined && found.url !== place.url) {
        place.url = found.url;
        live.dispatch({ kind: "moved", url: found.url });
      }
      return found?.url;
    },
  });
}
