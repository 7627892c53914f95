/** The sources that `plimsoll replay` can read: lines of JSON, possibly gzipped, a request body, or a session in the store. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import type { Flags } from "../../config/config.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { recordingOf } from "../../replay/recording.ts";
import type { Recording } from "../../replay/turns.ts";
import { decodeMessage } from "../../session/draft/encode.ts";
import { pathInSnapshot } from "../../session/log/log.ts";
import { bodyWithHead } from "../../session/measure/preamble.ts";
import type { Store } from "../../store/store.ts";
import { wires } from "../../wire/wires.ts";
import { jsonLines } from "../console/json-lines.ts";
import { chooseSession, withStore } from "../console/open-store.ts";

const maxFileBytes = 256 * 1024 * 1024;

/** Contract: throws USAGE if `what` is neither a file nor a session, or contains no conversation. */
export async function readTrace(what: string, flags: Flags): Promise<readonly Recording[]> {
  if (existsSync(what)) return readTraceFile(what);
  if (what.startsWith("ses_")) return [await readSession(what, flags)];
  throw new PlimsollError(
    "USAGE",
    `${what} is neither a file nor a session id. Give a file with recorded conversations or a request body, or an id from \`plimsoll sessions\`.`,
  );
}

/** A missing session is a usage error, even if nothing was ever recorded. The beginning of its id is enough. */
async function readSession(id: string, flags: Flags): Promise<Recording> {
  try {
    return await withStore(flags, async (store) =>
      ofSession(store, await chooseSession(store, id)),
    );
  } catch (error) {
    const isMissing = PlimsollError.is(error) && missing.has(error.code);
    if (!isMissing) throw error;
    throw new PlimsollError("USAGE", error.message);
  }
}

const missing: ReadonlySet<string> = new Set(["NOT_FOUND", "SESSION_UNKNOWN"]);

async function readTraceFile(file: string): Promise<readonly Recording[]> {
  const text = textOf(file);
  const whole = parsed(text);
  if (whole !== undefined) return [recordingOf(whole, file)];
  const recordings = await readLines(file, text);
  if (recordings.length > 0) return recordings;
  throw new PlimsollError("USAGE", `${file} is empty. Give lines of JSON with \`messages\`.`);
}

async function readLines(file: string, text: string): Promise<readonly Recording[]> {
  const recordings: Recording[] = [];
  try {
    for await (const { item, number } of jsonLines(Readable.from([text])))
      recordings.push(recordingOf(item, `Line ${number}`));
    return recordings;
  } catch (error) {
    if (!PlimsollError.is(error)) throw error;
    throw new PlimsollError("USAGE", `${file}: ${error.message}`);
  }
}

function textOf(file: string): string {
  try {
    if (statSync(file).size > maxFileBytes)
      throw new Error(`it is larger than ${maxFileBytes} bytes`);
    const bytes = readFileSync(file);
    const isZipped = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const plain = isZipped ? gunzipSync(bytes, { maxOutputLength: maxFileBytes }) : bytes;
    return plain.toString("utf8").replace(/^\uFEFF/, "");
  } catch (cause) {
    throw new PlimsollError("USAGE", `${file} cannot be read: ${errorMessage(cause)}.`);
  }
}

/** Undefined if the text is not a single JSON value. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The messages of the newest branch as its client sent them, without Plimsoll's edits. */
async function ofSession(store: Store, id: string): Promise<Recording> {
  const snapshot = await store.snapshot(id);
  const wire = Object.values(wires).find(({ name }) => name === snapshot?.session.wire);
  const [turn] = await store.turns(id, 1);
  if (snapshot === undefined || wire === undefined || turn === undefined)
    throw new PlimsollError(
      "USAGE",
      `There is no session ${id} with a turn in it. \`plimsoll sessions\` lists the sessions.`,
    );
  const branch = snapshot.branches.find((one) => one.id === turn.branch);
  const nodes = pathInSnapshot(snapshot, branch?.tipSeq ?? null);
  const seqs = nodes.filter(({ source }) => source !== "inner").map(({ seq }) => seq);
  const bodies = await store.bodies(id, seqs);
  const head = turn.head === undefined ? undefined : await store.head(id, turn.head);
  const messages = seqs.map((seq) => decodeMessage(bodies.get(seq) ?? new Uint8Array()));
  const body = bodyWithHead(wire, head, { model: turn.model, messages });
  return { ...recordingOf(body, id), wire: wire.name };
}
