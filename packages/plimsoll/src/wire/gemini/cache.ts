/** The Gemini wire has no cache marks. The provider caches beginnings of requests by itself. */

import { unmarkedCache } from "../format/unmarked-cache.ts";
import type { WireCache } from "../format/wire.ts";

export const geminiCache: WireCache = { ...unmarkedCache, markIn: () => undefined };
