/** Ends a turn: adds the answer to the log, and stores everything in one transaction. */

import type { TokenScale } from "../../budget/token-scale.ts";
import { errorMessage } from "../../message/error.ts";
import type { TurnStatus } from "../../message/event.ts";
import type { JsonObject } from "../../message/json.ts";
import type { Usage } from "../../message/message.ts";
import { moneyOf } from "../../prompt/bill.ts";
import { cutBlocks, joinIds, nameOfBlock } from "../../store/blocks.ts";
import { packBody } from "../../store/body.ts";
import { shortHash } from "../../store/chain.ts";
import type { Counters, TurnRecord, Write } from "../../store/store.ts";
import { withoutCredentials, withoutCredentialsInside } from "../../wire/format/credentials.ts";
import type { Answer } from "../../wire/format/wire.ts";
import { recognizeOverflow } from "../../wire/overflow.ts";
import type { CutAnswer } from "../../work/cut-answer.ts";
import { offerIn } from "../draft/draft.ts";
import { encodeMessage } from "../draft/encode.ts";
import type { Debug } from "../fit/debug.ts";
import { outputToSend, shortenedOutput } from "../fit/last-resort.ts";
import { announceOverflow } from "../fit/refit-after-overflow.ts";
import { noteTurn } from "../fit/when-to-compact.ts";
import type { SessionCache } from "../identify/find-session.ts";
import type { References } from "../identify/provider-ids.ts";
import { agentOf, announce, appendMessages, type Tip } from "../log/append.ts";
import { type LogMessage, moveTip, pathTo, remember, type SessionLog } from "../log/log.ts";
import { reportDegraded } from "../log/report.ts";
import type { LogSaver, Saved } from "../log/save.ts";
import { countersAfter, scaleOf } from "../measure/branch-counters.ts";
import { type Calibrations, noteTaken, takeBasis } from "../measure/calibrations.ts";
import { storedPreamble } from "../measure/preamble.ts";
import type { PricesOf } from "../measure/prices.ts";
import type { Targets } from "../measure/target.ts";
import { rememberSize, sizeAfterTurn } from "../measure/window-size.ts";
import { sumUsage } from "./inner-rounds.ts";
import { type CutTurnEnd, type EndedAnswer, readCut } from "./read-cut.ts";
import { expandAnswer, type RecordingWorld, type SentTurn } from "./record-inner-rounds.ts";

/** The services that the end of a turn needs. */
export interface EndingWorld extends RecordingWorld {
  readonly sessions: Pick<SessionCache, "noteAnswers">;
  readonly calibrations: Calibrations;
  readonly targets: Pick<Targets, "distrust">;
  readonly references: References;
  readonly pricesOf: PricesOf;
  readonly saver: LogSaver;
  readonly debug: Debug;
  /** Called after the turn is stored, if its answer stopped before it was complete. Contract: never throws. */
  readonly onCut: (cut: CutTurnEnd) => void;
}

export interface TurnResult {
  /** Takes the answer if it stopped before it was complete. Default: `onCut`. */
  readonly takesCut?: (cut: CutTurnEnd) => void;
  readonly status: TurnStatus;
  readonly answer?: Answer;
  readonly error?: string;
}

/** Learns from the provider's usage figures how the provider counts tokens and how large a request it accepts. */
function noteUsage(
  { calibrations }: EndingWorld,
  { placed: { log, branch }, draft, fitted, rounds }: SentTurn,
  usage: Usage | undefined,
): void {
  if (usage === undefined) return;
  const { target, measured } = fitted;
  // The usage of the first round belongs to the request that was measured.
  const first = rounds?.usages[0] ?? usage;
  // Calibration is skipped if there were inner rounds, because the request may have changed between them.
  if ((rounds?.messages.length ?? 0) === 0)
    calibrations.observe(log, target, measured, first.inputTokens);
  const { inputTokens, outputTokens } = rounds?.usages.at(-1) ?? usage;
  // The basis includes the lookups of this turn, because the next request contains them too.
  takeBasis(branch, { ...fitted, ...rounds?.reported }, inputTokens);
  const asked = outputToSend(draft, fitted, rounds?.reported?.lookedUpTokens)?.maxTokens;
  noteTaken(log, branch, { givenTokens: outputTokens, askedTokens: asked ?? outputTokens });
}

