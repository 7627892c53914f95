/** Records a day's work: the users' words, the agents' answers, their tool calls, and the results. */

import { between, type Dice, pick, type Some, times } from "./dice.ts";
import { chartPicture } from "./picture.ts";
import { changeOf, diffOf } from "./texts-code.ts";
import {
  failureText,
  htmlPage,
  jsonLines,
  jsonText,
  listing,
  logLines,
  longLine,
  searchResults,
  stackTrace,
  tableText,
  testOutput,
} from "./texts-output.ts";
import { makeTicket, type ProjectFile, projectFiles, type Ticket } from "./texts-project.ts";
import { findings, planText } from "./texts-speech.ts";

export const outputKinds = [
  "source",
  "diff",
  "test-output",
  "trace",
  "log",
  "json",
  "json-lines",
  "table",
  "search",
  "html",
  "image",
  "long-line",
  "listing",
  "error",
  "plan",
  "note",
] as const;

type OutputKind = (typeof outputKinds)[number];

export interface ToolOutput {
  readonly kind: OutputKind;
  /** For an image: PNG in base64. */
  readonly content: string;
}

export interface ScriptedCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: ToolOutput;
}

/** One turn: the new part of the request, and the model's answer. */
export interface Step {
  /** The user's words. They come after the results of the last step's calls. */
  readonly user?: string;
  readonly text: string;
  readonly calls: readonly ScriptedCall[];
  /** A fact that the model needs for its answer and may have to look up. */
  readonly lookBack?: LookBack;
}

export interface LookBack {
  readonly query: string;
  /** Text that the answer to the query should contain, word for word. */
  readonly expected: string;
}

/** A table row that the user may ask about later. */
export interface SeenRow {
  readonly line: string;
  readonly table: string;
}

/** The files and tickets of the work, and the steps so far. */
export class Work {
  readonly dice: Dice;
  readonly steps: Step[] = [];
  readonly done: Ticket[] = [];
  /** One row of each table that was shown. */
  readonly rows: SeenRow[] = [];
  /** Tickets and rows that the user has already asked about again. */
  readonly asked = new Set<Ticket | SeenRow>();
  readonly #idStart: string;
  #files: Some<ProjectFile>;
  #user: string | undefined;
  #calls = 0;
  #tickets = 0;

  /** `idStart` is the beginning of the ids of all calls. */
  constructor(dice: Dice, idStart: string) {
    this.dice = dice;
    this.#idStart = idStart;
    this.#files = projectFiles(dice);
  }

