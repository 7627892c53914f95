/** `plimsoll diff`: compares what the model saw at two points of a session, as lines of text. */

import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import type { ShownMessage, TextDiff, TextDiffRow } from "../../message/api.ts";
import { PlimsollError } from "../../message/error.ts";
import { openPlimsoll } from "../../plimsoll.ts";
import { diffAsText } from "../../server/api/read-models.ts";
import type { RestorePoint } from "../../session/log/checkpoints.ts";
import { harmless, harmlessJson } from "../../text/unseen.ts";
import { askRunning } from "../console/ask-running.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { withProgress } from "../console/progress.ts";
import { findService } from "../console/running.ts";

export type DiffFlags = Flags & {
  readonly from?: string;
  readonly to?: string;
  readonly branch?: string;
  readonly json?: boolean;
};

export async function runDiff(id: string | undefined, flags: DiffFlags): Promise<void> {
  for (const point of [flags.from, flags.to]) if (point !== undefined) pointOf(point);
  const settings = loadSettings(flags, process.env);
  const { session, wire } = await withStore(flags, async (store) => {
    const session = await chooseSession(store, id);
    return { session, wire: (await store.session(session))?.wire ?? "" };
  });
  const diff = await withProgress("Comparing", { json: flags.json }, async () => {
    const running = await findService(settings.data);
    return running === undefined
      ? diffOfFolder(settings, { session, wire }, flags)
      : diffOfService(running.url, settings, session, flags);
  });
  console.log(flags.json === true ? harmlessJson(diff) : textOf(diff));
}

function pointOf(text: string): RestorePoint {
  if (/^cp_\d{1,15}$/.test(text)) return { checkpoint: text };
  if (/^\d{1,15}$/.test(text)) return { seq: Number(text) };
  throw new PlimsollError(
    "USAGE",
    `"${text}" is not a point to compare. Give a checkpoint (cp_7) or the number of an edit. \`plimsoll checkpoints\` lists the points.`,
  );
}

async function diffOfFolder(
  { data, config }: Settings,
  { session, wire }: { readonly session: string; readonly wire: string },
  { from = "0", to, branch }: DiffFlags,
): Promise<TextDiff> {
  const plimsoll = await openPlimsoll({ data, config });
  try {
    const diff = await plimsoll.steering.diff(session, {
      from: pointOf(from),
      ...(to === undefined ? {} : { to: pointOf(to) }),
      ...(branch === undefined ? {} : { branch }),
    });
    return diffAsText(diff, wire);
  } finally {
    await plimsoll.close();
  }
}

/** The running service knows turns that are not stored yet. */
async function diffOfService(
  url: string,
  settings: Settings,
  session: string,
  { from, to, branch }: DiffFlags,
): Promise<TextDiff> {
  const query = new URLSearchParams({ form: "text" });
  for (const [name, value] of Object.entries({ from, to, branch }))
    if (value !== undefined) query.set(name, value);
  return (await askRunning(url, settings, `/api/sessions/${session}/diff?${query}`)) as TextDiff;
}

function textOf({ from, to, rows }: TextDiff): string {
  const heading = `${from.tokens} tokens in ${from.messages} messages → ${to.tokens} tokens in ${to.messages} messages`;
  return [heading, ...rows.flatMap(linesOf)].join("\n");
}

function linesOf(row: TextDiffRow): readonly string[] {
  switch (row.kind) {
    case "same":
      return [`  ${row.count} ${row.count === 1 ? "message" : "messages"} as before`];
    case "changed":
      return [...marked("-", row.was), ...marked("+", row.is)];
    case "removed":
      return marked("-", row.was);
    case "added":
      return marked("+", row.is);
  }
}

/** Terminals can be steered by the texts of a conversation, so control characters are made visible. */
function marked(sign: "-" | "+", { role, parts }: ShownMessage): readonly string[] {
  const lines = parts.flatMap(({ text }) => text.split("\n"));
  return [`${sign} ${role}:`, ...lines.map((line) => `${sign}   ${harmless(line)}`)];
}
