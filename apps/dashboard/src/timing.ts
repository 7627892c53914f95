/** The page's clock and timers, for those who take them as arguments. */

import type { Timing } from "plimsoll/watch/gather";

export const timing: Timing = {
  now: () => performance.now(),
  later: (work, ms) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