  file(): ProjectFile {
    return pick(this.dice, this.#files);
  }

  ticket(file: ProjectFile): Ticket {
    this.#tickets++;
    return makeTicket(this.dice, file, this.#tickets * 3 - between(this.dice, 0, 2));
  }

  /** Adds to the user's words in the next request. */
  ask(text: string): void {
    this.#user = this.#user === undefined ? text : `${this.#user}\n\n${text}`;
  }

  say(text: string, ...calls: readonly ScriptedCall[]): void {
    this.#take({ text, calls });
  }

  /** Closes a ticket: the agent states the findings that later questions ask about. */
  close(ticket: Ticket, words = ""): void {
    this.say(`${words}${findings(ticket)}`);
    this.done.push(ticket);
  }

  recollect(text: string, lookBack: LookBack): void {
    this.#take({ text, calls: [], lookBack });
  }

  #take(step: Omit<Step, "user">): void {
    this.steps.push({ ...(this.#user === undefined ? {} : { user: this.#user }), ...step });
    this.#user = undefined;
  }

  #call(name: string, input: ScriptedCall["input"], output: ToolOutput): ScriptedCall {
    this.#calls++;
    return { id: `${this.#idStart}_${this.#calls}`, name, input, output };
  }

  read({ path, lines, language }: ProjectFile): ScriptedCall {
    const shown =
      language === "python"
        ? lines.map((line, at) => `${String(at + 1).padStart(6)}\t${line}`)
        : lines;
    return this.#call("read_file", { path }, { kind: "source", content: shown.join("\n") });
  }

  search(wanted: string): ScriptedCall {
    const content = searchResults(this.dice, this.#files, wanted);
    return this.#call("search_code", { pattern: wanted }, { kind: "search", content });
  }

  list(folder: string): ScriptedCall {
    const content = listing(this.dice, this.#files, folder);
    return this.#call("list_directory", { path: folder }, { kind: "listing", content });
  }

  /** Changes the file. Later reads show the new version. */
  edit(file: ProjectFile, why: string): ScriptedCall {
    const { path } = file;
    const now = this.#files.find((known) => known.path === path) ?? file;
    const change = changeOf(this.dice, now, why);
    const content = diffOf(path, now.lines, change);
    const [first, ...others] = this.#files.map((known) =>
      known.path === path ? { ...now, lines: change.lines } : known,
    );
    this.#files = [first ?? now, ...others];
    const input = { path, old_text: change.before, new_text: change.after.join("\n") };
    return this.#call("edit_file", input, { kind: "diff", content });
  }

  fail(name: string, input: ScriptedCall["input"], file: ProjectFile): ScriptedCall {
    return this.#call(name, input, { kind: "error", content: failureText(this.dice, name, file) });
  }

  test(file: ProjectFile, failing: number): ScriptedCall {
    const path = file.path.replace(/\.\w+$/, ".test.ts");
    const content = testOutput(this.dice, file, failing);
    return this.#call("run_tests", { path }, { kind: "test-output", content });
  }

  trace(file: ProjectFile): ScriptedCall {
    const command = `node scripts/once.mjs ${file.names[0]}`;
    const content = stackTrace(this.dice, file);
    return this.#call("run_command", { command }, { kind: "trace", content });
  }

  log(file: ProjectFile, lines: number): ScriptedCall {
    const content = logLines(this.dice, file, lines);
    const input = { worker: "billing", since: `${between(this.dice, 1, 9)}h` };
    return this.#call("read_log", input, { kind: "log", content });
  }

  jobs(file: ProjectFile): ScriptedCall {
    const content = jsonLines(this.dice, file, between(this.dice, 14, 50));
    const input = { worker: "dispatch", since: "30m", format: "json" };
    return this.#call("read_log", input, { kind: "json-lines", content });
  }

  request(file: ProjectFile): ScriptedCall {
    const content = jsonText(this.dice, file, between(this.dice, 4, 14));
    const input = { method: "GET", path: `/api/${file.area.folder}?limit=50` };
    return this.#call("http_request", input, { kind: "json", content });
  }

  query(file: ProjectFile): ScriptedCall {
    const content = tableText(this.dice, file, between(this.dice, 10, 40));
    const sql = `SELECT * FROM ${file.area.folder} ORDER BY changed_at DESC LIMIT 40`;
    // Skip the table head, the line below it, and the row count.
    const [line = "", ...lines] = content.split("\n").slice(2, -1);
    this.rows.push({ line: pick(this.dice, [line, ...lines]).trim(), table: file.area.folder });
    return this.#call("query_database", { sql }, { kind: "table", content });
  }

  page(file: ProjectFile): ScriptedCall {
    const content = htmlPage(this.dice, file, between(this.dice, 8, 30));
    const url = `http://127.0.0.1:3000/${file.area.folder}`;
    return this.#call("fetch_page", { url }, { kind: "html", content });
  }

  picture(file: ProjectFile): ScriptedCall {
    const url = `http://127.0.0.1:3000/${file.area.folder}/chart`;
    const content = chartPicture(this.dice);
    return this.#call("take_screenshot", { url }, { kind: "image", content });
  }

  bundle(file: ProjectFile): ScriptedCall {
    const content = longLine(this.dice, file, between(this.dice, 20, 60));
    const command = "curl -s http://127.0.0.1:3000/assets/board.js";
    return this.#call("run_command", { command }, { kind: "long-line", content });
  }

  plan(): ScriptedCall {
    const content = planText(this.done.slice(-8), this.#files.slice(0, 6));
    return this.#call("read_file", { path: "PLAN.md" }, { kind: "plan", content });
  }

  write(path: string, content: string): ScriptedCall {
    const bytes = Buffer.byteLength(content);
    const output = { kind: "note", content: `${path}: ${bytes} bytes written.` } as const;
    return this.#call("write_file", { path, content }, output);
  }

  /** Other people's changes, as one text. */
  changes(count: number): ScriptedCall {
    const diffs = times(count, () => {
      const file = this.file();
      return diffOf(
        file.path,
        file.lines,
        changeOf(this.dice, file, `Since ${file.names[0]} was split.`),
      );
    });
    const input = { command: "git diff main" };
    return this.#call("run_command", input, { kind: "diff", content: diffs.join("\n") });
  }
}
