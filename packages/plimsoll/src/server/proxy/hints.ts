/** The session and agent names that clients send in headers. */

import type { IncomingHttpHeaders } from "node:http";
import { clientName } from "../../message/client-name.ts";
import { checkPriority } from "../../message/tag.ts";
import type { SessionHints } from "../../session/identify/place-request.ts";
import { looksLikeId } from "../../session/log/ids.ts";
import type { Incoming } from "../../session/turn/context.ts";
import { sha256 } from "../../store/body.ts";

/**
 * Request classes of a client's side jobs, such as titles and suggestions. They use the session's name but are not part of its
 * history.
 */
const sideClasses = new Set(["auxiliary", "side_reply"]);
const maxNameLength = 200;

/** The names that one client gives for a request. */
interface ClientNames {
  /** The client's name for its session, as `client:name`. */
  readonly session?: string | undefined;
  readonly agent?: string | undefined;
}

type ReadHeader = (name: string) => string | undefined;

export function readHints(headers: IncomingHttpHeaders): SessionHints {
  const text: ReadHeader = (name) => {
    const value = headers[name];
    if (typeof value !== "string" || value === "") return undefined;
    return value.length <= maxNameLength ? value : `sha256-${sha256(value)}`;
  };
  const sessionId = text("x-plimsoll-session");
  const own: ClientNames = {
    session: named("plimsoll", sessionId),
    agent: text("x-plimsoll-agent"),
  };
  const all = [own, ...clients.map((read) => read(text))];
  const requestClass = text("x-claude-code-request-class");
  const side =
    requestClass !== undefined && sideClasses.has(requestClass) ? `#${requestClass}` : "";
  const clientKey = all.find(({ session }) => session !== undefined)?.session;
  const agent = all.find((names) => names.agent !== undefined)?.agent;
  const task = taskIn(headers);
  const client = clientName({ userAgent: text("user-agent"), clientKey });
  return {
    ...(clientKey === undefined ? {} : { clientKey: clientKey + side }),
    ...(sessionId !== undefined && looksLikeId(sessionId) ? { sessionId } : {}),
    ...(agent === undefined ? {} : { agent }),
    ...(client === undefined ? {} : { client }),
    ...(task === undefined ? {} : { task }),
    isCompacted: text("x-claude-code-context-compacted") !== undefined,
  };
}

const maxTaskLength = 200;

/** The beginning of a longer task, because the handover that quotes it is short. */
function taskIn(headers: IncomingHttpHeaders): string | undefined {
  const task = String(headers["x-plimsoll-task"] ?? "").trim();
  return task === "" ? undefined : task.slice(0, maxTaskLength);
}

/** Reads the headers of each known client. The first session name found is used. */
const clients: readonly ((text: ReadHeader) => ClientNames)[] = [
  (text) => ({
    session: named("claude-code", text("x-claude-code-session-id")),
    agent: text("x-claude-code-agent-id"),
  }),
  codexNames,
  opencodeNames,
  (text) => ({ session: named("goose", text("agent-session-id")) }),
];

/**
 * All threads of one Codex run share one session, which has the name of the main thread. Every other thread is a separate agent.
 * `x-openai-subagent` gives only the agent's kind.
 */
function codexNames(text: ReadHeader): ClientNames {
  const thread = text("thread-id");
  const session =
    text("session-id") ?? text("session_id") ?? text("x-codex-parent-thread-id") ?? thread;
  const kind = text("x-openai-subagent");
  const isOwn = thread !== undefined && thread !== session;
  return {
    session: named("codex", session),
    agent: isOwn ? named(kind ?? "thread", thread) : kind,
  };
}

/** In OpenCode, a sub-agent has its own session and also sends the name of its parent's session. */
function opencodeNames(text: ReadHeader): ClientNames {
  const session = text("x-session-id");
  const parent = text("x-parent-session-id");
  const isOwn = session !== undefined && parent !== undefined && parent !== session;
  return {
    session: named("opencode", parent ?? session),
    ...(isOwn ? { agent: session } : {}),
  };
}

/** The settings that the client sends for this one request. Throws an error if the priority is none. */
export function readSwitches(
  headers: IncomingHttpHeaders,
): Pick<Incoming, "priority" | "isBypassed"> {
  const written = headers["x-plimsoll-priority"];
  const isBypassed = ["1", "true"].includes(String(headers["x-plimsoll-off"]));
  if (written === undefined || written === "") return { isBypassed };
  const given = String(written).trim();
  const priority = checkPriority(priorities.get(given) ?? given, "The header x-plimsoll-priority");
  return { priority, isBypassed };
}

const priorities: ReadonlyMap<string, 1 | 2 | 3> = new Map([
  ["1", 1],
  ["2", 2],
  ["3", 3],
]);

function named(client: string, name: string | undefined): string | undefined {
  return name === undefined ? undefined : `${client}:${name}`;
}
