/**
 * Reads an answer as it streams. If it stops half-way, keeps the part, asks for the rest or again, and puts the parts together.
 * Each step leaves its trace in tasks and tickets.
 */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { StreamingSettings } from "../../config/streaming.ts";
import { errorMessage } from "../../message/error.ts";
import type { JsonObject } from "../../message/json.ts";
import type { Message } from "../../message/message.ts";
import { answerAgain, continueAnswer } from "../../text/for-models.ts";
import type { Answer, Wire } from "../../wire/format/wire.ts";
import { combine, contentOf } from "../../work/combine.ts";
import { partialOf } from "../../work/cut-answer.ts";
import type { Task } from "../../work/task.ts";
import type { Ticket } from "../../work/ticket.ts";
import type { CutTurns, OwnCut } from "../cut/cut-turns.ts";
import type { CutHandled } from "../cut/handle-cut.ts";
import { type PartialPlace, saveWhole } from "../cut/save-partial.ts";
import type { Saved } from "../log/save.ts";
import type { CutTurnEnd } from "../turn/read-cut.ts";
import type { Work } from "../work/work.ts";
import type { Patience, ReadAnswer } from "./read-stream.ts";
import type { PreparedTurn } from "./state.ts";

export interface StreamedOptions {
  /** Tokens that you expect of the whole answer. */
  readonly estimate?: number;
  /** What was asked for. Default: the user's last words. */
  readonly prompt?: string;
  /** The task of the answer: its id, or what it is about. Default: the session's task. */
  readonly task?: string;
  /** Parts go next to the files that the answer writes, which must be inside this folder. Default: Plimsoll's data folder. */
  readonly beside?: string;
  /** Sends a prepared turn and returns the stream of its answer. Without it, nothing is asked for again. */
  readonly send?: (turn: PreparedTurn) => Promise<AsyncIterable<unknown>>;
  /** A command that checks the whole file, such as `["npx", "tsc", "--noEmit", "{file}"]`. `{file}` is its path. */
  readonly check?: readonly string[];
  /** Resolves after this time. Default: a timer. */
  readonly wait?: Patience["wait"];
}

export type Streamed =
  | { readonly kind: "complete"; readonly saved: Saved }
  /** The rest arrived too. `path` is the whole file. If a command checked it, `isVerified` says what it found. */
  | {
      readonly kind: "completed";
      readonly task: Task;
      readonly followUp: Task;
      readonly path: string | undefined;
      readonly isVerified: boolean;
    }
  /** A task waits for the rest. */
  | {
      readonly kind: "followed-up";
      readonly task: Task;
      readonly followUp: Task;
      readonly path: string | undefined;
    }
  /** The conversation is small enough now. Ask again. */
  | { readonly kind: "compressed"; readonly task: Task }
  | { readonly kind: "escalated"; readonly task: Task; readonly ticket: Ticket };

export interface SessionStreaming {
  /**
   * Like `commit`, for a stream that may stop half-way. Plimsoll then keeps the part, and with `send` asks for the rest or again.
   * It gives a stream up if nothing arrives for `llm.streaming.timeout_inactivity_seconds`.
   */
  streamed(stream: AsyncIterable<unknown>, options?: StreamedOptions): Promise<Streamed>;
}

export interface StreamWorld extends Pick<CutTurns, "cutNow"> {
  readonly work: Pick<Work, "tasks" | "tickets">;
}

/** What the session itself does for a streamed answer. */
export interface StreamSession {
  readonly tenant: string;
  readonly wire: () => Wire;
  readonly read: (stream: AsyncIterable<unknown>, patience: Patience) => Promise<ReadAnswer>;
  readonly commit: (read: ReadAnswer, takesCut: (cut: CutTurnEnd) => void) => Promise<Saved>;
  /** Appends the user's words and prepares the next turn for the same target. */
  readonly goOn: (words: Message) => Promise<PreparedTurn>;
}

/** An answer that is cut again and again is given up after this many attempts. */
const attemptsMost = 3;

export function streamed(flow: Streaming, stream: AsyncIterable<unknown>): Promise<Streamed> {
  return attempt(flow, stream, 1);
}

export interface Streaming {
  readonly world: StreamWorld;
  readonly session: StreamSession;
  readonly settings: StreamingSettings;
  readonly options: StreamedOptions;
}

async function attempt(
  flow: Streaming,
  stream: AsyncIterable<unknown>,
  number: number,
): Promise<Streamed> {
  const { world, options } = flow;
  const { saved, cut } = await record(flow, stream);
  if (cut === undefined) return { kind: "complete", saved };
  const handled = await world.cutNow(cut, ownOf(options));
  const { task } = handled;
  if (handled.kind === "escalated") return { kind: "escalated", task, ticket: handled.ticket };
  if (handled.kind === "compressed") {
    if (options.send === undefined || number >= attemptsMost) return { kind: "compressed", task };
    return attempt(flow, await ask(flow, answerAgain), number + 1);
  }
  const path = handled.saved?.kind === "saved" ? handled.saved.path : undefined;
  const { followUp } = handled;
  if (options.send === undefined) return { kind: "followed-up", task, followUp, path };
  return complete(flow, { cut, handled, path });
}

