/** /api/config: the settings that people change on a page, stored in the user's own file. For the owner only. */

import type { IncomingMessage } from "node:http";
import { readConfigAnswer, writeConfig } from "../../config/settings-file.ts";
import type { Engine } from "../../engine.ts";
import type { ConfigAnswer } from "../../message/api.ts";
import { type Caller, checkOwner } from "../http/checks.ts";
import { readJson } from "./steer.ts";

export interface ConfigRequest {
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly file: string;
}

/** Contract: rejects with a PlimsollError that carries the status. Nothing was written then. */
export async function answerConfig(
  { settings }: Pick<Engine, "settings">,
  { request, caller, file }: ConfigRequest,
): Promise<ConfigAnswer> {
  checkOwner(caller);
  if (request.method === "PUT") settings.change(writeConfig(file, await readJson(request)));
  return readConfigAnswer(file);
}
