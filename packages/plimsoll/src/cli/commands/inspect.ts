/** `plimsoll inspect`: shows what fills the window, by component and by unit. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { budgetTooSmall, effectiveLimit } from "../../budget/guard.ts";
import { type Flags, loadSettings } from "../../config/config.ts";
import { ownLimitsOf } from "../../config/limits.ts";
import type { Config } from "../../config/schema.ts";
import type { WindowPicture, WindowUnit } from "../../message/api.ts";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { isObject, type JsonObject } from "../../message/json.ts";
import { type Message, messageText } from "../../message/message.ts";
import { splitUnits } from "../../message/unit.ts";
import { asGuarded } from "../../session/draft/projection.ts";
import { pictureFromStore } from "../../session/inspect/picture-from-store.ts";
import { requestAsSeen } from "../../session/inspect/request-as-seen.ts";
import { placeOf } from "../../session/inspect/window-at.ts";
import { createFactsReader, type FactsReader } from "../../session/measure/message-facts.ts";
import { createPreambleReader } from "../../session/measure/preamble.ts";
import { createTargets } from "../../session/measure/target.ts";
import { createTokenCounter } from "../../session/measure/token-counter.ts";
import { measureRequest } from "../../session/turn/draft-from-request.ts";
import { type ReadRequest, readAlone } from "../../session/turn/read-request.ts";
import { grouped } from "../../text/digits.ts";
import { harmlessJson } from "../../text/unseen.ts";
import { windowWords } from "../../watch/figures.ts";
import { componentsOf as componentsIn } from "../../watch/kind-words.ts";
import { bodyOfMessages, wireOfBody } from "../../wire/detect.ts";
import { parseJson } from "../../wire/format/slices.ts";
import { wires } from "../../wire/wires.ts";
import { chooseSession, withStore } from "../console/open-store.ts";
import { withProgress } from "../console/progress.ts";
import { bar, oneLine, table } from "../console/terminal.ts";

interface Inspection {
  readonly model: string;
  readonly window: number;
  readonly isWindowGuess?: true;
  readonly limit: number;
  /** The budget, if the limit is higher because system prompt and tools take more than half of the budget. */
  readonly raisedFrom?: number;
  readonly used: number;
  readonly certainty: string;
  readonly components: Readonly<Record<string, number>>;
  readonly units: readonly InspectedUnit[];
}

interface InspectedUnit {
  /** Numbers of the messages, as models and all other commands name them, such as #3–#5. Empty for texts that Plimsoll wrote. */
  readonly messages: string;
  readonly type: string;
  readonly isExchange: boolean;
  /** Priority of the unit, from `priority_areas` of the configuration. 1 is the highest. */
  readonly priority: number;
  readonly tokens: number;
  readonly begins: string;
}

const maxFileBytes = 256 * 1024 * 1024;

export async function runInspect(
  what: string | undefined,
  flags: Flags & { readonly json?: boolean },
): Promise<void> {
  const isFile = what !== undefined && existsSync(what);
  if (what !== undefined && !isFile && !what.startsWith("ses_")) {
    throw new PlimsollError(
      "USAGE",
      `${what} is neither a file nor a session id. Give a file with a request body, or an id from \`plimsoll sessions\`.`,
    );
  }
  const inspection = await withProgress("Measuring", { json: flags.json }, async () => {
    const { config } = loadSettings(flags, process.env);
    if (isFile) return inspectBody(readRequestFile(what), config);
    return withStore(flags, async (store) => {
      const session = await chooseSession(store, what);
      const place = await placeOf({ store }, session, {});
      const inspection = await inspectBody(await requestAsSeen(store, place), config);
      const picture = await pictureFromStore({ store, config, now: Date.now }, session);
      return place.lastTurn === undefined ? inspection : asDrawn(inspection, picture);
    });
  });
  console.log(flags.json === true ? harmlessJson(inspection) : render(inspection));
}

/** For a session, gives the units and sizes of its picture, which every other screen shows, and the limit of the last request. */
function asDrawn(inspection: Inspection, picture: WindowPicture): Inspection {
  const { isWindowGuess: _ofNow, raisedFrom, ...others } = inspection;
  const { tokens: used, limit, window, isWindowGuess } = picture;
  const isRaised = picture.headTokens !== undefined && raisedFrom !== undefined;
  return {
    ...others,
    ...(isRaised ? { raisedFrom } : {}),
    limit,
    window,
    ...(isWindowGuess === true ? { isWindowGuess } : {}),
    used,
    components: componentsIn(picture),
    units: picture.units.filter(isInConversation).map(drawnUnit),
  };
}

function isInConversation({ segments: [segment] }: WindowUnit): boolean {
  return segment !== undefined && !["system", "skills", "tools"].includes(segment.kind);
}

function drawnUnit({
  first,
  last,
  segments,
  type,
  priority,
  tokens,
  begins,
}: WindowUnit): InspectedUnit {
  const kinds = segments.map(({ kind }) => kind);
  return {
    messages: first === undefined || last === undefined ? "" : numbersOf(first, last),
    type: type ?? (kinds.includes("summary") ? "summary" : "placeholder"),
    isExchange: kinds.includes("results"),
    priority: priority ?? usualPriority,
    tokens,
    begins: oneLine(begins, 60),
  };
}

