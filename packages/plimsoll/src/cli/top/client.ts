/** The requests that `plimsoll top` sends to the service, over HTTP only. */

import type {
  ConfigAnswer,
  Listed,
  MessageDetails,
  SessionRow,
  Ticket,
  WindowPicture,
} from "../../message/api.ts";
import type { Edit } from "../../message/edit.ts";
import { PlimsollError } from "../../message/error.ts";
import { isObject } from "../../message/json.ts";
import type { Compacted, Steered } from "../../session/steer/steer.ts";
import { grouped } from "../../text/digits.ts";
import { compactedWords } from "../../watch/compacted-words.ts";
import type { Action } from "./keys.ts";
import type { Note } from "./state.ts";

export interface TopClient {
  sessions(): Promise<Listed<SessionRow>>;
  /** The first page of open tickets. */
  openTickets(): Promise<Listed<Ticket>>;
  config(): Promise<ConfigAnswer>;
  window(session: string): Promise<WindowPicture>;
  edits(session: string): Promise<readonly Edit[]>;
  /**
   * Carries out an action. Contract: resolves with a sentence about the result. If the service refuses, rejects with the
   * service's sentence.
   */
  act(session: string, action: Action & { readonly branch?: string }): Promise<Note>;
}

/** Maximum number of sessions to list. The newest are listed. `plimsoll sessions` shows older ones. */
const mostSessions = 100;
/** Maximum size of one answer in bytes. The answer with a session's edits is large, because it includes their texts. */
const mostBytes = 64 * 1024 * 1024;
const readingMs = 20_000;
/** Maximum time that an action may take, in milliseconds. For a compaction, a model may have to write a summary. */
const actingMs = 120_000;

interface Place {
  /** Returns the service's current address. After a restart, the service may have another port. */
  readonly url: () => string;
  readonly token: string;
}

export function createTopClient(place: Place): TopClient {
  const get = <T>(path: string): Promise<T> => request<T>(place, path);
  const post = <T>(session: string, name: string, payload: unknown): Promise<T> =>
    request<T>(place, `/api/sessions/${encodeURIComponent(session)}/${name}`, payload);
  const of = (session: string): string => `/api/sessions/${encodeURIComponent(session)}`;
  return {
    sessions: () => get(`/api/sessions?limit=${mostSessions}`),
    openTickets: () => get("/api/tickets?status=open"),
    config: () => get("/api/config"),
    window: (session) => get(`${of(session)}/window`),
    edits: async (session) => (await get<Listed<Edit>>(`${of(session)}/edits`)).items,
    act: async (session, { branch, ...wanted }) => {
      const on = branch === undefined ? {} : { branch };
      switch (wanted.action) {
        case "compact":
          return done(compactedWords(await post<Compacted>(session, "compact", on)));
        case "undo":
          return undone(await post<Steered>(session, "undo", on));
        case "pin": {
          const { first = 0, last = first } = wanted.unit;
          await post(session, "pin", { first, last, ...on });
          return done(`Pinned: ${messages(first, last)} unchanged until released.`);
        }
        case "release": {
          const { first = 0, last = first } = wanted.unit;
          const query = new URLSearchParams({ first: `${first}`, last: `${last}`, ...on });
          const details = await get<MessageDetails>(`${of(session)}/messages?${query}`);
          const pins = details.edits.filter(({ action }) => action.kind === "pin");
          for (const { seq } of pins) await post(session, "pin", { release: seq });
          return done(
            `Released: the next compaction may remove it (pin ${pins.map(({ seq }) => seq).join(", ")}).`,
          );
        }
      }
    },
  };
}

function messages(first: number, last: number): string {
  return first === last ? `message ${first} stays` : `messages ${first}–${last} stay`;
}

function undone({ tokens }: Steered): Note {
  return done(`Undone: the window holds ${grouped(tokens)} tokens now.`);
}

function done(text: string): Note {
  return { tone: "done", text };
}

async function request<T>({ url, token }: Place, path: string, payload?: unknown): Promise<T> {
  const response = await fetch(`${url()}${path}`, {
    method: payload === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${token}`,
      ...(payload === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(payload === undefined ? {} : { body: JSON.stringify(payload) }),
    signal: AbortSignal.timeout(payload === undefined ? readingMs : actingMs),
  });
  const answer: unknown = JSON.parse(await textOf(response));
  if (response.ok) return answer as T;
  const { code } = errorIn(answer);
  throw new PlimsollError(
    code === "SESSION_UNKNOWN" ? code : "INTERNAL",
    sentenceIn(answer, response.status),
    { status: response.status },
  );
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes)
      throw new PlimsollError(
        "BODY_TOO_LARGE",
        "The answer is too long to show here. `plimsoll edits` and the dashboard show it in parts.",
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The sentence in the service's error answer. */
function sentenceIn(answer: unknown, status: number): string {
  return String(errorIn(answer).message ?? `The service answered with status ${status}.`);
}

function errorIn(answer: unknown): { readonly code?: unknown; readonly message?: unknown } {
  return isObject(answer) && isObject(answer["error"]) ? answer["error"] : {};
}
