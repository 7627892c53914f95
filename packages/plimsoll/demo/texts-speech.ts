/** The words of the demo: the system prompt, the users' questions, rules and corrections, the agents' answers, the plan. */

import { between, type Dice, pick, type Some } from "./dice.ts";
import type { ProjectFile, Ticket } from "./texts-project.ts";

export type AgentName = "coder" | "reviewer" | "docs";

const duties: Readonly<Record<AgentName, string>> = {
  coder:
    "You mend faults and build what was asked for, in small steps, each of them tested. You read a file before you change it.",
  reviewer:
    "You read changes of others and say what is wrong with them: first what breaks, then what confuses. You change nothing yourself.",
  docs: "You keep the handbook true: what it says is what the code does. You change words, and never code.",
};

export function systemPrompt(agent: AgentName): string {
  return [
    `You are the ${agent} of the team that runs Harbour, the booking service of a sea port: berths, tides, pilots, fees, cargo and the gate.`,
    duties[agent],
    "",
    "The code is TypeScript on Node (src/), with some Python (scripts/), two services in Go (services/), and PostgreSQL (db/migrations/).",
    "Times are UTC in the database and the harbour's own on every screen. Money is whole cents. Lengths are metres.",
    "",
    "How to work:",
    "- Say in one or two sentences what you will do, then call tools. Call several at once where they do not depend on each other.",
    "- When a tool fails, read what it says; do not call it again with the same arguments more than once.",
    "- Tell the user what you found, what you decided and why, and what is left to do.",
    "- What the user forbids stays forbidden until the user allows it.",
  ].join("\n");
}

const starts: Readonly<Record<AgentName, string>> = {
  coder:
    "We have a week to make the harbour's booking service ready for the winter schedule. I will give you one ticket after the other.",
  reviewer: "Please go through what was changed this week, one file after the other.",
  docs: "The handbook is two releases behind. Bring it up to date, chapter by chapter.",
};

export function openingWords(agent: AgentName, name: string): string {
  return [
    `${starts[agent]} (${name})`,
    "Some rules before we begin:",
    "- Never touch db/migrations that are released: add a new one.",
    "- Never change a test to make it pass.",
    "- Always keep public names; other teams import them.",
    "- Do not use more than 2 connections of the reporting database.",
    "- The deadline for the freeze is Thursday 18:00.",
  ].join("\n");
}

const asks: Some<(ticket: Ticket, file: ProjectFile) => string> = [
  ({ id, symptom }, { path }) =>
    `${id}: ${symptom}. The harbour master saw it this morning. I suspect ${path}. Find out why, and mend it.`,
  ({ id, symptom }, { names }) =>
    `Next is ${id}: ${symptom}. Have a look at ${names[0]} first, and tell me what you think before you change much.`,
  ({ id, symptom }, { area }) =>
    `${id} came back: ${symptom}. It has to do with ${area.things}, as always. Please look at it with fresh eyes.`,
];

export function askFor(dice: Dice, ticket: Ticket, file: ProjectFile): string {
  return pick(dice, asks)(ticket, file);
}

const corrections: Some<(dice: Dice, file: ProjectFile) => string> = [
  (_, { path }) => `No, not there: leave ${path} alone until tomorrow, the gate team works in it.`,
  (dice) =>
    `Stop: use at most ${between(dice, 2, 9)} retries, and never wait longer than ${between(dice, 3, 30)} s.`,
  (_, { names }) =>
    `I had said that ${names[0]} keeps its name. Please do not rename it, other teams call it.`,
  () =>
    "Never run anything against the production database, not even a SELECT. Use the copy on port 5433.",
  (dice) =>
    `From now on every new function gets a test, and no file grows beyond ${between(dice, 3, 5)}00 lines.`,
  () =>
    "You must not restart the dispatch worker between 06:00 and 09:00: that is when the pilots board.",
];

export function correction(dice: Dice, file: ProjectFile): string {
  return pick(dice, corrections)(dice, file);
}

const intentions: Some<(file: ProjectFile) => string> = [
  ({ path, names }) => `I will look at ${names[0]} in ${path} and at what calls it.`,
  ({ path }) =>
    `Let me read ${path} once more and run its tests, so that we see the fault before we mend it.`,
  ({ names, area }) =>
    `The ${area.things} come from ${names[0]}. I want to see the data before I guess.`,
  ({ path }) => `That points to ${path}. One more look, then I change it.`,
  ({ area }) =>
    `I compare what the database holds of ${area.things} with what the service answers.`,
];

export function intention(dice: Dice, file: ProjectFile): string {
  return pick(dice, intentions)(file);
}

export function findings({ id, cause, decision, measured }: Ticket): string {
  return `${id} is done. The cause: ${cause}. We decided that ${decision}. Measured afterwards: ${measured}. Still to do: a note for the harbour master.`;
}

export function questionBack({ id }: Ticket): string {
  return `Before we go on: what did we measure in ${id}, and what was its cause? The harbour master asks.`;
}

export function answerBack({ id, measured, cause }: Ticket): string {
  return `In ${id} we measured this: ${measured}. The cause was that ${cause}.`;
}

/** The question and the answer about a table row, which has id, vessel, quay and more. */
export function questionAboutRow(id: string, table: string): string {
  return `One more thing: which vessel was ${id}, and at which quay? It stood in the table of ${table}, some time ago.`;
}

export function answerAboutRow(line: string): string {
  const [id, vessel, quay] = line.split("|").map((cell) => cell.trim());
  return `${id} was the ${vessel}, at the ${quay} quay.`;
}

export function planText(done: readonly Ticket[], open: readonly ProjectFile[]): string {
  return [
    "# Winter schedule",
    "",
    "## Done",
    ...done.map(({ id, decision, measured }) => `- [x] ${id}: ${decision} (${measured})`),
    "",
    "## TODO",
    ...open.map(({ path, names }) => `- [ ] ${names[0]} in ${path}: read, test, mend`),
    "- [ ] TODO: tell the pilots about the new tide windows",
    "- [ ] TODO: freeze on Thursday 18:00",
    "",
    "## Decided",
    ...done.map(({ id, cause }) => `- ${id}: ${cause}`),
  ].join("\n");
}
