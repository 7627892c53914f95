/**
 * Agents as they are, through the service: each sends its requests in the shape that was recorded of the real program, for 25
 * turns with results of 9 KB on a small window. Their texts are other words of the same length.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { AGENTS, type Agent } from "./agent-shapes/agents.ts";
import {
  compactions,
  endedEarly,
  finalTurns,
  hiddenResults,
  invalidRequests,
  lostLookups,
  notOnceInLog,
  overWindow,
  refusals,
  sessionsBesideOne,
} from "./agent-shapes/findings.ts";
import { type AgentRun, type RunOptions, runAgent } from "./agent-shapes/run.ts";
import { type AgentShape, loadShape, type RecordedTurn } from "./agent-shapes/shape.ts";
import type { Exchange, Spoken } from "./agent-shapes/spelling.ts";
import { renderEvents, renderJson } from "./harness/answer.ts";
import { isSoak } from "./harness/effort.ts";
import type { JsonObject } from "./harness/json.ts";
import { readAnswer } from "./harness/reading.ts";

const RECORDED_TURNS = 6;
const WINDOW_TOKENS = 60_000;
const AT_ONCE = 3;
const RUNS_LIMIT_MS = 240_000;

describe("the description of an agent", () => {
  test.each(AGENTS)("$name: sends history back as the real one did, byte for byte", (agent) => {
    const shape = loadShape(agent.name);
    for (const { turn, spoken } of retold(shape)) {
      const wanted = turn.conversation.map((message) => spelledOut(message, shape));
      expect(agent.conversation(spoken).map((message) => JSON.stringify(message))).toEqual(
        wanted.map((message) => JSON.stringify(message)),
      );
    }
    expect(shape.recorded).toHaveLength(RECORDED_TURNS);
  });

  test.each(AGENTS)("$name: changes its fields and headers as the real one did", (agent) => {
    const shape = loadShape(agent.name);
    for (const { turn, spoken } of retold(shape)) {
      const fields = { ...shape.fields, ...agent.fields?.(spoken) };
      expect(present(fields)).toEqual(present({ ...shape.fields, ...turn.changedFields }));
      const headers = { ...shape.headers, ...agent.headers?.(spoken) };
      expect(present(headers)).toEqual(present({ ...shape.headers, ...turn.changedHeaders }));
    }
  });
});

/** Each request of a recording, with what had been said before it. */
function retold(shape: AgentShape): readonly { turn: RecordedTurn; spoken: Spoken }[] {
  return shape.recorded.map((turn, index) => {
    const exchanges = shape.recorded.slice(0, index).map((earlier) => exchangeOf(shape, earlier));
    return { turn, spoken: { shape, exchanges, info: turn.info ?? "" } };
  });
}

function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}

function spelledOut(message: JsonObject, { opening }: AgentShape): JsonObject {
  return opening[Number(message["opening"] ?? -1)] ?? message;
}

/** The answer as the agent got it, and the results that it gave for it. */
function exchangeOf({ wire, fields }: AgentShape, { number, answer }: RecordedTurn): Exchange {
  const reply = { kind: "reply", parts: answer } as const;
  const frame = { wire, body: fields, model: "", requestNumber: number, includeUsage: true };
  const sent =
    fields["stream"] === true ? renderEvents(reply, frame).join("") : renderJson(reply, frame);
  const results = answer.flatMap((part) => {
    if (part.kind !== "call") return [];
    const [notes] = /(?<=notes)\d/.exec(part.rawInput ?? JSON.stringify(part.input)) ?? [];
    return [{ id: part.id, tool: part.name, text: `notes ${notes}` }];
  });
  return { message: readAnswer(wire, sent).message, results };
}

interface NamedRun extends RunOptions {
  readonly name: string;
}

function agentNamed(name: string): Agent {
  const found = AGENTS.find((agent) => agent.name === name);
  if (found === undefined) throw new Error(`No agent is called ${name}.`);
  return found;
}

/** These differ little from another agent, so only a soak run has them. Their descriptions are checked in every run. */
const SOAKED = new Set([
  "claude-code-opus",
  "codex-provider",
  "agents-sdk-stream",
  "goose-anthropic",
  "claude-code on 65,536",
]);
const ALL_RUNS: readonly NamedRun[] = [
  ...AGENTS.map((agent) => ({ name: agent.name, agent, windowTokens: WINDOW_TOKENS })),
  { name: "claude-code on 65,536", agent: agentNamed("claude-code"), windowTokens: 65_536 },
  {
    name: "claude-code with a new credential every four turns",
    agent: agentNamed("claude-code"),
    windowTokens: WINDOW_TOKENS,
    keyTurns: 4,
  },
];

const RUNS = ALL_RUNS.filter(({ name }) => isSoak || !SOAKED.has(name));

describe("a history that exceeds its window, with results of 9 KB", () => {
  const finished = new Map<string, AgentRun>();
  beforeAll(async () => {
    const waiting = [...RUNS];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        finished.set(next.name, await runAgent(next));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }, RUNS_LIMIT_MS);

  describe.each(RUNS)("$name", ({ name }) => {
    const run = (): AgentRun => {
      const found = finished.get(name);
      if (found === undefined) throw new Error(`The run of ${name} did not end.`);
      return found;
    };
    const expectNone = (findingsOf: (run: AgentRun) => readonly string[]): void => {
      const findings = findingsOf(run());
      const summary = `${name}: ${findings.length} times.\n${findings.join("\n")}`;
      expect(findings, summary).toHaveLength(0);
    };
    test("takes all its turns", () => expectNone(endedEarly));
    test("is refused nothing", () => expectNone(refusals));
    test("has no turn made final", () => expectNone(finalTurns));
    test("sees every fresh result that fits", () => expectNone(hiddenResults));
    test("reaches its provider with valid requests", () => expectNone(invalidRequests));
    test("stays within the window", () => expectNone(overWindow));
    test("has every answer once in the log", () => expectNone(notOnceInLog));
    test("is compacted at most once in five turns", () => expectNone(compactions));
    test("is one session", () => expectNone(sessionsBesideOne));
    test("keeps what the model looked up", () => expectNone(lostLookups));
  });
});
