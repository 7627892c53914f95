/** Errors about sessions and branches that are not there. */

import { PlimsollError } from "../../message/error.ts";
import type { SessionLog } from "./log.ts";

/** How many branches an error names. */
const namedBranches = 10;

/** `what`: "no session ses_…", for example. */
export function unknownSession(what: string): PlimsollError {
  return new PlimsollError("SESSION_UNKNOWN", unknownSentence(what), { status: 404 });
}

export function unknownSentence(what: string): string {
  return `There is ${what}; it may have been deleted before. \`plimsoll sessions\` lists the sessions.`;
}

/** The session does not have the wanted branch, or no branch at all yet. */
export function noBranch({ branches }: SessionLog, wanted: string | undefined): PlimsollError {
  const names = [...branches.keys()];
  if (names.length === 0)
    return new PlimsollError(
      "NOTHING_TO_DO",
      "This session has had no turn yet, so there is nothing to work on. Take its first turn, then try again.",
      { status: 409 },
    );
  return new PlimsollError(
    "SESSION_UNKNOWN",
    `There is no branch ${wanted ?? ""} in this session. Its branches are ${names.slice(0, namedBranches).join(", ")}${names.length > namedBranches ? " …" : ""}.`,
    { status: 404 },
  );
}
