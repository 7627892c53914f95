/** Makes a request from the appended messages: records them, measures the request, and makes it fit. */

import type { Count } from "../../budget/tokenizer.ts";
import type { Asker } from "../../config/levels.ts";
import type { JsonValue } from "../../message/json.ts";
import type { ToolDefinition } from "../../message/tool.ts";
import { finalReport } from "../../offload/own-definitions.ts";
import { type BuiltPrompt, buildPrompt, type PromptSettings } from "../../prompt/sections.ts";
import { readSlices } from "../../wire/format/slices.ts";
import { type Wire, type WireName, wholeSystem } from "../../wire/format/wire.ts";
import { type Draft, offerIn } from "../draft/draft.ts";
import { encodeMessage, usage } from "../draft/encode.ts";
import { targetFields } from "../fit/debug.ts";
import { type AskedTools, withTools } from "../fit/defer-tools.ts";
import { announce, announceSession, type Placed, startNewBranch } from "../log/append.ts";
import { newId } from "../log/ids.ts";
import { loadInner } from "../log/inner-messages.ts";
import { moveTip, whileInUse } from "../log/log.ts";
import { recordError } from "../log/report.ts";
import type { Ruler } from "../measure/message-facts.ts";
import type { Preamble } from "../measure/preamble.ts";
import type { Target } from "../measure/target.ts";
import type { OwnOffer } from "../tools/own-tools-offer.ts";
import {
  endsWithUnthoughtCalls,
  toolRulesOf,
  wantedReasoning,
} from "../turn/configured-request.ts";
import type { TurnContext } from "../turn/context.ts";
import type { TurnServices } from "../turn/services.ts";
import { Turn } from "../turn/turn.ts";
import { appendPending, reopen, useWire } from "./conversation.ts";
import { allowedTools, givenTools } from "./given-tools.ts";
import { showReferences } from "./granted-handles.ts";
import {
  bodyOf,
  draftOf,
  type PrepareOptions,
  type Preparing,
  preparedTurn,
} from "./prepared-request.ts";
import { withoutReasoning } from "./request-messages.ts";
import { isFor, type PreparedTurn, type SessionState } from "./state.ts";
import type { TurnBudget } from "./tool-budget.ts";

export type WireOfProvider = (name: string, wanted?: WireName) => Wire;

export interface PrepareWorld extends TurnContext {
  readonly turns: TurnServices;
}

/**
 * Takes the same steps as a turn of the proxy, but reads the conversation from the session's memory instead of from a request.
 */
export async function prepare(
  context: PrepareWorld,
  state: SessionState,
  given: PrepareOptions,
  { wireOfProvider, budget }: { wireOfProvider: WireOfProvider; budget: TurnBudget },
): Promise<PreparedTurn> {
  const { wire, targets } = targetsOf(context, { ...given, ...agentOf(state) }, wireOfProvider);
  const options = { ...toolRulesOf(context.config, askerOf(state, targets)), ...given };
  state.denial = budget.denial ?? state.denial;
  await state.open?.turn.end({ status: "aborted" });
  await followLog(context, state, targets[0].ruler);
  const { read, turn, placed } = await whileInUse(state.log, () =>
    readAndPlace(context, state, { options, wire, targets }),
  );
  const bare = draftOf(state, {
    ...read,
    turn,
    branch: placed.branch,
    wire: state.wire ?? wire,
    load: () => loadInner(context.store, state.log),
    ...(state.denial === undefined ? {} : { isLast: state.denial }),
  });
  const draft = await withTools(context, bare, {
    offer: read.offer,
    request: plansOf(wire, options),
  });
  const tools = budget.takeHandles();
  await showReferences(context, draft, { newMessages: placed.newMessages, tools });
  const opened = await Turn.open(context.turns, { draft, placed, isLeftOpen: true });
  reportForcedEnd(context, opened);
  return handOver(context, state, { opened, read, budget });
}

/**
 * Switches to the current log of the session. The log that the session used so far may no longer match the store, or may have
 * been dropped from memory.
 */
async function followLog(context: TurnContext, state: SessionState, ruler: Ruler): Promise<void> {
  if (state.log.isAbandoned) await reopen(context, state, ruler);
  else state.log = await context.sessions.current(state.log);
}

async function readAndPlace(
  context: TurnContext,
  state: SessionState,
  given: Pick<ReadHeading, "options" | "wire" | "targets">,
): Promise<{ readonly read: ReadHeading } & PlacedTurn> {
  const read = await readHeading(context, state, given);
  const placed = await place(context, state, read);
  return { read: { ...read, options: withReasoning(context, state, read) }, ...placed };
}

