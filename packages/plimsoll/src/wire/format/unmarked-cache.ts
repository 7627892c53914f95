/** Of a wire's cache, what holds where Plimsoll puts no marks: a client may mark parts of a message, and no other place. */

import type { WireCache } from "./wire.ts";

export const unmarkedCache: Omit<WireCache, "markField" | "markIn"> = {
  isLongMark: () => false,
  countMarks: () => 0,
  hasLongMarks: () => false,
  withMark: () => undefined,
  markOn: () => undefined,
  markTool: (tool) => tool,
  blocks: (message) => [message],
};
