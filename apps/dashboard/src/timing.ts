/** The page's clock and timers, passed to code as arguments. */

import type { Timing } from "plimsoll/watch/gather";

export const timing: Timing = {
  now: () => performance.now(),
  later: (work, ms) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