export async function endTurn(
  world: EndingWorld,
  sent: SentTurn,
  given: TurnResult,
): Promise<Saved> {
  const { placed, fitted, draft } = sent;
  const { log, branch } = placed;
  const harmless = withoutSecrets(given, draft.request.credentials ?? (() => []));
  const { answerTokens, result } = await recordAnswer(world, sent, harmless);
  branch.inFlight--;
  world.sessions.noteAnswers(log);
  const usage = usageOf(sent, result);
  noteUsage(world, sent, usage);
  noteOverflow(world, sent, result);
  noteRefusal(world, sent, result);
  const endedAt = world.now();
  log.record = { ...log.record, updatedAt: endedAt };
  const record = recordOf(sent, result, endedAt);
  const windowTokens = commitCounters(sent, record, answerTokens);
  noteTurn(world, branch, fitted, {
    usage: sent.rounds?.usages.at(-1) ?? usage,
    ...(usage === undefined ? {} : { sentLength: draft.path.length }),
  });
  branch.isChanged = true;
  log.unsaved.push(...turnWrites(sent, record));
  announce(log, {
    type: "turn-end",
    session: log.record.id,
    at: endedAt,
    turn: record.id,
    branch: record.branch,
    provider: fitted.target.provider,
    model: record.model,
    outcome: record.outcome,
    status: record.status,
    measurement: fitted.measurement,
    tokensBefore: fitted.tokensBefore,
    ...(placed.relation === "new" && log.record.title !== undefined
      ? { title: log.record.title }
      : {}),
    windowTokens,
    limit: record.limit,
    ...(record.headTokens === undefined ? {} : { headTokens: record.headTokens }),
    ...(record.windowLimit === undefined ? {} : { windowLimit: record.windowLimit }),
    window: record.window,
    ...(record.isWindowGuess === true ? { isWindowGuess: true } : {}),
    ...(record.priority === undefined ? {} : { priority: record.priority }),
    ...(draft.who.run === undefined ? {} : { run: draft.who.run }),
    ...agentOf(placed.log),
    ...(usage === undefined ? {} : { usage }),
    ...moneyOf(world.pricesOf(fitted.target), { ...fitted, usage, window: record.window }),
    ...(sent.rounds === undefined ? {} : { innerRounds: sent.rounds.innerRounds }),
    ...(record.stopReason === undefined ? {} : { stopReason: record.stopReason }),
    ...(record.error === undefined ? {} : { error: record.error }),
  });
  world.debug("context-guard/build-metrics", () => ({
    ...draft.who,
    ctxTokens: fitted.tokensAfter,
    newTokens: answerTokens,
    schemaTokens: fitted.measurement.tools,
    expectedTokens: fitted.tokensAfter + answerTokens,
    contextPct: Math.round((fitted.tokensAfter / Math.max(1, record.limit)) * 100),
  }));
  return world.saver
    .save(log)
    .finally(() => tellOfCut(world, sent, { ...result, tokens: answerTokens }));
}

function tellOfCut({ onCut }: EndingWorld, sent: SentTurn, ended: EndedAnswer & TurnResult): void {
  const { placed, draft, fitted } = sent;
  const { takesCut = onCut } = ended;
  const answer = readCut(draft.wire, ended);
  if (answer !== undefined && !isAsAsked(sent, answer)) takesCut({ placed, draft, fitted, answer });
}

/** Many clients ask for a few tokens only, for example to test a key. They get what they asked for. */
const leastAsked = 1024;

function isAsAsked({ draft, fitted, rounds }: SentTurn, { end }: CutAnswer): boolean {
  const asked = outputToSend(draft, fitted, rounds?.reported?.lookedUpTokens)?.maxTokens;
  return end === "full_length" && asked !== undefined && asked < leastAsked;
}

