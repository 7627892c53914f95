/** The part of the configuration that says how the library builds a system prompt from sections. */

import { z } from "zod";

export const prompt = z.strictObject({
  sections: z
    .enum(["after_conversation", "in_system"])
    .describe(
      "Where the sections `scratchpad` and `status` go, and others with `cacheable: false`. `after_conversation` (default): after the last message, so that the provider's cache stays valid. `in_system`: into the system prompt, after the other sections.",
    )
    .optional(),
  cache_marks: z
    .enum(["task", "sections"])
    .describe(
      "The order in which places get cache marks, of which a provider allows only a few. The end of the conversation always comes first. `task` (default): then the last of the sections `base`, `rules` and `memories`, then the user's first message, then the others of these sections. `sections`: then all three sections, then the user's first message.",
    )
    .optional(),
});
