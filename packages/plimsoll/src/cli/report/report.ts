/** `plimsoll report`: a session with its figures, as text, as data, or as one HTML file with pictures. */

import { statSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Flags } from "../../config/config.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { grouped } from "../../text/digits.ts";
import { harmlessJson } from "../../text/unseen.ts";
import { windowWords } from "../../watch/figures.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { withProgress } from "../console/progress.ts";
import { bar, oneLine, table } from "../console/terminal.ts";
import { gatherReport, type Report } from "./data.ts";
import { figuresShown } from "./figures.ts";
import { type Further, reportHtml } from "./html.ts";
import { counted, durationOf, percent, timeOf } from "./words.ts";

export type ReportFlags = Flags & { readonly html?: string; readonly json?: boolean };

export async function runReport(
  id: string | undefined,
  flags: ReportFlags,
  version: string,
): Promise<void> {
  const { json } = flags;
  const report = await withProgress("Reading the session", { json }, (progress) =>
    withStore(flags, async (store, { config }) =>
      gatherReport(
        { store, config, now: Date.now, onStep: progress.note },
        await chooseSession(store, id),
      ),
    ),
  );
  const written =
    flags.html === undefined ? undefined : writeReport(flags.html, report, { flags, version });
  if (json === true) console.log(harmlessJson(report));
  else console.log(written ?? reportText(report, flags));
}

/** Writes the file. Returns a sentence that names the file and its size. */
function writeReport(
  file: string,
  report: Report,
  { flags, version }: { readonly flags: ReportFlags; readonly version: string },
): string {
  const further = furtherCommands(report, flags);
  try {
    // The file contains text of the conversation, so only its owner may read it.
    writeFileSync(file, reportHtml(report, { further, version }), { mode: 0o600 });
    const kilobytes = Math.ceil(statSync(file).size / 1024);
    return `${oneLine(resolve(file), 1000)}: a report of ${report.session.id}, ${grouped(kilobytes)} KB. It contains text of the conversation.`;
  } catch (cause) {
    throw new PlimsollError(
      "USAGE",
      `${file} cannot be written (${errorMessage(cause)}). Give --html a file in an existing folder.`,
    );
  }
}

function furtherCommands({ session: { id } }: Report, { data }: ReportFlags): readonly Further[] {
  const where = data === undefined ? "" : ` --data ${shellWord(data)}`;
  return [
    { command: `plimsoll inspect ${id}${where}`, shows: "every unit of the window" },
    { command: `plimsoll log ${id} --full${where}`, shows: "every message as it came" },
    { command: `plimsoll edits ${id}${where}`, shows: "every edit, including undone ones" },
    { command: `plimsoll receipts ${id}${where}`, shows: "every receipt" },
    { command: `plimsoll cost ${id}${where}`, shows: "tokens and money by model" },
    {
      command: `plimsoll recall "what was decided" --session ${id}${where}`,
      shows: "passages about this, including content outside the window",
    },
    {
      command: `plimsoll checkpoints ${id}${where}`,
      shows: "points that `plimsoll restore` can restore",
    },
    { command: `plimsoll serve${where}`, shows: "the same figures, live in a browser" },
  ];
}

function shellWord(text: string): string {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function reportText(report: Report, flags: ReportFlags): string {
  const { session, models, turns, figures, errors, edits, picture } = report;
  const from = turns[0]?.at ?? session.createdAt;
  const to = turns.at(-1)?.endedAt ?? session.updatedAt;
  const names = [session.agent, session.id, models.join(", ")].filter(
    (name) => name !== undefined && name !== "",
  );
  const filled = picture === undefined || picture.limit === 0 ? 0 : picture.tokens / picture.limit;
  const where = flags.data === undefined ? "" : ` --data ${shellWord(flags.data)}`;
  return [
    oneLine(names.join(" · "), 160),
    `${timeOf(from)} UTC, ${counted(figures.turns, "turn")} in ${durationOf(Math.max(0, to - from))}`,
    "",
    ...(picture === undefined
      ? ["This session has no messages yet."]
      : [
          `${grouped(picture.tokens)} of ${grouped(picture.limit)} tokens, window ${windowWords(picture, grouped)}`,
          `${bar(filled, 40)} ${percent(filled)}`,
        ]),
    "",
    table([
      ...figuresShown(figures).map(({ name, value, note }) => [name.toLowerCase(), value, note]),
      ["active edits", grouped(edits.length), ""],
      ["errors", grouped(errors.length), ""],
    ]),
    "",
    `With pictures: plimsoll report ${session.id} --html report.html${where}`,
  ].join("\n");
}
