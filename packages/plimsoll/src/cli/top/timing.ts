/** The clock and timers of this process, passed to code as arguments. */

import type { Timing } from "../../watch/gather.ts";

export const timing: Timing = {
  now: () => performance.now(),
  later: (work, ms) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