function ownOf({ estimate, prompt, task, beside }: StreamedOptions): OwnCut {
  const place: PartialPlace | undefined =
    beside === undefined ? undefined : { kind: "beside", root: beside };
  return { estimate, prompt, task, place };
}

/** Reads and records an answer. `cut` is set if it stopped half-way. */
async function record(
  { session, settings, options: { wait } }: Streaming,
  stream: AsyncIterable<unknown>,
): Promise<{ readonly saved: Saved; readonly cut?: CutTurnEnd; readonly answer: Answer }> {
  const { inactivityMs } = settings;
  const read = await session.read(stream, {
    inactivityMs,
    ...(wait === undefined ? {} : { wait }),
  });
  const cuts: CutTurnEnd[] = [];
  const saved = await session.commit(read, (cut) => cuts.push(cut));
  const [cut] = cuts;
  if (cut === undefined) return { saved, answer: read.answer };
  const answer = read.isSilent === true ? { ...cut.answer, end: "silent" as const } : cut.answer;
  return { saved, cut: { ...cut, answer }, answer: read.answer };
}

async function ask(
  { session, options }: Streaming,
  words: string,
): Promise<AsyncIterable<unknown>> {
  const turn = await session.goOn({ role: "user", parts: [{ kind: "text", text: words }] });
  if (options.send === undefined) throw new Error("There is no `send`.");
  return options.send(turn);
}

interface CutPart {
  readonly cut: CutTurnEnd;
  readonly handled: Extract<CutHandled, { kind: "followed-up" }>;
  readonly path: string | undefined;
}

/** Works on the follow-up task: asks for the rest, puts it behind the part, and has the whole checked. */
async function complete(flow: Streaming, part: CutPart): Promise<Streamed> {
  const { handled, path } = part;
  const { task, followUp } = handled;
  await report(flow, followUp.id, "in_progress");
  const content =
    path === undefined ? (partialOf(part.cut.answer)?.content ?? "") : await readFile(path, "utf8");
  const words = continueAnswer({ part: content, basis: handled.completion.basis, path });
  const rest = await record(flow, await ask(flow, words));
  if (rest.cut !== undefined) {
    const cutAgain = await report(flow, followUp.id, "partial", "The rest was cut off too.");
    return { kind: "followed-up", task, followUp: cutAgain, path };
  }
  const whole = combine(content, restOf(flow.session.wire(), rest.answer));
  const file = path === undefined ? undefined : await saveWhole(path, whole);
  return settle(flow, { task, followUp, file });
}

interface Finished {
  readonly task: Task;
  readonly followUp: Task;
  /** The whole file. */
  readonly file: string | undefined;
}

/** Ends both tasks: as verified if the caller's command finds nothing wrong, as done if there is no command. */
async function settle(flow: Streaming, { task, followUp, file }: Finished): Promise<Streamed> {
  const checked = file === undefined ? undefined : await check(flow.options.check, file);
  const isVerified = checked?.kind === "passed";
  if (checked?.kind === "failed") {
    const failed = await report(flow, followUp.id, "failed", checked.reason);
    return { kind: "completed", task, followUp: failed, path: file, isVerified };
  }
  await report(flow, followUp.id, "done");
  const status = isVerified ? "verified" : "done";
  return {
    kind: "completed",
    task: await report(flow, task.id, status),
    followUp: await report(flow, followUp.id, status),
    path: file,
    isVerified,
  };
}

function report(
  { world, session: { tenant } }: Streaming,
  id: string,
  status: Task["status"],
  note?: string,
): Promise<Task> {
  return world.work.tasks.report(tenant, id, { status, ...(note === undefined ? {} : { note }) });
}

/** What an answer adds to the part: the content of the file that it writes, its code block, or its words. */
function restOf(wire: Wire, { choices }: Answer): string {
  const parts = (choices[0] ?? []).flatMap(
    (message: JsonObject) => wire.messages.decode(message).parts,
  );
  const call = parts.findLast((part) => part.kind === "tool-call");
  const written = call === undefined ? undefined : partialOf({ text: "", call });
  const text = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("");
  return written?.kind === "file" ? written.content : contentOf(text);
}

type Checked = { readonly kind: "passed" } | { readonly kind: "failed"; readonly reason: string };

const checkMostMs = 120_000;
const outputMost = 4000;

/** Runs the command without a shell. Undefined if there is no command. */
async function check(
  command: readonly string[] | undefined,
  file: string,
): Promise<Checked | undefined> {
  const [program, ...given] = command ?? [];
  if (program === undefined) return undefined;
  const options = given.map((option) => option.replaceAll("{file}", file));
  return new Promise((resolve) => {
    execFile(
      program,
      options,
      { cwd: dirname(file), timeout: checkMostMs },
      (error, stdout, stderr) => {
        if (error === null) resolve({ kind: "passed" });
        else {
          const said = `${stdout}\n${stderr}`.trim().slice(-outputMost);
          resolve({
            kind: "failed",
            reason: `The check failed (${program}): ${said || errorMessage(error)}`,
          });
        }
      },
    );
  });
}