function agentOf({ agent }: SessionState): Pick<SessionState, "agent"> {
  return agent === undefined ? {} : { agent };
}

function askerOf({ agent }: SessionState, [{ provider, model }]: Draft["targets"]): Asker {
  return { agent, provider, model };
}

/** The options with the fields that make the model think as much as the configuration says. */
function withReasoning(
  { config }: Pick<TurnContext, "config">,
  state: SessionState,
  { options, wire, targets, tools }: ReadHeading,
): PrepareOptions {
  const wanted = wantedReasoning(config, askerOf(state, targets));
  if (wanted === undefined) return options;
  const spoken = state.wire ?? wire;
  const last = state.sentMessages.slice(-lastMessages).map(spoken.messages.decode);
  // On another wire, the model's own thoughts are not sent.
  const readable = spoken === wire ? last : last.map(withoutReasoning);
  const body = encodeMessage(bodyOf(wire, { options, targets, tools, system: [] }, []));
  const isAfterCalls = endsWithUnthoughtCalls(readable);
  const fields = wire.body.reasoningFields(body, readSlices(body), { ...wanted, isAfterCalls });
  return { ...options, extra: { ...options.extra, ...Object.fromEntries(fields) } };
}

/** The model's last answer and the results of its calls are among this many messages. */
const lastMessages = 64;

interface PlacedTurn {
  readonly turn: Draft["turn"];
  readonly placed: Placed;
}

/** The parts of a request around the conversation: system prompt, tools, and their sizes. */
interface ReadHeading extends Omit<Heading, "target"> {
  readonly targets: Draft["targets"];
  readonly head: Preamble;
  /** Size of the prompt sections that follow the conversation. */
  readonly tail: Count;
  readonly skills: Count;
  readonly offer?: OwnOffer;
}

async function readHeading(
  context: TurnContext,
  state: SessionState,
  { options, wire, targets }: Pick<ReadHeading, "options" | "wire" | "targets">,
): Promise<ReadHeading> {
  const [target] = targets;
  const tools = toolsOf(state, options);
  const prompt = promptOf(options.system, context.config.prompt);
  const heading = { options, prompt, tools, wire, target };
  const head = await headOf(context, state, heading);
  const tail = await countText(context, heading, prompt.tail);
  const skillsText = prompt.system.find(({ name }) => name === "skills")?.text ?? "";
  const skills = await countText(context, heading, skillsText);
  const offer = await offerOf(context, state, heading);
  const read = { options, prompt, tools, wire, targets, head, tail, skills };
  return offer === undefined ? read : { ...read, offer };
}

/** Adds the messages appended since the last turn to the log. */
async function place(
  context: TurnContext,
  state: SessionState,
  { wire, targets: [{ ruler }] }: ReadHeading,
): Promise<PlacedTurn> {
  const turn = { id: newId("turn"), at: context.now() };
  useWire(state, wire);
  const branch = mainBranch(state, turn.at);
  const appending = { wire, ruler, turn, branch: branch.record.id };
  const { tip, newMessages } = await appendPending(context, state, appending);
  moveTip(branch, tip.seq);
  branch.inFlight++;
  const relation = state.sentMessages.length === newMessages ? "new" : "extends";
  return { turn, placed: { log: state.log, branch, relation, tip, newMessages } };
}

interface Opened {
  readonly opened: Turn;
  readonly read: ReadHeading;
  readonly budget: TurnBudget;
}

/** Makes this turn the open turn of the session and starts its tool budget. */
async function handOver(
  { pricesOf }: TurnContext,
  state: SessionState,
  handed: Opened,
): Promise<PreparedTurn> {
  const { opened, read } = handed;
  const { draft } = opened;
  const providers = nextProviders(opened);
  const beside = { ...read, opened, draft, pricesOf };
  const prepared = (): PreparedTurn => preparedTurn(state, { ...beside, ...providers.now() });
  const begin = (): Promise<void> => beginBudget(handed);
  const { isFinal, refusal } = opened.fitted;
  if (isFinal || refusal !== undefined) await providers.moveOn();
  await begin();
  state.draft = draft;
  state.sent = () => opened.fitted;
  const open = { turn: opened, prepared, begin, moveOn: providers.moveOn };
  state.open = {
    ...open,
    get wire() {
      return providers.now().moved?.target.wire ?? read.wire;
    },
  };
  return prepared();
}

function beginBudget({ opened, read, budget }: Opened): Promise<void> {
  const { draft, fitted } = opened;
  const isListed = fitted.tools.elements.length > 0;
  return budget.begin({
    fitted,
    targets: read.targets,
    rules: read.options,
    who: draft.who,
    lastTool: fitted.outcome === "final" ? finalReport.name : undefined,
    toolsToCome: isListed ? 0 : (offerIn(draft)?.count.tokens ?? 0),
  });
}

