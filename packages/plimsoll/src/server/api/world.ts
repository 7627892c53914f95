/** The services that the routes of /api and /events use. */

import type { SettingsFile } from "../../config/settings-file.ts";
import type { Engine } from "../../engine.ts";
import { routesOn } from "../http/route-table.ts";

export interface ApiWorld {
  readonly engine: Engine;
  /** The user's own configuration file, whether or not it exists. */
  readonly settingsFile: SettingsFile;
  /** Aborted when the service shuts down. */
  readonly closing: AbortSignal;
}

export const route = routesOn<ApiWorld>();
