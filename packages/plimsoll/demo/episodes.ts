/** The episodes of a day's work: one function for each kind of task, from the user's question to the findings. */

import { between, pick, type Some, shuffled } from "./dice.ts";
import type { ProjectFile, Ticket } from "./texts-project.ts";
import {
  type AgentName,
  answerAboutRow,
  answerBack,
  askFor,
  correction,
  intention,
  planText,
  questionAboutRow,
  questionBack,
} from "./texts-speech.ts";
import type { SeenRow, Work } from "./work.ts";

type Episode = (work: Work, file: ProjectFile, ticket: Ticket) => void;

const correctionShare = 0.35;
const failureShare = 0.4;
/** Longer than the preview that Plimsoll shows of a fresh result. */
const hugeLines = 640;

function maybeCorrect(work: Work, file: ProjectFile): void {
  if (work.dice() < correctionShare) work.ask(correction(work.dice, file));
}

function fault(work: Work, file: ProjectFile, ticket: Ticket): void {
  const { dice } = work;
  work.ask(askFor(dice, ticket, file));
  work.say(intention(dice, file), work.search(file.names[0]));
  work.say("These two are what matters.", work.read(file), work.read(work.file()));
  work.say("Now the tests: they should show it.", work.test(file, between(dice, 1, 3)));
  maybeCorrect(work, file);
  if (dice() < failureShare) {
    const input = { path: file.path, old_text: "total", new_text: "sum" };
    work.say("I change it where the number is made.", work.fail("edit_file", input, file));
    work.say("Too short a text. I read it again and take a longer one.", work.read(file));
  }
  work.say(
    `So ${ticket.cause}. I mend that.`,
    work.edit(file, `${ticket.id}: ${ticket.decision}.`),
  );
  work.say("And once more the tests.", work.test(file, 0));
  work.close(ticket);
}

function incident(work: Work, file: ProjectFile, ticket: Ticket): void {
  const { dice } = work;
  work.ask(`The phone rang at five: ${ticket.symptom} (${ticket.id}). Look at the logs first.`);
  const isHuge = dice() < 0.5;
  work.say(
    "The log of the billing worker, since last night.",
    work.log(file, isHuge ? hugeLines : 45),
  );
  work.say("One line stands out. I look at its jobs.", work.jobs(file), work.trace(file));
  work.say(intention(dice, file), work.read(file));
  maybeCorrect(work, file);
  work.say(`I see: ${ticket.cause}.`, work.edit(file, `${ticket.id}: see the log of that night.`));
  work.say("The log again, of the last minutes.", work.log(file, 22));
  work.close(ticket);
}

function figures(work: Work, file: ProjectFile, ticket: Ticket): void {
  const { dice } = work;
  work.ask(`${ticket.id}: ${ticket.symptom}. Compare what the API says with the database.`);
  work.say(intention(dice, file), work.request(file), work.query(file));
  if (dice() < failureShare)
    work.say("I ask for the rest.", work.fail("query_database", { sql: "SELECT 1" }, file));
  work.say("They differ. I count them by quay.", work.query(file), work.jobs(file));
  maybeCorrect(work, file);
  work.say("The script that makes them is the last suspect.", work.read(work.file()));
  work.close(ticket);
}

function planning(work: Work, file: ProjectFile, ticket: Ticket): void {
  const { dice } = work;
  work.ask("Where are we? Bring the plan up to date, and tell me what comes next.");
  work.say("The plan, and what is there.", work.plan(), work.list("src/"));
  const text = planText(work.done.slice(-6), [file, work.file(), work.file()]);
  work.say(intention(dice, file), work.write("PLAN.md", text), work.list("db/migrations/"));
  const left = `Next is ${ticket.id} in ${file.path}: ${ticket.symptom}. Then the note for the pilots.`;
  work.say(`The plan is up to date; ${work.done.length} tickets are closed. ${left}`);
}

function board(work: Work, file: ProjectFile, ticket: Ticket): void {
  const { dice } = work;
  work.ask(`${ticket.id}: the board looks wrong: ${ticket.symptom}. See what the browser gets.`);
  work.say("The page as it is served, and a picture of it.", work.page(file), work.picture(file));
  work.say("The bars are cut off. I look into the bundle.", work.bundle(file));
  maybeCorrect(work, file);
  work.say(intention(dice, file), work.read(file), work.search(file.area.thing));
  work.say("One number is wrong.", work.edit(file, `${ticket.id}: the board shows whole days.`));
  work.say("The picture again.", work.picture(file));
  work.close(ticket);
}

