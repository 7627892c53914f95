/** Applies the setting `retention` at the start of the service and then every hour. */

import { errorMessage } from "../../message/error.ts";
import type { Forgetting } from "./forget.ts";

export interface Retaining {
  /** Resolves when no run is under way. No other run begins. */
  stop(): Promise<void>;
}

const everyMs = 3_600_000;

/** A run that takes longer than an hour delays the next one. A failure is tried again an hour later. */
export function retainHourly({ retain }: Pick<Forgetting, "retain">): Retaining {
  let running: Promise<void> | undefined;
  const run = (isStarting: boolean): void => {
    running ??= retain({ isStarting })
      .catch((error: unknown) =>
        process.emitWarning(`Old sessions could not be deleted: ${errorMessage(error)}`),
      )
      .finally(() => {
        running = undefined;
      });
  };
  const timer = setInterval(run, everyMs, false);
  timer.unref();
  run(true);
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
