/** The clock and timers of this process, for those who take them as arguments. */

import type { Timing } from "../../watch/gather.ts";

export const timing: Timing = {
  now: () => performance.now(),
  later: (work, ms) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
