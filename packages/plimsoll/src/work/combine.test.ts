/** A cut answer and its continuation: whichever way the model continues, the whole is there once. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { tries } from "../../test/harness/effort.ts";
import { combine, contentOf } from "./combine.ts";

const lines = fc
  .array(fc.stringMatching(/^[a-z (){};=.]{1,30}$/), { minLength: 4, maxLength: 20 })
  .map((all) => all.map((line, number) => `${number} ${line}`).join("\n"));

test("wherever the part ends, and whether the model goes on, repeats lines or begins again, the whole is there once", () => {
  fc.assert(
    fc.property(lines, fc.nat(), fc.nat({ max: 60 }), fc.boolean(), (whole, at, back, again) => {
      const cut = 1 + (at % (whole.length - 1));
      const repeated = back < 8 ? 0 : Math.min(back, cut);
      const continuation = again ? whole : whole.slice(cut - repeated);
      expect(combine(whole.slice(0, cut), continuation)).toBe(whole);
    }),
    tries({ runs: 300, seed: 24 }),
  );
});

test("of an answer with words around it, the code is taken, also if its block is not closed", () => {
  expect(contentOf("Here is the rest:\n```tsx\n  </form>;\n}\n```\nDone.")).toBe("  </form>;\n}");
  expect(contentOf("```tsx\n  </form>;\n}")).toBe("  </form>;\n}");
  expect(contentOf("  </form>;")).toBe("  </form>;");
});
