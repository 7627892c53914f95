/** One recorded conversation through `receive`, turn by turn; every request that goes out is counted and judged. */

import type { Engine } from "../packages/plimsoll/src/engine.ts";
import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import { answerOf, bodyOf, type ReplayTurn } from "../packages/plimsoll/src/replay/turns.ts";
import type { FactsReader } from "../packages/plimsoll/src/session/measure/message-facts.ts";
import {
  type Finding,
  newViolations,
  type RuleInput,
  validate,
} from "../packages/plimsoll/src/wire/validate/validate.ts";
import { wires } from "../packages/plimsoll/src/wire/wires.ts";
import { scriptFor, type Trace, type WireForm } from "./trace-wires.ts";

type Received = Awaited<ReturnType<Engine["receive"]>>;

export const maxOutput = 256;

export interface Replay {
  readonly engine: Engine;
  readonly facts: FactsReader;
  readonly form: WireForm;
  /** In the configuration of `plimsoll`: what window this conversation has. */
  readonly provider: string;
  readonly trace: Trace;
}

export interface Violation extends Finding {
  readonly trace: string;
  /** Which request of the conversation. */
  readonly request: number;
  readonly outcome: string;
}

export interface Replayed {
  requests: number;
  edited: number;
  /** What each compaction left of the conversation, as shares of the room that there is for it. */
  readonly compactions: number[];
  readonly violations: Violation[];
  /** Requests that were sent with more than the window holds. */
  readonly overWindow: string[];
  /** Requests whose own measure is not what stands in the bytes that were sent. */
  mismeasured: number;
  readonly refused: string[];
  final: number;
  /** What the validator finds in the client's own last request, by rule. */
  readonly originalRules: string[];
  /** Of the client's last request. */
  headTokens: number;
  conversationTokens: number;
}

/** A request, as the client made it and as it was sent. */
interface Sent {
  readonly original: JsonObject;
  readonly originalText: string;
  readonly body: JsonObject;
  readonly bodyText: string;
}

/** What was sent the last time, and the edits that there were. */
interface Previous {
  readonly sent: Sent | undefined;
  readonly edits: number;
  readonly patches: Received["fitted"]["patches"];
}

export async function replay(replaying: Replay): Promise<Replayed> {
  const { form, trace } = replaying;
  const result = nothingYet();
  const script = scriptFor(form, trace, maxOutput);
  const soFar: JsonObject[] = [];
  let original: JsonObject = script.head;
  let previous: Previous = { sent: undefined, edits: 0, patches: [] };
  for (const { added, answer } of script.turns) {
    soFar.push(...added);
    original = bodyOf(script, soFar);
    previous = await sendOne(replaying, { original, answer, previous }, result);
    soFar.push(...(answer ?? []));
  }
  const findings = validate({
    wire: form.wire,
    body: original,
    bodyText: JSON.stringify(original),
  });
  result.originalRules.push(...findings.map(({ rule }) => rule));
  return result;
}

export function nothingYet(): Replayed {
  return {
    requests: 0,
    edited: 0,
    compactions: [],
    violations: [],
    overWindow: [],
    mismeasured: 0,
    refused: [],
    final: 0,
    originalRules: [],
    headTokens: 0,
    conversationTokens: 0,
  };
}

interface Sending {
  readonly original: JsonObject;
  readonly answer: ReplayTurn["answer"] | undefined;
  readonly previous: Previous;
}

