/** The script of the demo: sessions of several agents, generated from a seed. Pure: the same options give the same sessions. */

import { type Dice, diceOf } from "./dice.ts";
import { workFor } from "./episodes.ts";
import { type AgentName, openingWords, systemPrompt } from "./texts-speech.ts";
import { type Step, Work } from "./work.ts";

export interface SessionScript {
  /** A unique name. */
  readonly name: string;
  readonly agent: AgentName;
  readonly model: string;
  /** The client's x-plimsoll-priority header. */
  readonly priority?: 1;
  readonly isStreamed: boolean;
  readonly system: string;
  readonly steps: readonly Step[];
}

export interface ScriptOptions {
  readonly seed: number;
  /** Turns of the first session; the others are shorter. */
  readonly turns: number;
  readonly sessions: number;
}

/** Plimsoll knows the prices of both models. */
export const demoModels = { large: "claude-sonnet-4-5", small: "claude-haiku-4-5" } as const;

type Cast = Pick<SessionScript, "agent" | "model" | "priority" | "isStreamed"> & {
  readonly topic: string;
};

const main: Cast = {
  agent: "coder",
  model: demoModels.large,
  isStreamed: true,
  topic: "winter-schedule",
};
const others: readonly Cast[] = [
  { agent: "reviewer", model: demoModels.large, isStreamed: true, topic: "review" },
  { agent: "docs", model: demoModels.small, isStreamed: false, topic: "handbook" },
  { agent: "coder", model: demoModels.small, isStreamed: true, priority: 1, topic: "hotfix" },
];

/** Length of the other sessions, as a share of the first. */
const shareOfOthers = 1 / 3;
const fewestTurns = 8;

export function sessionScripts({ seed, turns, sessions }: ScriptOptions): readonly SessionScript[] {
  return Array.from({ length: sessions }, (_, index) => {
    const cast = index === 0 ? main : (others[(index - 1) % others.length] ?? main);
    const name = index <= others.length ? cast.topic : `${cast.topic}-${index}`;
    const count = index === 0 ? turns : Math.max(fewestTurns, Math.round(turns * shareOfOthers));
    return sessionOf(diceOf(seed * 1_000 + index), cast, { name, turns: count });
  });
}

function sessionOf(
  dice: Dice,
  { agent, model, priority, isStreamed }: Cast,
  { name, turns }: { readonly name: string; readonly turns: number },
): SessionScript {
  const work = new Work(dice, name.replaceAll("-", "_"));
  work.ask(openingWords(agent, name));
  workFor(work, agent, turns);
  return {
    name,
    agent,
    model,
    ...(priority === undefined ? {} : { priority }),
    isStreamed,
    system: systemPrompt(agent),
    steps: ended(work.steps.slice(0, turns)),
  };
}

/** Removes the calls of the last answer, because no later turn would send their results. */
function ended(steps: readonly Step[]): readonly Step[] {
  const last = steps.at(-1);
  if (last === undefined) return steps;
  const text = `${last.text} That is all for today; the plan says where to go on.`;
  return [...steps.slice(0, -1), { ...last, text, calls: [] }];
}
