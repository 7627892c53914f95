/** Which tools go with a request: its client's, and ours beside them where the model may choose freely. */

import type { WireRequest } from "../../wire/format/wire.ts";
import { type Draft, withOffer } from "../draft/draft.ts";
import { guardOf } from "../draft/projection.ts";
import type { OwnOffer } from "../tools/own-tools-offer.ts";
import { withFewerTools } from "./defer-tools.ts";
import type { FitWorld } from "./last-resort.ts";

export interface AskedTools {
  readonly offer: OwnOffer | undefined;
  /** What the request says of its tools. */
  readonly request: Pick<WireRequest, "hasOtherPlans" | "wantedTools">;
}

export function withTools(
  world: FitWorld,
  draft: Draft,
  { offer, request }: AskedTools,
): Draft | Promise<Draft> {
  const { hasOtherPlans, wantedTools: wanted = [] } = request;
  return hasOtherPlans === true
    ? withFewerTools(world, draft, { offer, wanted })
    : withOffer(draft, offer, guardOf(world, draft).limit);
}
