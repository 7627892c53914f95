/**
 * `plimsoll undo`, `restore` and `fork`. If a service is running, it does the work; otherwise the command changes the data
 * folder itself.
 */

import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import { PlimsollError } from "../../message/error.ts";
import { openPlimsoll } from "../../plimsoll.ts";
import type { RestorePoint } from "../../session/log/checkpoints.ts";
import type { Forked, ForkPoint } from "../../session/steer/fork.ts";
import type { Compacted, Steered, Steering } from "../../session/steer/steer.ts";
import { harmlessJson } from "../../text/unseen.ts";
import { compactedWords } from "../../watch/compacted-words.ts";
import { askRunning } from "../console/ask-running.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { withProgress } from "../console/progress.ts";
import { findService } from "../console/running.ts";

interface Steer<T> {
  readonly action: "undo" | "restore" | "compact" | "fork";
  readonly payload: Readonly<Record<string, string | number>>;
  readonly directly: (steering: Steering, session: string) => Promise<T>;
}

type SteerFlags = Flags & { readonly json?: boolean };

/** Labels of the progress bar. */
const labels: Readonly<Record<Steer<unknown>["action"], string>> = {
  undo: "Undoing",
  restore: "Restoring",
  compact: "Compacting",
  fork: "Forking",
};

export async function runUndo(
  id: string | undefined,
  flags: SteerFlags & { readonly edit?: number; readonly branch?: string },
): Promise<void> {
  const { edit, branch } = flags;
  const payload = {
    ...(edit === undefined ? {} : { edit }),
    ...(branch === undefined ? {} : { branch }),
  };
  report(
    await steer(id, flags, {
      action: "undo",
      payload,
      directly: (steering, session) => steering.undo(session, payload),
    }),
  );
}

export async function runRestore(
  point: string,
  flags: SteerFlags & { readonly session?: string },
): Promise<void> {
  const payload = pointOf(point);
  report(
    await steer(flags.session, flags, {
      action: "restore",
      payload: { ...payload },
      directly: (steering, session) => steering.restore(session, payload),
    }),
  );
}

export async function runCompactSession(
  id: string | undefined,
  flags: SteerFlags & { readonly budget?: number; readonly branch?: string },
): Promise<void> {
  const { budget, branch } = flags;
  const payload = {
    ...(budget === undefined ? {} : { budget }),
    ...(branch === undefined ? {} : { branch }),
  };
  const done = await steer(id, flags, {
    action: "compact",
    payload,
    directly: (steering, session) => steering.compact(session, payload),
  });
  if (done !== undefined) console.log(compactedWords(done));
  report(done);
}

/** Reads the point that the user typed: cp_7 is a checkpoint, 7 is an edit, and anything else is a time. */
function pointOf(text: string, purpose = "to restore", also = ""): RestorePoint {
  if (text.startsWith("cp_")) return { checkpoint: text };
  if (/^\d{1,9}$/.test(text)) return { seq: Number(text) };
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return { at };
  throw new PlimsollError(
    "USAGE",
    `"${text}" is not a point ${purpose}. Give ${also}a checkpoint (cp_7), the number of an edit, or a time.`,
  );
}

/** Compacts a stored session to the same goal that a turn would use. */
export function compactStored(settings: Settings, session: string): Promise<Compacted> {
  return steerStored(settings, session, {
    action: "compact",
    payload: {},
    directly: (steering) => steering.compact(session, {}),
  });
}

/** `plimsoll fork`: prints the id of the new session. */
export async function runFork(
  id: string | undefined,
  point: string | undefined,
  flags: SteerFlags & { readonly branch?: string },
): Promise<void> {
  const { branch } = flags;
  const payload = {
    ...(point === undefined ? {} : forkPointOf(point)),
    ...(branch === undefined ? {} : { branch }),
  };
  const forked = await steer(id, flags, {
    action: "fork",
    payload,
    directly: (steering, session): Promise<Forked> => steering.fork(session, payload),
  });
  if (forked === undefined) return;
  console.log(forked.id);
  console.error(
    `It has the ${forked.messages} messages of ${forked.from} up to #${forked.last}. Continue it by this id, with the header x-plimsoll-session or in the library.`,
  );
}

/** #17 is a message. Everything else is a point to restore. */
function forkPointOf(text: string): ForkPoint {
  const message = /^#(\d{1,15})$/.exec(text)?.[1];
  return message === undefined
    ? pointOf(text, "to fork from", "a message (#17), ")
    : { message: Number(message) };
}

async function steer<T>(
  id: string | undefined,
  flags: SteerFlags,
  wanted: Steer<T>,
): Promise<T | undefined> {
  const session = await withStore(flags, (store) => chooseSession(store, id));
  const done = await withProgress(labels[wanted.action], { json: flags.json }, () =>
    steerStored(loadSettings(flags, process.env), session, wanted),
  );
  if (flags.json !== true) return done;
  console.log(harmlessJson(done));
  return undefined;
}

function report(steered: Steered | undefined): void {
  if (steered === undefined) return;
  const { tokens, limit, edits } = steered;
  console.log(
    `Done: the window holds ${tokens} tokens now${limit === null ? "" : `, with a limit of ${limit}`} (edits ${edits.join(", ")}).`,
  );
}

async function steerStored<T>(settings: Settings, session: string, wanted: Steer<T>): Promise<T> {
  const running = await findService(settings.data);
  return running === undefined
    ? steerFolder(settings, session, wanted)
    : ((await askRunning(
        running.url,
        settings,
        `/api/sessions/${session}/${wanted.action}`,
        wanted.payload,
      )) as T);
}

async function steerFolder<T>(
  { data, config }: Settings,
  session: string,
  { directly }: Steer<T>,
): Promise<T> {
  const plimsoll = await openPlimsoll({ data, config });
  try {
    return await directly(plimsoll.steering, session);
  } finally {
    await plimsoll.close();
  }
}
