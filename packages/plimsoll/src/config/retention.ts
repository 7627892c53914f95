/** The setting `retention`: how long sessions are kept. */

import { z } from "zod";
import { ageWords, bytesIn, millisecondsIn } from "./ages-and-sizes.ts";

export const retention = z.strictObject({
  max_age: z
    .string()
    .refine((age) => millisecondsIn(age) !== undefined, `give ${ageWords}`)
    .describe(
      "Sessions whose last turn is older than this are deleted. A number with `m`, `h`, `d` or `w`, such as `30d`. Default: sessions are kept, whatever their age.",
    )
    .optional(),
  max_size: z
    .string()
    .refine(
      (size) => bytesIn(size) !== undefined,
      "give a size above 0 in MB, GB or TB, such as 2GB",
    )
    .describe(
      "If the database is larger than this, the oldest sessions are deleted until it is smaller. A number with `MB`, `GB` or `TB`, such as `2GB`. Default: the database may grow.",
    )
    .optional(),
});