/** Makes the window after this turn the current conversation of the branch, and returns its size. */
function commitCounters(sent: SentTurn, record: TurnRecord, answerTokens: number): number {
  const { branch } = sent.placed;
  const counters = countersOf(sent);
  const { usage } = record;
  const current = noteSize(sent, { usage, answerTokens, scale: scaleOf({ counters }) });
  branch.record = { ...branch.record, counters: { ...counters, current } };
  return current;
}

interface AnsweredSize {
  readonly usage: Usage | undefined;
  readonly answerTokens: number;
  readonly scale: TokenScale;
}

/** Remembers the size of the window after this turn, unless another turn of the branch is still running. */
function noteSize(
  { placed, fitted, rounds }: SentTurn,
  { usage, answerTokens, scale }: AnsweredSize,
): number {
  const { branch } = placed;
  const size = sizeAfterTurn(
    {
      requestTokens: fitted.measurement.total,
      reportedTokens: usage && branch.memory.basis?.inputTokens,
      lookedUpTokens: rounds?.reported?.lookedUpTokens ?? 0,
      answerTokens,
    },
    scale,
  );
  if (branch.inFlight === 0) rememberSize(placed, size);
  return size;
}

/** Maximum length of an error message in characters. The rest is cut off. */
const maxErrorChars = 16 * 1024;

/**
 * Removes secrets from every text of an upstream's failure before it is stored. A complete answer stays as it came, because the
 * client sends it back and Plimsoll must recognise it.
 */
function withoutSecrets(result: TurnResult, credentialsOf: () => readonly string[]): TurnResult {
  const { error, answer, status } = result;
  const isWhole = status === "complete" || answer === undefined;
  if (isWhole && error === undefined) return result;
  const credentials = credentialsOf();
  // The first cut is far beyond the final length, so that the final cut cannot leave part of a credential.
  const clean = (text: string): string =>
    withoutCredentials(text.slice(0, 4 * maxErrorChars), credentials).slice(0, maxErrorChars);
  return {
    ...result,
    ...(error === undefined ? {} : { error: clean(error) }),
    ...(isWhole ? {} : { answer: harmlessAnswer(answer, credentials, clean) }),
  };
}

function harmlessAnswer(
  answer: Answer,
  credentials: readonly string[],
  clean: (text: string) => string,
): Answer {
  const { error, stopReason, choices } = answer;
  return {
    ...answer,
    ...(answer.openCall === undefined
      ? {}
      : {
          openCall: {
            ...answer.openCall,
            input: withoutCredentials(answer.openCall.input, credentials),
          },
        }),
    choices: choices.map((choice) =>
      choice.map((message) => withoutCredentialsInside(message, credentials)),
    ),
    ...(stopReason === undefined ? {} : { stopReason: clean(stopReason) }),
    ...(error === undefined
      ? {}
      : { error: { type: clean(error.type), message: clean(error.message) } }),
  };
}

/**
 * Usage of the whole turn. The client sees only the input tokens of the last round, but all rounds cost money, so they are added
 * up.
 */
function usageOf({ rounds }: SentTurn, { answer }: TurnResult): Usage | undefined {
  return sumUsage(rounds?.usages ?? []) ?? answer?.usage;
}

/**
 * Remembers that the window was full before the answer was complete. The client already has this answer, so the next turn makes
 * room.
 */
function noteOverflow(world: EndingWorld, sent: SentTurn, { answer }: TurnResult): void {
  const { error, response } = answer ?? {};
  const body = error === undefined ? (response ?? null) : { error: { ...error } };
  const overflow = recognizeOverflow({ status: 200, body });
  if (overflow === undefined) return;
  const { draft, fitted, isOverflowReported = false } = sent;
  remember(draft.branch, { kind: "must-compact" });
  // The same rejection must be one record, one event and one count.
  if (isOverflowReported) return;
  announceOverflow(world, draft, { fitted, overflow, attempt: 1, isRetried: false });
}

/**
 * Called after a failed turn. If the error says that the server does not defer tools, Plimsoll uses its own tool search from the
 * next request on.
 */
