/**
 * Asks providers to count preambles. If a preamble fills a large share of the window, its size determines how much fits into the
 * first turns. But Plimsoll's estimate of this size may be far off. If the provider counts free of charge, Plimsoll asks once for
 * each list of tools. The estimate itself does not change, so that it can be compared with the estimates of later turns. Instead,
 * the provider's count sets the first correction factor of the session. After the first report of usage, Plimsoll no longer needs
 * to ask.
 */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import { isPlausible } from "../../budget/calibrate.ts";
import { effectiveLimit } from "../../budget/guard.ts";
import { ownLimitsOf } from "../../config/limits.ts";
import type { Config } from "../../config/schema.ts";
import { sha256 } from "../../store/body.ts";
import type { BodySlices } from "../../wire/format/slices.ts";
import type { WireRequest } from "../../wire/format/wire.ts";
import { withTimeout } from "../../workers/with-timeout.ts";
import type { Calibrations } from "./calibrations.ts";
import type { Preamble } from "./preamble.ts";
import type { Target } from "./target.ts";

/**
 * Sends a body to the provider's counting endpoint with the client's own key. Resolves to undefined if the provider gives no
 * count.
 */
export type CountTokens = (body: Uint8Array) => Promise<number | undefined>;

export interface AskedPreamble {
  readonly target: Target;
  readonly request: WireRequest;
  readonly body: Uint8Array;
  readonly slices: BodySlices;
  readonly count?: CountTokens | undefined;
}

export interface PreambleCounts {
  /**
   * The provider's count of a preamble divided by Plimsoll's. The ratio is 1 if the provider gives no count or has already
   * reported usage. Contract: never rejects, and takes at most two seconds.
   */
  ratio(preamble: Preamble, asked: AskedPreamble): Promise<number>;
}

/**
 * Plimsoll asks only if the preamble takes at least this share of the limit. For a smaller preamble, the error does not matter.
 */
const askedFrom = 0.25;
const waitMs = 2000;
const maxPreambles = 1000;

export function createPreambleCounts(
  calibrations: Pick<Calibrations, "isReportedFor">,
  config: Config,
): PreambleCounts {
  const ratios = new BoundedMap<string, Promise<number>>({ entries: maxPreambles });
  return {
    ratio: async (preamble, asked) => {
      const { target, request, body, count } = asked;
      const estimated = preamble.system.tokens + preamble.tools.tokens;
      const limit = effectiveLimit(
        { name: target.key, limit: target.limit },
        ownLimitsOf(config, target),
      );
      const isSmall = estimated < limit * askedFrom;
      const isExact = preamble.system.certainty === "exact" && preamble.tools.certainty === "exact";
      if (!target.countsTokens || isSmall || isExact || calibrations.isReportedFor(target))
        return 1;
      const key = `${target.tenant}\0${target.key}\0${toolsKey(request, body)}`;
      const known = ratios.get(key);
      if (known === undefined && count === undefined) return 1;
      return (
        known ??
        ratios.set(
          key,
          withTimeout(
            ask(asked, estimated).catch(() => 1),
            waitMs,
            () => 1,
          ),
        )
      );
    },
  };
}

function toolsKey({ tools }: WireRequest, body: Uint8Array): string {
  return tools === undefined ? "" : sha256(body.subarray(tools.start, tools.end));
}

async function ask(
  { target: { wire }, request, body, slices, count }: AskedPreamble,
  estimated: number,
): Promise<number> {
  const { counting } = wire.body;
  if (counting === undefined || count === undefined) return 1;
  const tokens = await count(counting.body(request, body, slices));
  // An implausible count is ignored, because it would apply to every request with these tools.
  return tokens === undefined || !isPlausible(estimated, tokens) ? 1 : tokens / estimated;
}
