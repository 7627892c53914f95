/** /api/config: the settings that people change from a page, kept in the user's own file. For the owner only. */

import type { IncomingMessage } from "node:http";
import { readConfigAnswer, writeConfig } from "../../config/settings-file.ts";
import type { ConfigAnswer } from "../../message/api.ts";
import type { Plimsoll } from "../../plimsoll.ts";
import { type Caller, checkOwner } from "../http/checks.ts";
import { readWish } from "./steer.ts";

export interface ConfigRequest {
  readonly request: IncomingMessage;
  readonly caller: Caller;
  readonly file: string;
}

/** Contract: rejects with a PlimsollError that carries the status; then nothing was written. */
export async function answerConfig(
  plimsoll: Pick<Plimsoll, "configure">,
  { request, caller, file }: ConfigRequest,
): Promise<ConfigAnswer> {
  checkOwner(caller);
  if (request.method === "PUT") plimsoll.configure(writeConfig(file, await readWish(request)));
  return readConfigAnswer(file);
}