function noteRefusal(
  { targets }: EndingWorld,
  { draft, fitted }: SentTurn,
  { status, error = "", answer }: TurnResult,
): void {
  const { deferral } = fitted.target.wire.tools;
  const isNative = offerIn(draft)?.catalogue?.isNative === true && fitted.tools.isWhole;
  if (status !== "failed" || deferral === undefined || !isNative) return;
  const errorText = `${error} ${answer?.error?.message ?? ""}`;
  if (!deferral.refusal.test(errorText)) return;
  targets.distrust(fitted.target);
  reportDegraded(draft, "view", `the provider does not defer tools itself: ${errorText.trim()}`);
}

/** Records the answer. If the answer cannot be read, the request must still be recorded, so this function does not throw. */
async function recordAnswer(
  world: EndingWorld,
  sent: SentTurn,
  result: TurnResult,
): Promise<{ readonly answerTokens: number; readonly result: TurnResult }> {
  try {
    return { answerTokens: await appendAnswers(world, sent, result), result };
  } catch (error) {
    const message = `The answer could not be recorded: ${errorMessage(error)}`;
    return { answerTokens: 0, result: { status: "incomplete", error: message } };
  }
}

/**
 * Appends the answer and returns its tokens. If there are several choices, they become siblings, and the branch continues from
 * the first.
 */
async function appendAnswers(
  world: EndingWorld,
  sent: SentTurn,
  result: TurnResult,
): Promise<number> {
  const isComplete = result.status === "complete";
  const appended: AppendedChoice[] = [];
  for (const choice of result.answer?.choices ?? [])
    appended.push(await appendChoice(world, sent, { choice, isComplete }));
  const [first] = appended;
  if (first !== undefined) await goOnFrom(world, sent, { tip: first.tip, result });
  return appended.reduce((sum, { tokens }) => sum + tokens, 0);
}

interface AppendedChoice {
  readonly tip: Tip;
  readonly tokens: number;
}

async function appendChoice(
  { facts, now }: EndingWorld,
  { placed, draft, fitted }: SentTurn,
  { choice, isComplete }: { readonly choice: readonly JsonObject[]; readonly isComplete: boolean },
): Promise<AppendedChoice> {
  const bytes = choice.map(encodeMessage);
  const learned = await facts.learn(draft.wire, bytes, fitted.target.ruler);
  const messages = (isComplete ? learned : learned.map(asIncomplete)).map((message, index) => ({
    message,
    bytes: bytes[index] ?? new Uint8Array(),
  }));
  const tip = appendMessages(placed.log, placed.tip, messages, {
    turn: draft.turn.id,
    branch: placed.branch.record.id,
    source: "answer",
    isComplete,
    at: now(),
    priority: draft.who.priority,
  });
  return { tip, tokens: messages.reduce((sum, { message }) => sum + message.tokens, 0) };
}

async function goOnFrom(
  world: EndingWorld,
  sent: SentTurn,
  { tip, result }: { readonly tip: Tip; readonly result: TurnResult },
): Promise<void> {
  const { placed } = sent;
  const isComplete = result.status === "complete";
  if (isComplete) await expandAnswer(world, sent, tip);
  // The tip moves only if no other request has moved it in the meantime.
  if (placed.branch.record.tipSeq === placed.tip.seq) moveTip(placed.branch, tip.seq);
  if (isComplete) noteNames(world, sent, result);
}

/** Gives a partial answer an identity of its own, so that a later complete answer with the same words is not taken for it. */
function asIncomplete(message: LogMessage): LogMessage {
  return { ...message, identity: shortHash(`incomplete ${message.identity}`) };
}

