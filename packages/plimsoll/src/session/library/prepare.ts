/** From what was appended to a request that can be sent: recorded, measured, made to fit. */

import type { Count } from "../../budget/tokenizer.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { type BuiltPrompt, buildPrompt } from "../../prompt/sections.ts";
import { readSlices } from "../../wire/format/slices.ts";
import { type Wire, type WireName, type WireRequest, wholeSystem } from "../../wire/format/wire.ts";
import { type Draft, offerIn, withOffer } from "../draft/draft.ts";
import { encodeMessage, usage } from "../draft/encode.ts";
import { guardOf } from "../draft/projection.ts";
import { targetFields } from "../fit/debug.ts";
import { withFewerTools } from "../fit/defer-tools.ts";
import type { Fitted } from "../fit/last-resort.ts";
import { announce, announceSession, startNewBranch } from "../log/append.ts";
import { newId } from "../log/ids.ts";
import { loadInner } from "../log/inner-messages.ts";
import { moveTip } from "../log/log.ts";
import { recordError } from "../log/report.ts";
import type { Head } from "../measure/preamble.ts";
import type { Target } from "../measure/target.ts";
import type { OwnOffer } from "../tools/own-tools-offer.ts";
import type { TurnContext } from "../turn/context.ts";
import { openTurn } from "../turn/turn.ts";
import { appendPending, reopen, useWire } from "./conversation.ts";
import { showReferences } from "./granted-handles.ts";
import {
  allowedTools,
  draftOf,
  finalReport,
  type PrepareOptions,
  preparedTurn,
} from "./prepared-request.ts";
import { isFor, type PreparedTurn, type SessionState } from "./state.ts";
import type { TurnBudget } from "./tool-budget.ts";

export type WireOfProvider = (name: string, wanted?: WireName) => Wire;

export async function prepare(
  context: TurnContext,
  state: SessionState,
  options: PrepareOptions,
  { wireOfProvider, budget }: { wireOfProvider: WireOfProvider; budget: TurnBudget },
): Promise<PreparedTurn> {
  const { wire, targets } = targetsOf(context, options, wireOfProvider);
  const [target] = targets;
  const { pricesOf } = context;
  state.denial = budget.denial ?? state.denial;
  await state.open?.turn.end({ status: "aborted" });
  if (state.log.isAbandoned) await reopen(context, state, target.ruler);
  else state.log = await context.sessions.current(state.log);
  const tools = toolsOf(state, options);
  const prompt = promptOf(options.system);
  const head = await headOf(context, state, { options, prompt, tools, wire, target });
  const count = (text: string): Promise<Count> => countText(context, { wire, target }, text);
  const tail = await count(prompt.tail);
  const skills = await count(prompt.system.find(({ name }) => name === "skills")?.text ?? "");
  const offer = await offerOf(context, state, { options, prompt, tools, wire, target });
  const turn = { id: newId("turn"), at: context.now() };
  useWire(state, wire);
  const branch = mainBranch(state, turn.at);
  const { tip, newMessages } = await appendPending(context, state, {
    wire,
    ruler: target.ruler,
    turn,
    branch: branch.record.id,
  });
  moveTip(branch, tip.seq);
  branch.inFlight++;
  const placed = {
    log: state.log,
    branch,
    relation: state.said.length === newMessages ? "new" : "extends",
    tip,
    newMessages,
  } as const;
  const bare = draftOf(state, {
    turn,
    branch,
    head,
    targets,
    options,
    wire: state.wire ?? wire,
    tools,
    prompt,
    tail,
    skills,
    load: () => loadInner(context.store, state.log),
    ...(state.denial === undefined ? {} : { isLast: state.denial }),
    ...(offer === undefined ? {} : { offer }),
  });
  const draft = await withTools(context, bare, { offer, plans: plansOf(wire, options) });
  await showReferences(context, draft, { newMessages, tools: budget.takeHandles() });
  const opened = await openTurn(context, { draft, placed, isLeftOpen: true });
  const { fitted } = opened;
  if (fitted.outcome === "final" && !fitted.isFinal) reportEnd(context, draft, fitted);
  const prepared = (): PreparedTurn =>
    preparedTurn(state, { opened, draft, wire, options, tools, prompt, pricesOf });
  const begin = (): Promise<void> =>
    budget.begin({
      fitted: opened.fitted,
      targets,
      rules: options,
      lastTool: opened.fitted.outcome === "final" ? finalReport.name : undefined,
      toolsToCome:
        opened.fitted.tools.elements.length === 0 ? (offerIn(draft)?.count.tokens ?? 0) : 0,
    });
  await begin();
  state.draft = draft;
  state.sent = () => opened.fitted;
  state.open = { turn: opened, wire, prepared, begin };
  return prepared();
}

