/** What clients say of their conversation in headers: their own session and agent names. */

import type { IncomingHttpHeaders } from "node:http";
import type { SessionHints } from "../session/identify.ts";
import { looksLikeId } from "../session/ids.ts";
import type { Incoming } from "../session/turn.ts";
import { sha256 } from "../store/body.ts";

/** Side jobs of a client (titles, suggestions) come under the session's name but are none of its history. */
const sideClasses = new Set(["auxiliary", "side_reply"]);
const maxNameLength = 200;

export function readHints(headers: IncomingHttpHeaders): SessionHints {
  const text = (name: string): string | undefined => {
    const value = headers[name];
    if (typeof value !== "string" || value === "") return undefined;
    return value.length <= maxNameLength ? value : `sha256-${sha256(value)}`;
  };
  const requestClass = text("x-claude-code-request-class");
  const side =
    requestClass !== undefined && sideClasses.has(requestClass) ? `#${requestClass}` : "";
  const sessionId = text("x-plimsoll-session");
  const clientKey =
    named("plimsoll", sessionId) ??
    named("claude-code", text("x-claude-code-session-id")) ??
    named("codex", text("session_id"));
  const agent =
    text("x-plimsoll-agent") ?? text("x-claude-code-agent-id") ?? text("x-openai-subagent");
  return {
    ...(clientKey === undefined ? {} : { clientKey: clientKey + side }),
    ...(sessionId !== undefined && looksLikeId(sessionId) ? { sessionId } : {}),
    ...(agent === undefined ? {} : { agent }),
    isCompacted: text("x-claude-code-context-compacted") !== undefined,
  };
}

/** What the client wants of Plimsoll for this request. */
export function readWishes(headers: IncomingHttpHeaders): Pick<Incoming, "priority" | "isOff"> {
  const priority = priorities.get(String(headers["x-plimsoll-priority"]));
  return {
    ...(priority === undefined ? {} : { priority }),
    isOff: ["1", "true"].includes(String(headers["x-plimsoll-off"])),
  };
}

const priorities: ReadonlyMap<string, 1 | 2 | 3> = new Map([
  ["1", 1],
  ["2", 2],
  ["3", 3],
]);

function named(client: string, name: string | undefined): string | undefined {
  return name === undefined ? undefined : `${client}:${name}`;
}
