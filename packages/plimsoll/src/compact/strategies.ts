/** The chain: strategies in the order in which they are tried, cheapest loss first. A new one is one file and one line here. */

import { excerpt } from "./excerpt.ts";
import { mediaToHandles } from "./media.ts";
import type { Strategy } from "./strategy.ts";
import { truncate } from "./truncation.ts";

export const strategies: readonly Strategy[] = [mediaToHandles, excerpt, truncate];
