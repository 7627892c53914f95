/** `plimsoll simulate`: writes a simulated conversation that is too long, for tests and demonstrations. */

import { PlimsollError } from "../../message/error.ts";
import { messageText } from "../../message/message.ts";
import { splitUnits } from "../../message/unit.ts";
import {
  type SimulatedShape,
  type SimulatedType,
  type Simulation,
  simulateConversation,
  simulatedAreas,
} from "../../simulate/simulate.ts";
import type { SimulatedLanguage } from "../../simulate/simulated-texts.ts";
import type { WireName } from "../../wire/format/wire.ts";
import { wires } from "../../wire/wires.ts";

/** `simulateConversation` checks the values. */
export interface SimulateFlags {
  readonly tokens: number;
  readonly seed: number;
  readonly p1Share?: number;
  readonly p3Share?: number;
  readonly toolCalls?: number;
  readonly type?: readonly string[];
  readonly language?: readonly string[];
  readonly shape?: string;
  readonly format?: string;
  readonly json?: boolean;
}

export function runSimulate({ format = "openai-chat", json, ...flags }: SimulateFlags): void {
  if (!Object.hasOwn(wires, format))
    throw new PlimsollError(
      "USAGE",
      `There is no format "${format}". Use ${Object.keys(wires).join(", ")}.`,
    );
  const messages = simulateConversation(simulationOf(flags));
  if (json === true) {
    const units = splitUnits(messages, simulatedAreas).map(({ first, last, type, priority }) => ({
      first,
      last,
      type,
      priority,
      text: messages
        .slice(first, last + 1)
        .map(messageText)
        .join("\n"),
    }));
    console.log(JSON.stringify({ seed: flags.seed, priority_areas: simulatedAreas, units }));
    return;
  }
  const wire = wires[format as WireName];
  const body = { [wire.fields.messages]: wire.messages.encode(messages) };
  console.log(JSON.stringify(body));
}

function simulationOf({ type, language, shape, ...numbers }: SimulateFlags): Simulation {
  return {
    ...numbers,
    ...(type === undefined ? {} : { types: type as readonly SimulatedType[] }),
    ...(language === undefined ? {} : { languages: language as readonly SimulatedLanguage[] }),
    ...(shape === undefined ? {} : { shape: shape as SimulatedShape }),
  };
}