function review(work: Work, file: ProjectFile, ticket: Ticket): void {
  const { dice } = work;
  work.ask(`Please read what was changed since yesterday; ${ticket.id} should be in it.`);
  work.say("All changes at once.", work.changes(between(dice, 4, 9)));
  work.say(intention(dice, file), work.read(file), work.test(file, between(dice, 0, 1)));
  maybeCorrect(work, file);
  work.say("Who else calls it?", work.search(file.names[0]));
  work.close(ticket, `One remark on ${file.path}: the next reader will ask why. `);
}

function migration(work: Work, file: ProjectFile, ticket: Ticket): void {
  work.ask(
    `${ticket.id}: ${ticket.symptom}. I think that an index is missing. Never lock the table.`,
  );
  work.say("What is there already.", work.list("db/migrations/"), work.query(file));
  const sql = `EXPLAIN ANALYZE SELECT * FROM ${file.area.folder}`;
  work.say("The plan of the slow one.", work.fail("query_database", { sql }, file));
  work.say("Then from the copy.", work.query(file), work.trace(file));
  maybeCorrect(work, file);
  const text = `-- ${ticket.id}\nCREATE INDEX CONCURRENTLY ${file.area.folder}_by_${file.names.length} ON ${file.area.folder} (${file.area.fields[0]});\n`;
  work.say(
    "A new migration, as you said.",
    work.write(`db/migrations/01${ticket.id.slice(-2)}.sql`, text),
  );
  work.close(ticket);
}

/** An episode that reads a file and does not change it. */
function inspection(work: Work, file: ProjectFile, ticket: Ticket): void {
  const { dice } = work;
  work.ask(`${ticket.id} is said to be mended: ${ticket.symptom}. Is it? Change nothing.`);
  work.say(intention(dice, file), work.read(file), work.search(file.names[0]));
  work.say("What the tests say.", work.test(file, between(dice, 0, 2)), work.trace(file));
  maybeCorrect(work, file);
  work.say("And what happened last night.", work.log(file, between(dice, 20, 60)));
  work.close(ticket, "It is not mended everywhere. ");
}

function chapter(work: Work, file: ProjectFile, ticket: Ticket): void {
  const { dice } = work;
  const { folder, things } = file.area;
  work.ask(
    `The chapter on ${things} is wrong since ${ticket.id}: ${ticket.symptom}. Please mend it.`,
  );
  work.say("What is there, and what the page shows.", work.list("src/"), work.page(file));
  work.say(intention(dice, file), work.read(file), work.picture(file));
  maybeCorrect(work, file);
  const text = `# ${things}\n\nSince ${ticket.id}: ${ticket.decision}.\n\nSee \`${file.path}\`: ${file.names.join(", ")}.\n`;
  work.say("I write what the code does.", work.write(`docs/${folder}.md`, text), work.plan());
  work.close(ticket);
}

const episodesOf: Readonly<Record<AgentName, Some<Episode>>> = {
  coder: [fault, incident, figures, planning, board, migration, fault],
  reviewer: [review, inspection, figures],
  docs: [chapter, planning, figures],
};

/** After every second ticket the user asks about an old ticket, otherwise about a row of an old table. */
const lookBackEvery = 2;
/** The user does not ask about the newest items, because the model can still see them. */
const lookBackDistance = 4;

/** Adds episodes until there are enough steps: first each kind once, in random order, then any kind. */
export function workFor(work: Work, agent: AgentName, steps: number): void {
  const kinds = episodesOf[agent];
  const order = [...shuffled(work.dice, kinds)];
  while (work.steps.length < steps) {
    const file = work.file();
    const ticket = work.ticket(file);
    const episode = order.shift() ?? pick(work.dice, kinds);
    episode(work, file, ticket);
    lookBack(work);
  }
}

function lookBack(work: Work): void {
  if (work.done.length % lookBackEvery === 0) askForTicket(work);
  else askForRow(work);
}

function askForTicket(work: Work): void {
  const ticket = oldOne(work, work.done);
  if (ticket === undefined) return;
  work.ask(questionBack(ticket));
  const query = `${ticket.id}: what was measured, and what was the cause?`;
  work.recollect(answerBack(ticket), { query, expected: ticket.measured });
}

function askForRow(work: Work): void {
  const row = oldOne(work, work.rows);
  const [id = ""] = row?.line.split(" ") ?? [];
  if (row === undefined) return;
  work.ask(questionAboutRow(id, row.table));
  const query = `row ${id} of the table of ${row.table}: vessel and quay`;
  work.recollect(answerAboutRow(row.line), { query, expected: row.line });
}

function oldOne<T extends Ticket | SeenRow>(work: Work, items: readonly T[]): T | undefined {
  const [first, ...others] = items
    .slice(0, -lookBackDistance)
    .filter((one) => !work.asked.has(one));
  if (first === undefined) return undefined;
  const chosen = pick(work.dice, [first, ...others]);
  work.asked.add(chosen);
  return chosen;
}
