/**
 * The cache functions of wires on which Plimsoll sets no cache marks. On these wires, a client can mark only parts of messages.
 */

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
