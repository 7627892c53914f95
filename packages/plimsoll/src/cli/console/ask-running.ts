/** Asks the running service of the data folder, because two processes must not write to one folder at the same time. */

import type { Settings } from "../../config/config.ts";
import { openDataFolder } from "../../config/data-folder.ts";
import { PlimsollError } from "../../message/error.ts";
import { isObject } from "../../message/json.ts";

/** Sends `payload` as JSON, or asks with GET if there is none. Contract: rejects with the service's own sentence. */
export async function askRunning(
  url: string,
  settings: Settings,
  path: string,
  payload?: object,
): Promise<unknown> {
  const token = settings.token ?? openDataFolder(settings.data).token;
  const response = await fetch(`${url}${path}`, {
    method: payload === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
  });
  const answer: unknown = await response.json();
  if (response.ok) return answer;
  if (response.status === 401)
    throw new PlimsollError(
      "UNAUTHORIZED",
      "The running service was started with another token. Set PLIMSOLL_TOKEN to that token, then run the command again.",
    );
  const error = isObject(answer) && isObject(answer["error"]) ? answer["error"] : {};
  throw new PlimsollError(
    error["code"] === "USAGE" ? "USAGE" : "INTERNAL",
    String(error["message"] ?? `The service answered with status ${response.status}.`),
  );
}