/** Records the ids under which the provider stores the answer, because a later request may contain only such an id. */
function noteNames(
  world: EndingWorld,
  { placed, draft: { wire } }: SentTurn,
  { answer }: TurnResult,
): void {
  const { log } = placed;
  const { tenant, id: session } = log.record;
  const messages = answer?.choices[0] ?? [];
  // The branch's tip is the last message of the answer. The messages before it are its ancestors.
  const nodes = pathTo(log, placed.branch.record.tipSeq, messages.length);
  const named = [
    ...messages.map((message, index) => ({
      names: wire.messages.ownIds(message),
      node: nodes[index],
    })),
    { names: wire.messages.ownIds(answer?.response ?? {}), node: nodes.at(-1) },
  ];
  for (const { names, node } of named) {
    for (const name of node === undefined ? [] : names) {
      const reference = { name, session, seq: node?.seq ?? 0 };
      world.references.note(tenant, reference);
      log.unsaved.push(Promise.resolve({ kind: "reference", tenant, reference }));
    }
  }
}

function recordOf(sent: SentTurn, result: TurnResult, endedAt: number): TurnRecord {
  const { draft, placed, fitted } = sent;
  const {
    turn,
    head,
    who: { priority },
  } = draft;
  const { target } = fitted;
  const stored = storedPreamble(head, placed.leadingMessages);
  const { stopReason } = result.answer ?? {};
  const usage = usageOf(sent, result);
  const shortened = shortenedOutput(draft, fitted, sent.rounds?.reported?.lookedUpTokens);
  const cachedTokens = sent.rounds?.usages.at(-1)?.cacheReadTokens;
  return {
    id: turn.id,
    branch: placed.branch.record.id,
    relation: placed.relation,
    requestTip: placed.tip.seq,
    ...(stored.hash === undefined ? {} : { head: stored.hash }),
    provider: target.provider,
    model: target.model,
    outcome: fitted.outcome,
    status: result.status,
    measurement: fitted.measurement,
    tokensBefore: fitted.tokensBefore,
    tokensAfter: fitted.tokensAfter,
    limit: fitted.limit,
    ...(fitted.headTokens === undefined ? {} : { headTokens: fitted.headTokens }),
    ...(fitted.windowLimit === undefined ? {} : { windowLimit: fitted.windowLimit }),
    window: target.limit.window,
    ...(shortened === undefined ? {} : { shortened }),
    ...(target.limit.windowSource === "fallback" ? { isWindowGuess: true } : {}),
    ...(priority === undefined ? {} : { priority }),
    ...(usage === undefined ? {} : { usage }),
    ...(cachedTokens === undefined ? {} : { cachedTokens }),
    ...(stopReason === undefined ? {} : { stopReason }),
    ...(result.error === undefined ? {} : { error: result.error }),
    startedAt: turn.at,
    endedAt,
  };
}

/** How the provider counts, and the counters of the turn that do not depend on the size of its window. */
function countersOf({ fitted, placed }: SentTurn): Omit<Counters, "current"> {
  const { measurement, target } = fitted;
  const calibration = placed.log.memory.calibrations[target.key];
  return countersAfter({ measurement, target: target.key, calibration });
}

function turnWrites({ placed, draft }: SentTurn, turn: TurnRecord): readonly Promise<Write>[] {
  const { log } = placed;
  const session = log.record.id;
  const writes: Promise<Write>[] = [Promise.resolve({ kind: "turn", session, turn })];
  const { hash, bytes } = storedPreamble(draft.head, placed.leadingMessages);
  if (hash === undefined || log.heads.has(hash)) return writes;
  log.heads.add(hash);
  return [...writes, ...headWrites(log, hash, bytes)];
}

/** Stores only the blocks that are new. If only the date in a long prompt has changed, that is one or two blocks. */
function headWrites(log: SessionLog, hash: string, bytes: Uint8Array): readonly Promise<Write>[] {
  const session = log.record.id;
  const blocks = cutBlocks(bytes);
  const added = blocks.filter(({ id }) => !log.blocks.has(nameOfBlock(id)));
  for (const { id } of added) log.blocks.set(nameOfBlock(id), true);
  return [
    ...added.map(
      async (block): Promise<Write> => ({
        kind: "block",
        session,
        id: block.id,
        body: await packBody(block.bytes, session),
      }),
    ),
    Promise.resolve({ kind: "head", session, hash, blocks: joinIds(blocks) }),
  ];
}