interface NextProviders {
  /** Turns to the next provider that can take the request. Returns false if there is none. */
  readonly moveOn: () => Promise<boolean>;
  readonly now: () => Pick<Preparing, "moved" | "reasons">;
}

/** The other providers that the configuration names for this request. Each of them is tried once. */
function nextProviders(opened: Turn): NextProviders {
  const left = [...opened.nextTargets];
  const reasons: string[] = [];
  let moved: Preparing["moved"];
  return {
    now: () => ({ moved, reasons }),
    moveOn: async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const made = await opened.nextRequest(next);
        if (made.kind === "ready") {
          moved = made;
          opened.moveTo(made);
          return true;
        }
        reasons.push(`${next.key}: ${made.reason}`);
      }
      return false;
    },
  };
}

function targetsOf(
  context: TurnContext,
  { target, wire: wanted, maxOutputTokens, agent }: PrepareOptions & Pick<SessionState, "agent">,
  wireOfProvider: WireOfProvider,
): { readonly wire: Wire; readonly targets: Draft["targets"] } {
  const [provider = "", ...model] = target.split("/");
  if (model.length === 0) throw usage(`The target "${target}" must be written as provider/model.`);
  const wire = wireOfProvider(provider, wanted);
  const targets = context.targets.candidates(provider, wire, {
    model: model.join("/"),
    ...(agent === undefined ? {} : { agent }),
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

/** Everything that a request consists of, except the conversation. */
interface Heading {
  readonly options: PrepareOptions;
  readonly prompt: BuiltPrompt;
  readonly tools: readonly ToolDefinition[];
  readonly wire: Wire;
  readonly target: Target;
}

/** A single text becomes one section that does not change. */
function promptOf(
  system: PrepareOptions["system"] = [],
  settings: PromptSettings | undefined,
): BuiltPrompt {
  const sections =
    typeof system === "string" ? [{ name: "base", content: system } as const] : system;
  return buildPrompt(sections, settings);
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
): Promise<Preamble> {
  const system = prompt.system.length === 0 ? undefined : wholeSystem(prompt.system);
  const key = [system, tools, target.ruler.key, wire.name];
  if (isFor(state.head, key)) return state.head.value;
  const value = await context.heads.make(
    {
      system: system === undefined ? undefined : JSON.stringify(system),
      tools: tools.length === 0 ? undefined : JSON.stringify(toolList(wire, tools)),
    },
    target,
  );
  state.head = { key, value };
  return value;
}

function toolList(wire: Wire, tools: readonly ToolDefinition[]): JsonValue {
  const elements = tools.map((tool) => wire.tools.encode(tool));
  return wire.tools.list.changed(undefined, { elements, isWhole: true });
}

/** Plimsoll's tools for this request. A later step decides whether the request includes them. */
async function offerOf(
  context: TurnContext,
  state: SessionState,
  { options, tools, wire, target }: Heading,
): Promise<OwnOffer | undefined> {
  // If the session uses another wire, its tool searches are not in this provider's own format.
  const defersNatively = target.defersNatively && (state.wire ?? wire) === wire;
  const key = [options.tools, tools, target.ruler.key, wire.name, defersNatively];
  if (isFor(state.offer, key)) return state.offer.value;
  const names = givenTools(options.tools).map(({ name }) => name);
  const value =
    tools.length === 0
      ? undefined
      : await context.offers.beside({ wire, tools, names, target: { ...target, defersNatively } });
  state.offer = { key, value };
  return value;
}

/** The tool settings in the caller's `extra` fields. If they cannot be read, Plimsoll does not offer its own tools. */
function plansOf(wire: Wire, { extra }: PrepareOptions): AskedTools["request"] {
  if (extra === undefined) return {};
  try {
    const bare = { model: "", messages: [], tools: [], maxOutputTokens: 1 };
    const body = encodeMessage(wire.body.compose({ ...bare, extra }));
    return wire.body.read(body, readSlices(body));
  } catch {
    return { forbidsOwnTools: true };
  }
}

/** If the tool budget made this the final turn, reports that in the same way as the guard does. */
function reportForcedEnd({ debug }: TurnContext, { draft, fitted }: Turn): void {
  if (fitted.outcome !== "final" || fitted.isFinal) return;
  const { log, turn, targets } = draft;
  const { tokensAfter, limit } = fitted;
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
    "TOKEN_LIMIT_EXCEEDED",
    "Context guard enforced: the context budget for tool results is used up, so this turn is sent as the last one.",
    { tokens: tokensAfter, limit },
  );
}
