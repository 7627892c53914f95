/** Simulates conversations that are too long, for tests and demonstrations. The same wish gives the same conversation. */

import { estimateTokens } from "../compact/excerpt/long-lines.ts";
import { PlimsollError } from "../message/error.ts";
import type { Message, Part } from "../message/message.ts";
import type { PriorityArea, UnitType } from "../message/unit.ts";
import { between, type Dice, diceOf, pick } from "./dice.ts";
import {
  jsonText,
  logLines,
  makeFile,
  planText,
  type SimulatedFile,
  type SimulatedLanguage,
  saying,
  simulatedLanguages,
} from "./simulated-texts.ts";

export type { SimulatedLanguage } from "./simulated-texts.ts";
export type SimulatedType = Exclude<UnitType, "summary" | "placeholder">;
export type SimulatedShape = (typeof simulatedShapes)[number];

export interface Simulation {
  /** The size of the conversation. A tokenizer counts about so many. */
  readonly tokens: number;
  /** Default: 1. */
  readonly seed?: number;
  /** Share of units with priority 1. Their texts match the patterns of `simulatedAreas`. Default: 0.3. */
  readonly p1Share?: number;
  /** Share of units with priority 3, in the same way. Default: a half of the units that do not have priority 1. */
  readonly p3Share?: number;
  /** Default: all. */
  readonly types?: readonly SimulatedType[];
  /** Share of units that are tool exchanges. Default: 0.7. */
  readonly toolCalls?: number;
  /** Default: English. */
  readonly languages?: readonly SimulatedLanguage[];
  /**
   * giant: one message holds nearly everything. fragmented: thousands of tiny messages. misclassified: texts look like
   * something that they are not. Default: mixed.
   */
  readonly shape?: SimulatedShape;
}

/** The `priority_areas` that give simulated units their priorities. */
export const simulatedAreas: readonly PriorityArea[] = [
  { name: "To Do List", priority: 1, patterns: ["to do list"] },
  { name: "Scratch", priority: 3, patterns: ["scratch note"] },
];

export const simulatedTypes = ["message", "code", "plan_ref", "log", "other"] as const;
export const simulatedShapes = ["mixed", "giant", "fragmented", "misclassified"] as const;
/** The bounds of a simulation, so that it ends and fits into memory. */
const size = { least: 200, most: 5_000_000 };
const seedMax = 2 ** 32 - 1;
const filesMax = 40;
const usualP1Share = 0.3;

/** Throws USAGE if the wish makes no sense. */
export function simulateConversation(simulation: Simulation): readonly Message[] {
  check(simulation);
  const world = new World(simulation);
  const { tokens, shape = "mixed" } = simulation;
  const messages: Message[] = [world.opening()];
  let sum = sizeOf(messages);
  const ending = world.ending();
  const room = tokens - sizeOf(ending);
  for (let unit = 0; sum < room; unit++) {
    const next = shape === "fragmented" ? world.fragment(unit) : world.unit(unit);
    messages.push(...next);
    sum += sizeOf(next);
    if (shape === "giant" && unit === 2) {
      const giant = world.giant(room - sum);
      messages.push(...giant);
      sum += sizeOf(giant);
    }
  }
  return [...messages, ...ending];
}

function check({ tokens, seed = 1, toolCalls = 0, ...wish }: Simulation): void {
  const { p1Share = 0, p3Share = 0 } = wish;
  whole("tokens", tokens, size.least, size.most);
  whole("seed", seed, 0, seedMax);
  for (const [name, share] of Object.entries({ p1Share, p3Share, toolCalls }))
    if (!(share >= 0 && share <= 1))
      throw usage(`\`${name}\` must be a number from 0 to 1, not ${share}.`);
  if (p1Share + p3Share > 1)
    throw usage(
      `\`p1Share\` and \`p3Share\` must be at most 1 together, not ${p1Share + p3Share}.`,
    );
  const { types = [], languages = [], shape = "mixed" } = wish;
  for (const type of types) oneOf("types", type, simulatedTypes);
  for (const language of languages) oneOf("languages", language, simulatedLanguages);
  oneOf("shape", shape, simulatedShapes);
}

function whole(name: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw usage(`\`${name}\` must be a whole number from ${least} to ${most}, not ${value}.`);
}

function oneOf(name: string, value: string, known: readonly string[]): void {
  if (!known.includes(value))
    throw usage(`\`${name}\` must be ${known.join(", ")}, not "${value}".`);
}

function usage(sentence: string): PlimsollError {
  return new PlimsollError("USAGE", sentence);
}

const messageTokens = 4;

function sizeOf(messages: readonly Message[]): number {
  return messages.reduce(
    (sum, { parts }) => sum + messageTokens + parts.reduce((own, part) => own + partSize(part), 0),
    0,
  );
}

function partSize(part: Part): number {
  if (part.kind === "text") return estimateTokens(part.text);
  if (part.kind === "tool-call") return estimateTokens(part.input) + 2;
  return part.kind === "tool-result"
    ? part.content.reduce((sum, inner) => sum + partSize(inner), 0)
    : 0;
}

class World {
  readonly #dice: Dice;
  readonly #files: readonly [SimulatedFile, ...SimulatedFile[]];
  readonly #types: readonly [SimulatedType, ...SimulatedType[]];
  readonly #languages: readonly [SimulatedLanguage, ...SimulatedLanguage[]];
  readonly #wish: Simulation;
  #calls = 0;

