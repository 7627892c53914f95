/** Shapes that were recorded of real agents: what the descriptions make of them is what the programs sent. */
import { describe, expect, test } from "vitest";
import { AGENTS } from "./agent-shapes/agents.ts";
import { type AgentShape, loadShape, type RecordedTurn } from "./agent-shapes/shape.ts";
import type { Exchange, Spoken } from "./agent-shapes/spelling.ts";
import { renderEvents, renderJson } from "./harness/answer.ts";
import type { JsonObject } from "./harness/json.ts";
import { readAnswer } from "./harness/reading.ts";

const RECORDED_TURNS = 6;

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
