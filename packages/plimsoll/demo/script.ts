/** The script of the demo: sessions of several agents, generated from a seed. Pure: the same options give the same sessions. */

import type { WireName } from "../src/wire/format/wire.ts";
import { type Dice, diceOf } from "./dice.ts";
import { workFor } from "./episodes.ts";
import { type AgentName, openingWords, systemPrompt } from "./texts-speech.ts";
import { wireForms } from "./wires/forms.ts";
import { type Step, Work } from "./work.ts";

export interface SessionScript {
  /** A unique name. */
  readonly name: string;
  readonly agent: AgentName;
  readonly wire: WireName;
  readonly model: string;
  /** The client's x-plimsoll-priority header. */
  readonly priority?: 1;
  readonly isStreamed: boolean;
  readonly system: string;
  readonly steps: readonly Step[];
}

/** The client's header that names the session, so that the upstream finds its script. */
export const sessionHeader = "x-demo-session";

export interface ScriptOptions {
  readonly seed: number;
  /** Turns of the first session; the others are shorter. */
  readonly turns: number;
  readonly sessions: number;
}

type Actor = Pick<SessionScript, "agent" | "wire" | "model" | "priority" | "isStreamed"> & {
  readonly topic: string;
  /** Size of the model's window in tokens. It is small, so that much happens in a short time. */
  readonly window: number;
};

/** Who speaks which wire to which model. Plimsoll knows the prices of all these models. */
export const cast: readonly [Actor, ...Actor[]] = [
  {
    topic: "winter-schedule",
    agent: "coder",
    wire: "anthropic",
    model: "claude-sonnet-4-5",
    window: 24_000,
    isStreamed: true,
  },
  {
    topic: "review",
    agent: "reviewer",
    wire: "openai-responses",
    model: "gpt-5.1",
    window: 24_000,
    isStreamed: true,
  },
  {
    topic: "handbook",
    agent: "docs",
    wire: "gemini",
    model: "gemini-3-pro-preview",
    window: 20_000,
    isStreamed: true,
  },
  {
    topic: "hotfix",
    agent: "coder",
    wire: "openai-chat",
    model: "gpt-5-mini",
    window: 20_000,
    priority: 1,
    isStreamed: true,
  },
  {
    topic: "pilot-handbook",
    agent: "docs",
    wire: "anthropic",
    model: "claude-haiku-4-5",
    window: 20_000,
    isStreamed: false,
  },
];
const [main, ...others] = cast;

/** Length of the other sessions, as a share of the first. */
const shareOfOthers = 1 / 3;
const fewestTurns = 8;

export function sessionScripts({ seed, turns, sessions }: ScriptOptions): readonly SessionScript[] {
  return Array.from({ length: sessions }, (_, index) => {
    const actor = index === 0 ? main : (others[(index - 1) % others.length] ?? main);
    const name = index <= others.length ? actor.topic : `${actor.topic}-${index}`;
    const count = index === 0 ? turns : Math.max(fewestTurns, Math.round(turns * shareOfOthers));
    return sessionOf(diceOf(seed * 1_000 + index), actor, { name, turns: count });
  });
}

function sessionOf(
  dice: Dice,
  { agent, wire, model, priority, isStreamed }: Actor,
  { name, turns }: { readonly name: string; readonly turns: number },
): SessionScript {
  const work = new Work(dice, `${wireForms[wire].callIdStart}_${name.replaceAll("-", "_")}`);
  work.ask(openingWords(agent, name));
  workFor(work, agent, turns);
  return {
    name,
    agent,
    wire,
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
