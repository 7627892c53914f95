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
      "Which places get the provider's cache marks, beside the end of the conversation. `task` (default): the last of the sections `base`, `rules` and `memories`, then the user's first message, then the other sections. `sections`: each of these three sections comes first.",
    )
    .optional(),
});
