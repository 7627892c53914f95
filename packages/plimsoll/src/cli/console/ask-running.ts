/** Asks the running service to change something. Two processes must not write to one folder at the same time. */

import type { Settings } from "../../config/config.ts";
import { openDataFolder } from "../../config/data-folder.ts";
import { PlimsollError } from "../../message/error.ts";
import { isObject } from "../../message/json.ts";

export interface Wish {
  /** The path below `/api/`. */
  readonly path: string;
  readonly body: unknown;
}

/** Contract: rejects with the service's own sentence if the service refuses. */
export async function askService<T>(
  url: string,
  settings: Settings,
  { path, body }: Wish,
): Promise<T> {
  const token = settings.token ?? openDataFolder(settings.data).token;
  const response = await fetch(`${url}/api/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer: unknown = await response.json();
  if (response.ok) return answer as T;
  const error = isObject(answer) && isObject(answer["error"]) ? answer["error"] : {};
  throw new PlimsollError(
    "INTERNAL",
    String(error["message"] ?? `The service answered with status ${response.status}.`),
  );
}