function targetsOf(
  context: TurnContext,
  { target, wire: wanted, maxOutputTokens }: PrepareOptions,
  wireOfProvider: WireOfProvider,
): { readonly wire: Wire; readonly targets: Draft["targets"] } {
  const [provider = "", ...model] = target.split("/");
  if (model.length === 0) throw usage(`The target "${target}" must be written as provider/model.`);
  const wire = wireOfProvider(provider, wanted);
  const targets = context.targets.candidates(provider, wire, {
    model: model.join("/"),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  });
  return { wire, targets };
}

function mainBranch(state: SessionState, at: number): ReturnType<typeof startNewBranch> {
  const { log, agent } = state;
  const known = [...log.branches.values()].find(({ record }) => record.agent === agent);
  if (known !== undefined) return known;
  announceSession(log, agent, at);
  return startNewBranch(log, { relation: "new", forkSeq: null, agent, at });
}

/** What a turn can be made from, beside what was said. */
interface Heading {
  readonly options: PrepareOptions;
  readonly prompt: BuiltPrompt;
  readonly tools: readonly ToolDefinition[];
  readonly wire: Wire;
  readonly target: Target;
}

/** One text is a section that stays. */
function promptOf(system: PrepareOptions["system"]): BuiltPrompt {
  if (system === undefined) return { system: [], tail: "" };
  return buildPrompt(typeof system === "string" ? [{ name: "base", content: system }] : system);
}

async function countText(
  { facts }: TurnContext,
  { wire, target }: Pick<Heading, "wire" | "target">,
  text: string,
): Promise<Count> {
  return text === ""
    ? { tokens: 0, certainty: "exact" }
    : facts.countSystem(wire, JSON.stringify(text), target.ruler);
}

function toolsOf(state: SessionState, options: PrepareOptions): readonly ToolDefinition[] {
  const key = [options.tools, options.toolsAllowed, options.toolsDenied];
  if (!isFor(state.tools, key)) state.tools = { key, value: allowedTools(options) };
  return state.tools.value;
}

async function headOf(
  context: TurnContext,
  state: SessionState,
  { prompt, tools, wire, target }: Heading,
): Promise<Head> {
  const system = prompt.system.length === 0 ? undefined : wholeSystem(prompt.system);
  const key = [system, tools, target.ruler.key, wire.name];
  if (isFor(state.head, key)) return state.head.value;
  const value = await context.heads.make(
    {
      system: system === undefined ? undefined : JSON.stringify(system),
      tools: tools.length === 0 ? undefined : JSON.stringify(tools.map(wire.tools.encode)),
    },
    target,
  );
  state.head = { key, value };
  return value;
}

/** Tools of ours; whether they belong in the request is another matter. */
async function offerOf(
  context: TurnContext,
  state: SessionState,
  { options, tools, wire, target }: Heading,
): Promise<OwnOffer | undefined> {
  // In another wire's words no answer has a form of this provider's own.
  const defersNatively = target.defersNatively && (state.wire ?? wire) === wire;
  const key = [options.tools, tools, target.ruler.key, wire.name, defersNatively];
  if (isFor(state.offer, key)) return state.offer.value;
  const names = (options.tools ?? []).map(({ name }) => name);
  const value =
    tools.length === 0
      ? undefined
      : await context.offers.beside({ wire, tools, names, target: { ...target, defersNatively } });
  state.offer = { key, value };
  return value;
}

type Plans = Pick<WireRequest, "hasOtherPlans" | "wantedTools">;

function withTools(
  context: TurnContext,
  draft: Draft,
  { offer, plans }: { readonly offer: OwnOffer | undefined; readonly plans: Plans },
): Draft | Promise<Draft> {
  const { hasOtherPlans, wantedTools: wanted = [] } = plans;
  return hasOtherPlans === true
    ? withFewerTools(context, draft, { offer, wanted })
    : withOffer(draft, offer, guardOf(context, draft).limit);
}

/** As in the proxy. What cannot be read has plans that we do not know. */
function plansOf(wire: Wire, { extra }: PrepareOptions): Plans {
  if (extra === undefined) return {};
  try {
    const bare = { model: "", messages: [], tools: [], maxOutputTokens: 1 };
    const body = encodeMessage(wire.body.compose({ ...bare, extra }));
    return wire.body.read(body, readSlices(body));
  } catch {
    return { hasOtherPlans: true };
  }
}

/** Before the next call of the model, as the guard does it. */
function reportEnd({ debug }: TurnContext, draft: Draft, { tokensAfter, limit }: Fitted): void {
  const { log, turn, targets } = draft;
  debug("context-guard/enforce", () => ({
    forcedFinalTurnReason: "context",
    trigger: "tool_preflight",
    action: "final",
    blocked: [{ ...targetFields(targets[0]), limit, projected: tokensAfter }],
  }));
  announce(log, {
    type: "guard-enforced",
    session: log.record.id,
    at: turn.at,
    turn: turn.id,
    action: "final",
    reason: "context",
    tokens: tokensAfter,
    limit,
  });
  recordError(
    draft,
    "RECOVERY_TRIGGERED",
    "The context budget for tool results was used up: the turn goes as the last one.",
    { tokens: tokensAfter, limit },
  );
}