async function sendOne(
  { engine, facts, form, provider, trace }: Replay,
  { original, answer, previous }: Sending,
  result: Replayed,
): Promise<Previous> {
  const wire = wires[form.wire];
  const originalText = JSON.stringify(original);
  const body = Buffer.from(originalText);
  const hints = { clientKey: `trace:${provider}`, isCompacted: false };
  const turn = await engine.receive({ tenant: "local", provider, wire, body, hints });
  const { outcome, measured, limit, refusal } = turn.fitted;
  result.requests++;
  result.headTokens = measured.system + measured.tools;
  result.conversationTokens = Math.max(result.conversationTokens, measured.conversation);
  const name = `${trace.meta.id}, request ${result.requests}`;
  if (refusal !== undefined) {
    result.refused.push(`${name}: needs ${refusal.needTokens} of ${refusal.limitTokens}`);
    await turn.end({ status: "aborted" });
    return { ...previous, sent: undefined };
  }
  if (outcome === "final") result.final++;
  if (outcome === "compacted")
    result.compactions.push(measured.conversation / (limit - result.headTokens));
  if (turn.body !== undefined) result.edited++;
  const bodyText = turn.body === undefined ? originalText : new TextDecoder().decode(turn.body);
  const sent = { original, originalText, bodyText, body: JSON.parse(bodyText) as JsonObject };
  const tokens = await countSent(facts, form, turn, sent.body);
  if (Math.abs(tokens - measured.total) > slack(turn)) result.mismeasured++;
  const { window } = turn.fitted.target.limit;
  if (tokens + maxOutput > window)
    result.overWindow.push(`${name} (${outcome}): ${tokens} + ${maxOutput} tokens of ${window}`);
  const edits = (await engine.store.edits(turn.session)).length;
  const editedFrom = edits > previous.edits ? firstNew(turn, previous) : undefined;
  const findings = newViolations(judgedOf(form, sent, previous, editedFrom)).filter(
    ({ rule, message }) =>
      !(rule === "X1" && message.startsWith("tools ") && isJoinedByOurs(turn, sent, previous)),
  );
  const about = { trace: trace.meta.id, request: result.requests, outcome };
  result.violations.push(...findings.map((finding) => ({ ...finding, ...about })));
  const response = answer && answerOf(answer, { inputTokens: tokens, outputTokens: 50 });
  await turn.end(
    response === undefined ? { status: "aborted" } : { status: "complete", answer: response },
  );
  // The last words of a final turn are gone with the next request: they are not the client's, nor an edit.
  return { sent: outcome === "final" ? undefined : sent, edits, patches: turn.fitted.patches };
}

/** Our tools are counted as a list of their own: a bracket and a comma more or less. */
function slack({ fitted }: Received): number {
  return fitted.tools.elements.length === 0 ? 0 : 8;
}

/** Ours come in once, behind the client's own, with the first handle: that changes the tools on purpose. */
function isJoinedByOurs({ fitted }: Received, sent: Sent, previous: Previous): boolean {
  const toolsOf = (one: Sent | undefined): readonly unknown[] => {
    const tools = one?.body["tools"];
    return Array.isArray(tools) ? tools : [];
  };
  const [before, now] = [toolsOf(previous.sent), toolsOf(sent)];
  const own = fitted.tools.elements.map((bytes) => new TextDecoder().decode(bytes));
  const isSame =
    JSON.stringify(now) === JSON.stringify([...before, ...own.map((text) => JSON.parse(text))]);
  return own.length > 0 && isSame;
}

/** Counted anew from what stands in the body that was sent. */
async function countSent(
  facts: FactsReader,
  { wire }: WireForm,
  { fitted }: Received,
  body: JsonObject,
): Promise<number> {
  const items = body[wires[wire].fields.messages];
  const bytes = (Array.isArray(items) ? items : []).map((item) =>
    new TextEncoder().encode(JSON.stringify(item)),
  );
  const { ruler } = fitted.target;
  const counted = await facts.learn(wires[wire], bytes, ruler);
  const textOf = (name: string): string | undefined =>
    body[name] === undefined ? undefined : JSON.stringify(body[name]);
  const system = textOf(wire === "anthropic" ? "system" : "instructions");
  const tools = textOf("tools");
  const head = [
    ...(system === undefined ? [] : [await facts.countSystem(wires[wire], system, ruler)]),
    ...(tools === undefined ? [] : [await facts.countTools(tools, ruler)]),
  ];
  return [...counted, ...head].reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Where in the body the first edit stands that the last request did not have. */
function firstNew({ fitted }: Received, { patches: before }: Previous): number {
  return Math.min(firstOnlyIn(fitted.patches, before), firstOnlyIn(before, fitted.patches));
}

/** Where the first patch stands that the others do not have: an edit that was made, or one that was taken back. */
function firstOnlyIn(patches: Previous["patches"], others: Previous["patches"]): number {
  const keyOf = ({ first, end, elements }: Previous["patches"][number]): string =>
    [first, end, ...elements.map((bytes) => Buffer.from(bytes).toString())].join("\0");
  const known = new Set(others.map(keyOf));
  let added = 0;
  for (const patch of patches) {
    if (!known.has(keyOf(patch))) return patch.first + added;
    added += patch.elements.length - (patch.end - patch.first);
  }
  return Number.POSITIVE_INFINITY;
}

function judgedOf(
  { wire, model }: WireForm,
  sent: Sent,
  { sent: before }: Previous,
  editedFrom: number | undefined,
): RuleInput {
  const history = before && {
    previousOriginal: before.original,
    previousSent: before.body,
    previousSentText: before.bodyText,
  };
  const edited = editedFrom === undefined ? {} : { editedFrom };
  return { wire, model, ...sent, ...history, ...edited, synthetic: [] };
}