  constructor(wish: Simulation) {
    this.#wish = wish;
    this.#dice = diceOf(wish.seed ?? 1);
    const count = Math.max(3, Math.min(filesMax, Math.floor(wish.tokens / 3_000)));
    const [first = makeFile(this.#dice, 0), ...files] = Array.from({ length: count }, (_, number) =>
      makeFile(this.#dice, number),
    );
    this.#files = [first, ...files];
    const [type = "message", ...types] = wish.types ?? simulatedTypes;
    this.#types = [type, ...types];
    const [language = "en", ...languages] = wish.languages ?? [];
    this.#languages = [language, ...languages];
  }

  opening(): Message {
    const [first] = this.#files;
    return user(
      [
        `The harbour fee is wrong. Find out why ${first.names[0]} in ${first.path} counts too much, and mend it.`,
        "Working directory: /srv/harbour",
        "Never change the tests. Always keep the public names. Do not use more than 200 MB.",
      ].join("\n"),
    );
  }

  /** The user asks again for what came first, and the agent looks at it. */
  ending(): readonly Message[] {
    const [first] = this.#files;
    const said = `Now run the tests for ${first.names[0]} once more, and tell me whether ${first.path} is right.`;
    const command = `pytest -q ${first.path} -k ${first.names[0]}`;
    return [user(said), ...this.#exchange("bash", { command }, `1 passed: ${first.names[0]}`)];
  }

  unit(number: number): readonly Message[] {
    const dice = this.#dice;
    const tag = this.#tag();
    const type = pick(dice, this.#types);
    const file = this.#fileFor(number);
    const isCall = dice() < (this.#wish.toolCalls ?? 0.7);
    const isOfUser = number % 7 === 6;
    const words = `${tag}${saying(dice, pick(dice, this.#languages), file)}`;
    if (isCall) return this.#called(type, file, words);
    const body = type === "message" ? "" : `\n${this.#content(type, file)}`;
    return [isOfUser ? user(words + body) : assistant(words + body)];
  }

  /** The words that give a unit its priority. */
  #tag(): string {
    const { p1Share = usualP1Share, p3Share = (1 - p1Share) / 2 } = this.#wish;
    if (this.#dice() < p1Share) return "To Do List: ";
    return this.#dice() < p3Share / (1 - p1Share) ? "Scratch note: " : "";
  }

  /** What is worked on now is mostly what was worked on a moment ago. */
  #fileFor(number: number): SimulatedFile {
    const dice = this.#dice;
    const drift = Math.floor(number / 6) + between(dice, -2, 1);
    const at = ((drift % this.#files.length) + this.#files.length) % this.#files.length;
    return dice() < 0.15 ? this.#files[0] : (this.#files[at] ?? this.#files[0]);
  }

  fragment(number: number): readonly Message[] {
    const tag = this.#tag();
    const file = this.#fileFor(number);
    const words = `${tag}Step ${number}: ${pick(this.#dice, file.names)} ok.`;
    return [number % 2 === 0 ? assistant(words) : user(words)];
  }

  giant(tokens: number): readonly Message[] {
    const lines: string[] = [];
    for (let size = 0; size < tokens; ) {
      const more = this.#fileFor(lines.length).lines;
      lines.push(...more);
      size += estimateTokens(more.join("\n"));
    }
    return [assistant("Here is everything at once."), user(lines.join("\n"))];
  }

  #content(type: SimulatedType, file: SimulatedFile): string {
    const dice = this.#dice;
    const isLost = this.#wish.shape === "misclassified";
    switch (type) {
      case "code": {
        const code = file.lines.slice(0, between(dice, 12, 60)).join("\n");
        // Looks like a plan.
        return isLost ? `# - [ ] TODO.md\n${code}` : `\`\`\`python\n${code}\n\`\`\``;
      }
      case "log": {
        const log = logLines(dice, file, between(dice, 10, 90)).join("\n");
        // Looks like words.
        return isLost ? log.replaceAll("\n", " / ") : log;
      }
      case "plan_ref":
        return planText(dice, [file, ...this.#files.slice(0, between(dice, 1, 5))]);
      case "other":
        return jsonText(dice, between(dice, 2, 25));
      case "message":
        return saying(dice, pick(dice, this.#languages), file);
    }
  }

  #called(type: SimulatedType, file: SimulatedFile, words: string): readonly Message[] {
    const dice = this.#dice;
    if (type === "code") {
      const spelled = pick(dice, [file.path, `./${file.path}`, `/srv/harbour/${file.path}`]);
      return this.#exchange("read_file", { path: spelled }, file.lines.join("\n"), words);
    }
    const tools: Readonly<Record<Exclude<SimulatedType, "code">, string>> = {
      log: `pytest -x ${file.path}`,
      plan_ref: "cat PLAN.md",
      other: `curl -s localhost:8080/orders?for=${file.names[0]}`,
      message: `grep -n ${file.names[0]} ${file.path}`,
    };
    const output = this.#content(type, file);
    const status = type === "log" ? 1 : 0;
    const text = `<returncode>${status}</returncode>\n<output>\n${output}\n</output>`;
    return this.#exchange("bash", { command: tools[type] }, text, words);
  }

  #exchange(
    name: string,
    input: Readonly<Record<string, string>>,
    output: string,
    words?: string,
  ): readonly Message[] {
    const id = `call_${++this.#calls}`;
    const call: Part = { kind: "tool-call", id, name, input: JSON.stringify(input) };
    const said: readonly Part[] = words === undefined ? [] : [{ kind: "text", text: words }];
    const content: readonly Part[] = [{ kind: "text", text: output }];
    return [
      { role: "assistant", parts: [...said, call] },
      { role: "tool", parts: [{ kind: "tool-result", callId: id, content, isError: false }] },
    ];
  }
}

function user(text: string): Message {
  return { role: "user", parts: [{ kind: "text", text }] };
}

function assistant(text: string): Message {
  return { role: "assistant", parts: [{ kind: "text", text }] };
}