function numbersOf(first: number, last: number): string {
  return first === last ? `#${first}` : `#${first}–#${last}`;
}

/** Of units that touch none of the user's areas. */
const usualPriority = 2;

function readRequestFile(file: string): JsonObject {
  try {
    if (statSync(file).size > maxFileBytes)
      throw new PlimsollError(
        "USAGE",
        `${file} is larger than ${maxFileBytes} bytes. Give a smaller file.`,
      );
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    const body = Array.isArray(value) ? bodyOfMessages(value) : value;
    if (isObject(body)) return body;
  } catch (cause) {
    if (PlimsollError.is(cause)) throw cause;
    throw new PlimsollError(
      "USAGE",
      `${file} cannot be read as JSON (${errorMessage(cause)}). Give a request body or a list of messages.`,
    );
  }
  throw new PlimsollError(
    "USAGE",
    `${file} contains no request. Give a JSON object with \`messages\`.`,
  );
}

async function inspectBody(given: JsonObject, config: Config): Promise<Inspection> {
  const counter = createTokenCounter();
  try {
    return await inspectWith(createFactsReader(counter), given, config);
  } finally {
    await counter.close();
  }
}

async function inspectWith(
  facts: FactsReader,
  given: JsonObject,
  config: Config,
): Promise<Inspection> {
  const read = await readGiven(facts, { model: "unknown", ...given }, config);
  const { request, messages } = read;
  const [target] = read.targets;
  const { provider } = target;
  const measured = measureRequest(read.head, messages, request.toolsInMessage);
  const decoded = decodedIn(read);
  const firstUserTokens = messages[decoded.findIndex(({ role }) => role === "user")]?.tokens ?? 0;
  const preamble = measured.total - measured.conversation;
  const fixed = { head: preamble + firstUserTokens, preamble };
  const own = ownLimitsOf(config, { provider, model: request.model });
  const raisedFrom = budgetTooSmall(asGuarded(target), own, fixed);
  return {
    model: request.model,
    window: target.limit.window,
    ...(target.limit.windowSource === "fallback" ? { isWindowGuess: true } : {}),
    limit: effectiveLimit(asGuarded(target), own, fixed),
    ...(raisedFrom === undefined ? {} : { raisedFrom }),
    used: measured.total,
    certainty: measured.certainty,
    components: componentsOf(measured),
    units: unitsOf(decoded, messages, config.priority_areas ?? []),
  };
}

function readGiven(facts: FactsReader, given: JsonObject, config: Config): Promise<ReadRequest> {
  const wire = wires[wireOfBody(given)];
  const body = new TextEncoder().encode(JSON.stringify(given));
  const targets = createTargets(config, Date.now);
  const hints = { isCompacted: false };
  return readAlone(
    { targets, facts, heads: createPreambleReader(facts) },
    { tenant: "", provider: wire.vendor, wire, body, hints },
  );
}

function decodedIn({ incoming: { wire, body }, request }: ReadRequest): readonly Message[] {
  return request.messages.map((slice) =>
    wire.messages.decode(wire.messages.asMessage(parseJson(body, slice)) ?? {}),
  );
}

function componentsOf({
  system,
  skills,
  tools,
  conversation,
}: ReturnType<typeof measureRequest>): Inspection["components"] {
  return { system, skills, tools, conversation };
}

function unitsOf(
  messages: readonly Message[],
  counted: readonly { readonly tokens: number }[],
  areas: Parameters<typeof splitUnits>[1],
): readonly InspectedUnit[] {
  return splitUnits(messages, areas).map(({ first, last, type, isExchange, priority }) => ({
    // Messages have numbers from 1 on, as in the log.
    messages: numbersOf(first + 1, last + 1),
    type,
    isExchange,
    priority,
    tokens: counted.slice(first, last + 1).reduce((sum, { tokens }) => sum + tokens, 0),
    begins: oneLine(
      messages
        .slice(first, last + 1)
        .map(messageText)
        .join(" "),
      60,
    ),
  }));
}

function render(inspection: Inspection): string {
  const { model, limit, raisedFrom, used, certainty, components, units } = inspection;
  const window = windowWords(inspection, grouped);
  const share = limit === 0 ? 1 : used / limit;
  const lines = [
    `${oneLine(model, 60)}: ${grouped(used)} of ${grouped(limit)} tokens (${certainty}; window ${window})`,
    `${bar(share, 40)} ${Math.round(share * 1000) / 10} %`,
    ...(raisedFrom === undefined
      ? []
      : [
          `The budget is ${grouped(raisedFrom)}. System prompt and tools take more than half of it.`,
        ]),
    "",
    table([["component", "tokens"], ...Object.entries(components)]),
  ];
  if (units.length > 0) {
    const rows = units.map((unit) => [
      unit.messages,
      unit.isExchange ? "exchange" : "message",
      unit.type,
      `P${unit.priority}`,
      unit.tokens,
      unit.begins,
    ]);
    lines.push("", table([["messages", "unit", "type", "priority", "tokens", "begins"], ...rows]));
  }
  return lines.join("\n");
}
