/**
 * `plimsoll forget`: deletes sessions. It first says what it would delete, and asks. If a service is running, the service does the work;
 * otherwise the command changes the data folder itself.
 */

import { createInterface } from "node:readline/promises";
import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import type { ForgetAnswer, HoldingSum } from "../../message/api.ts";
import { PlimsollError } from "../../message/error.ts";
import { openPlimsoll } from "../../plimsoll.ts";
import { looksLikeId } from "../../session/log/ids.ts";
import type { Holding } from "../../store/forget/forgetting.ts";
import type { Store } from "../../store/store.ts";
import { harmlessJson } from "../../text/unseen.ts";
import { holdingWords } from "../../watch/holding-words.ts";
import { askRunning } from "../console/ask-running.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { withProgress } from "../console/progress.ts";
import { findService } from "../console/running.ts";

export interface ForgetFlags extends Flags {
  /** In milliseconds. */
  readonly olderThan?: number;
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

type Wanted =
  | { readonly kind: "one"; readonly id: string }
  | { readonly kind: "older"; readonly milliseconds: number }
  | { readonly kind: "all" };

export async function runForget(id: string | undefined, flags: ForgetFlags): Promise<void> {
  const wanted = wantedBy(id, flags);
  const { sessions, sum } = await withStore(flags, (store) => choose(store, wanted));
  if (sessions.length === 0 && wanted.kind === "older") {
    print(flags, { ...sum, unfinished: [] });
    return;
  }
  if (flags.yes !== true && !(await isConfirmed(sum))) {
    console.error("Nothing was deleted.");
    process.exitCode = 1;
    return;
  }
  const settings = loadSettings(flags, process.env);
  const answer = await withProgress("Forgetting", { json: flags.json }, () =>
    forget(settings, wanted, sessions),
  );
  print(flags, answer);
}

function wantedBy(id: string | undefined, { olderThan, all }: ForgetFlags): Wanted {
  const given = [
    ...(id === undefined ? [] : [{ kind: "one", id } as const]),
    ...(olderThan === undefined ? [] : [{ kind: "older", milliseconds: olderThan } as const]),
    ...(all === true ? [{ kind: "all" } as const] : []),
  ];
  const [wanted] = given;
  if (wanted !== undefined && given.length === 1) return wanted;
  throw new PlimsollError(
    "USAGE",
    "Say what to forget: the id of a session, --older-than 30d, or --all. Give only one of them.",
  );
}

interface Chosen {
  readonly sessions: readonly string[];
  readonly sum: HoldingSum;
}

async function choose(store: Store, wanted: Wanted): Promise<Chosen> {
  if (wanted.kind === "one") {
    const id = await wholeId(store, wanted.id);
    return { sessions: [id], sum: { ...sumOf(await store.holdings([id])), sessions: 1 } };
  }
  const before =
    wanted.kind === "older" ? Date.now() - wanted.milliseconds : Number.MAX_SAFE_INTEGER;
  const found = await readUntil(store, before);
  return { sessions: found.map(({ session }) => session), sum: sumOf(found) };
}

/** A whole id may also be that of a session that was put aside, or whose deletion was interrupted. */
async function wholeId(store: Store, id: string): Promise<string> {
  return looksLikeId(id) ? id : chooseSession(store, id);
}

const sessionsPerPage = 1000;
/** Maximum number of sessions that one request to the service may name. */
const sessionsMost = 10_000;

/** The sessions whose last turn was before this time, newest first, and how much the store contains of each. */
async function readUntil(store: Store, time: number): Promise<readonly Holding[]> {
  const found: Holding[] = [];
  let before = { updatedAt: time, id: "" };
  for (;;) {
    const page = await store.sessions({ before, limit: sessionsPerPage });
    found.push(...(await store.holdings(page.map(({ id }) => id))));
    const last = page.at(-1);
    const isFull = found.length >= sessionsMost;
    if (last === undefined || page.length < sessionsPerPage || isFull) return found;
    before = last;
  }
}

function sumOf(holdings: readonly Holding[]): HoldingSum {
  const sum = { sessions: holdings.length, messages: 0, archiveEntries: 0, bytes: 0 };
  for (const { messages, archiveEntries, bytes } of holdings) {
    sum.messages += messages;
    sum.archiveEntries += archiveEntries;
    sum.bytes += bytes;
  }
  return sum;
}

async function isConfirmed(sum: HoldingSum): Promise<boolean> {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true)
    throw new PlimsollError(
      "USAGE",
      `This would delete ${holdingWords(sum)} for good. There is no terminal to ask you on, so add --yes.`,
    );
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`Delete ${holdingWords(sum)} for good? [y/N] `);
    return /^y(?:es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

async function forget(
  settings: Settings,
  wanted: Wanted,
  sessions: readonly string[],
): Promise<ForgetAnswer> {
  const running = await findService(settings.data);
  const isEverything = wanted.kind === "all";
  if (running !== undefined)
    return (await askRunning(
      running.url,
      settings,
      "/api/forget",
      isEverything ? { all: true } : { sessions },
    )) as ForgetAnswer;
  const { data, config } = settings;
  const plimsoll = await openPlimsoll({ data, config });
  try {
    return await plimsoll.forgetting.forget(sessions, { isEverything });
  } finally {
    await plimsoll.close();
  }
}

function print({ json }: ForgetFlags, answer: ForgetAnswer): void {
  const { unfinished, ...sum } = answer;
  console.log(json === true ? harmlessJson(answer) : `Deleted: ${holdingWords(sum)}.`);
  for (const sentence of unfinished) console.error(`plimsoll: ${sentence}`);
  if (unfinished.length > 0) process.exitCode = 1;
}
