/**
 * `plimsoll undo` and `plimsoll restore`. If a service is running, it does the work; otherwise the command changes the data
 * folder itself.
 */

import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import { PlimsollError } from "../../message/error.ts";
import { openPlimsoll } from "../../plimsoll.ts";
import type { RestorePoint } from "../../session/log/checkpoints.ts";
import type { Compacted, Steered, Steering } from "../../session/steer/steer.ts";
import { harmlessJson } from "../../text/unseen.ts";
import { askService } from "../console/ask-running.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { withProgress } from "../console/progress.ts";
import { findService } from "../console/running.ts";

interface Steer<T extends Steered> {
  readonly action: "undo" | "restore" | "compact";
  readonly payload: Readonly<Record<string, string | number>>;
  readonly directly: (steering: Steering, session: string) => Promise<T>;
}

type SteerFlags = Flags & { readonly json?: boolean };

/** Labels of the progress bar. */
const labels: Readonly<Record<Steer<Steered>["action"], string>> = {
  undo: "Undoing",
  restore: "Restoring",
  compact: "Compacting",
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
  await steer(id, flags, {
    action: "undo",
    payload,
    directly: (steering, session) => steering.undo(session, payload),
  });
}

export async function runRestore(
  point: string,
  flags: SteerFlags & { readonly session?: string },
): Promise<void> {
  const payload = pointOf(point);
  await steer(flags.session, flags, {
    action: "restore",
    payload: { ...payload },
    directly: (steering, session) => steering.restore(session, payload),
  });
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
  await steer(id, flags, {
    action: "compact",
    payload,
    directly: (steering, session) => steering.compact(session, payload),
  });
}

/** Reads the point that the user typed: cp_7 is a checkpoint, 7 is an edit, and anything else is a time. */
function pointOf(text: string): RestorePoint {
  if (text.startsWith("cp_")) return { checkpoint: text };
  if (/^\d{1,9}$/.test(text)) return { seq: Number(text) };
  const at = Date.parse(text);
  if (!Number.isNaN(at)) return { at };
  throw new PlimsollError(
    "USAGE",
    `"${text}" is not a point to restore. Give a checkpoint (cp_7), the number of an edit, or a time.`,
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

async function steer(
  id: string | undefined,
  flags: SteerFlags,
  wanted: Steer<Steered>,
): Promise<void> {
  const session = await withStore(flags, (store) => chooseSession(store, id));
  const steered = await withProgress(labels[wanted.action], { json: flags.json }, () =>
    steerStored(loadSettings(flags, process.env), session, wanted),
  );
  if (flags.json === true) {
    console.log(harmlessJson(steered));
    return;
  }
  const { tokens, limit, edits } = steered;
  console.log(
    `Done: the window holds ${tokens} tokens now${limit === null ? "" : `, with a limit of ${limit}`} (edits ${edits.join(", ")}).`,
  );
}

async function steerStored<T extends Steered>(
  settings: Settings,
  session: string,
  wanted: Steer<T>,
): Promise<T> {
  const running = await findService(settings.data);
  return running === undefined
    ? steerFolder(settings, session, wanted)
    : askService<T>(running.url, settings, {
        path: `sessions/${session}/${wanted.action}`,
        body: wanted.payload,
      });
}

async function steerFolder<T extends Steered>(
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
