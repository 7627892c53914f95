/** What the routes of /api and /events work on. */

import type { Engine } from "../../engine.ts";
import { routesOn } from "../http/route-table.ts";

export interface ApiWorld {
  readonly engine: Engine;
  /** The user's own configuration file, whether it is there or not. */
  readonly configFile: string;
  /** Aborted when the service shuts down. */
  readonly closing: AbortSignal;
}

export const route = routesOn<ApiWorld>();
