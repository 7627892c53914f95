/**
 * The command line: reads the arguments and prints text. Each command has its own file, which is loaded when the command is
 * called.
 */

import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import type { Flags } from "../config/config.ts";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { simulatedShapes, simulatedTypes } from "../simulate/simulate.ts";
import { simulatedLanguages } from "../simulate/simulated-texts.ts";
import { harmless } from "../text/unseen.ts";
import { wireNames } from "../wire/format/wire.ts";
import type { CompactFlags } from "./commands/compact.ts";
import type { CostFlags } from "./commands/cost.ts";
import { printEnvironment } from "./commands/env.ts";
import type { ForgetFlags } from "./commands/forget.ts";
import type { RecallFlags } from "./commands/recall.ts";
import type { ReplayFlags } from "./commands/replay.ts";
import type { ServeFlags } from "./commands/serve.ts";
import type { SimulateFlags } from "./commands/simulate.ts";
import type { ToolSearchFlags } from "./commands/tool-search.ts";
import {
  ageOf,
  collect,
  countOf,
  example,
  numberOf,
  portOf,
  secondsOf,
  shareOf,
  withData,
} from "./options.ts";
import type { ReportFlags } from "./report/report.ts";
import { agentPrograms, clientNames } from "./run/clients.ts";
import type { RunFlags } from "./run/run.ts";
import type { TopFlags } from "./top/top.ts";
import { addTasks, addTickets } from "./work-commands.ts";

const version: string = readVersion();

function readVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** Runs a command and sets the exit code: 0 (done), 1 (failed) or 2 (wrong usage). */
export async function main(argv: readonly string[]): Promise<void> {
  // The program that reads the output may close it early.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  // A closed standard error is no reason to stop.
  process.stderr.on("error", () => undefined);
  try {
    await program().parseAsync([...argv]);
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : 2;
      return;
    }
    console.error(`plimsoll: ${harmless(errorMessage(error))}`);
    const isUsage =
      PlimsollError.is(error) && (error.code === "USAGE" || error.code === "CONFIG_INVALID");
    process.exitCode = isUsage ? 2 : 1;
  }
}

export function program(): Command {
  const root = new Command("plimsoll")
    .description(
      "The load line for LLM context windows: keeps any agent inside its model's window and loses nothing.",
    )
    .version(version)
    .enablePositionalOptions()
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error: /, "plimsoll: ")),
    })
    .exitOverride();
  addService(root);

  example(withData(root.command("env")), "plimsoll env claude")
    .description("print the settings that point a client at Plimsoll")
    .argument("[client]", `${clientNames.join(", ")} (default: list them)`)
    .option("--port <number>", "port of the service", portOf)
    .option("--json", "as JSON")
    .action(printEnvironment);

  example(withData(root.command("inspect")), "plimsoll inspect request.json")
    .description("show what fills the window, by component and unit")
    .argument("[what]", "a file with a request body, or a session id (default: the newest session)")
    .option("--json", "as JSON")
    .action(async (what: string | undefined, flags: Flags) =>
      (await import("./commands/inspect.ts")).runInspect(what, flags),
    );

  example(withData(root.command("sessions")), "plimsoll sessions --limit 20")
    .description("list the recorded sessions, newest first")
    .option("--limit <n>", "maximum number of sessions", countOf, 20)
    .option("--json", "as JSON")
    .action(async (flags: Flags & { limit: number }) =>
      (await import("./commands/sessions.ts")).runSessions(flags),
    );

  example(withData(root.command("cost")), "plimsoll cost --all")
    .description("show the cost and the savings of a session, in tokens and money")
    .argument("[session]", "a session id (default: the newest session)")
    .option("--all", "all sessions together")
    .option("--json", "as JSON")
    .action(async (id: string | undefined, flags: CostFlags) =>
      (await import("./commands/cost.ts")).runCost(id, flags),
    );

  example(withData(root.command("log")), "plimsoll log ses_… --full")
    .description("print the log of a session: every message as it came")
    .argument("[session]", "session id (default: the newest session)")
    .option("--branch <id>", "only the messages of this branch (default: all branches)")
    .option("--full", "print whole messages instead of their first line")
    .option("--json", "one JSON object per line")
    .action(async (session: string | undefined, flags: Flags) =>
      (await import("./commands/sessions.ts")).runLog(session, flags),
    );

  addTimeTravel(root);
  addForget(root);
  addTasks(root);
  addTickets(root);
  addCompaction(root);
  addReplay(root);
  addSimulate(root);
  addReport(root);
  addToolSearch(root);
  addTop(root);

  example(withData(root.command("mcp")), "claude mcp add plimsoll -- plimsoll mcp")
    .description(
      "run an MCP server on standard input and output: for your sessions, tasks and questions",
    )
    .action(async (flags: Flags) => (await import("./commands/mcp.ts")).runMcp(flags, version));

  example(withData(root.command("doctor")), "plimsoll doctor")
    .description("check the set-up and say how to fix problems")
    .option("--json", "as JSON")
    .action(async (flags: Flags) => (await import("./commands/doctor.ts")).runDoctor(flags));

  return root;
}

function addService(root: Command): void {
  example(withData(root.command("serve")), "plimsoll serve --port 4141")
    .description("run the proxy and its API on one port")
    .option("--port <number>", "port (default: 4141; 0 picks a free one)", portOf)
    .option("--host <address>", "address to listen on (default: 127.0.0.1)")
    .option("--idle-minutes <n>", "end after this many minutes without a request", countOf)
    .action(async (flags: ServeFlags) =>
      (await import("./commands/serve.ts")).runServe(flags, version),
    );

  example(withData(root.command("run")), "plimsoll run -- claude")
    .description("start an agent in this folder, with Plimsoll between it and its model")
    .argument("<agent...>", `the agent and its own arguments: ${agentPrograms.join(", ")}`)
    .option("--as <name>", "the agent's name, if its program has another name")
    .option("--port <number>", "port of the service, if none runs yet", portOf)
    .passThroughOptions()
    .action(async (command: readonly string[], flags: RunFlags) =>
      (await import("./run/run.ts")).runAgent(command, flags),
    );

  example(withData(root.command("stop")), "plimsoll stop")
    .description("stop the running service")
    .action(async (flags: Flags) => (await import("./commands/stop.ts")).runStop(flags));
}

function addCompaction(root: Command): void {
  example(withData(root.command("compact")), "plimsoll compact request.json --budget 20000")
    .description(
      "reduce a conversation to a number of tokens; prints the result to standard output",
    )
    .argument(
      "[what]",
      "a file with a request or transcript, or a session id (default: standard input if it is redirected, otherwise the newest session)",
    )
    .option("--budget <tokens>", "maximum number of tokens to keep", countOf)
    .option("--branch <id>", "branch of the session (default: the branch that was sent last)")
    .option("--format <name>", `auto, ${wireNames.join(", ")} (default: auto)`)
    .option(
      "--history <file>",
      "context_history.json of MarieCoder or Cline: its changes are applied to the conversation first",
    )
    .option(
      "--jsonl",
      "read cases from standard input and write answers to standard output, one per line",
    )
    .option("--receipt <file>", "write a receipt of the compaction to a file, as JSON")
    .option("--json", "print the receipt as JSON")
    .action(async (what: string | undefined, flags: CompactFlags) =>
      (await import("./commands/compact.ts")).runCompact(what, flags),
    );

  example(withData(root.command("receipts")), "plimsoll receipts ses_…")
    .description("show what each compaction removed, kept and saved")
    .argument("[session]", "session id (default: the newest session)")
    .option("--json", "as JSON")
    .action(async (session: string | undefined, flags: Flags) =>
      (await import("./commands/receipts.ts")).runReceipts(session, flags),
    );

  example(withData(root.command("recall")), 'plimsoll recall "which port does the proxy use"')
    .description(
      "search a session for passages that answer a query, including content outside the window",
    )
    .argument("[query]", "text to search for")
    .option("--session <id>", "session id (default: the newest session)")
    .option("--budget <tokens>", "maximum number of tokens of all passages", countOf, 2000)
    .option("--json", "as JSON")
    .option(
      "--jsonl",
      "read archives and queries from standard input, and write passages to standard output",
    )
    .action(async (query: string | undefined, flags: RecallFlags) =>
      (await import("./commands/recall.ts")).runRecall(query, flags),
    );
}

function addReplay(root: Command): void {
  example(withData(root.command("replay")), "plimsoll replay traces.jsonl --window-share 0.33")
    .description(
      "replay recorded conversations under several policies, and show the cost of each policy",
    )
    .argument(
      "<trace...>",
      "files with lines of JSON that have messages (may be gzipped), request bodies, or session ids",
    )
    .option("--policy <name>", "none, tail, clear, plimsoll, ideal; may be repeated", collect)
    .option("--window <tokens>", "size of the window (default: the model's own)", countOf)
    .option(
      "--window-share <share>",
      "size of the window, as a share of each conversation",
      shareOf,
    )
    .option("--model <name>", "model whose window and prices are used (default: as recorded)")
    .option("--wire <name>", `${wireNames.join(", ")} (default: as recorded)`)
    .option("--seconds-per-turn <n>", "time from one request to the next (default: 20)", secondsOf)
    .option("--json", "as JSON")
    .action(async (traces: readonly string[], flags: ReplayFlags) =>
      (await import("./commands/replay.ts")).runReplay(traces, flags),
    );
}

function addSimulate(root: Command): void {
  example(
    root.command("simulate"),
    "plimsoll simulate --tokens 10000 | plimsoll compact --budget 5000",
  )
    .description(
      "write a simulated conversation that is too long; the same options give the same one",
    )
    .option("--tokens <n>", "size of the conversation, about", countOf, 10_000)
    .option("--seed <n>", "another seed gives another conversation", numberOf, 1)
    .option("--p1-share <share>", "share of units with priority 1 (default: 0.3)", numberOf)
    .option(
      "--p3-share <share>",
      "share of units with priority 3 (default: a half of the others)",
      numberOf,
    )
    .option("--tool-calls <share>", "share of units that are tool calls (default: 0.7)", numberOf)
    .option(
      "--type <name>",
      `${simulatedTypes.join(", ")}; may be repeated (default: all)`,
      collect,
    )
    .option(
      "--language <code>",
      `${simulatedLanguages.join(", ")}; may be repeated (default: en)`,
      collect,
    )
    .option("--shape <name>", `${simulatedShapes.join(", ")} (default: mixed)`)
    .option("--format <name>", `${wireNames.join(", ")} (default: openai-chat)`)
    .option("--json", "the units with their types and priorities, instead of a request")
    .action(async (flags: SimulateFlags) =>
      (await import("./commands/simulate.ts")).runSimulate(flags),
    );
}

function addReport(root: Command): void {
  example(withData(root.command("report")), "plimsoll report ses_… --html report.html")
    .description(
      "report the size, savings and cost of a session, as text or as a page with pictures",
    )
    .argument("[session]", "session id (default: the newest session)")
    .option("--html <file>", "write one self-contained HTML file with pictures")
    .option("--json", "as JSON")
    .action(async (session: string | undefined, flags: ReportFlags) =>
      (await import("./report/report.ts")).runReport(session, flags, version),
    );
}

function addToolSearch(root: Command): void {
  example(
    root.command("tool-search"),
    'plimsoll tool-search "merge two PDFs" --catalogue tools.json',
  )
    .description("find the tools of a catalogue that a query asks for, best first")
    .argument("[query]", "description of the tool you need")
    .option("--catalogue <file>", "tools as JSON: a list, a request body, or an MCP tools/list")
    .option("-k <n>", "maximum number of tools", countOf, 10)
    .option("--json", "as JSON")
    .option(
      "--jsonl",
      "read catalogues and queries from standard input, and write names to standard output",
    )
    .action(async (query: string | undefined, flags: ToolSearchFlags) =>
      (await import("./commands/tool-search.ts")).runToolSearch(query, flags),
    );
}

function addTop(root: Command): void {
  example(withData(root.command("top")), "plimsoll top")
    .description("watch the sessions of the running service in the terminal, and steer them")
    .option("--once", "print one frame as plain text and exit")
    .option("--no-color", "print without colours (NO_COLOR in the environment does the same)")
    .action(async (flags: TopFlags) => (await import("./top/top.ts")).runTop(flags));
}

function addForget(root: Command): void {
  example(withData(root.command("forget")), "plimsoll forget --older-than 30d")
    .description("delete sessions with all that belongs to them, and give the space back")
    .argument("[session]", "session id, or the beginning of it")
    .option("--older-than <age>", "sessions whose last turn is older, such as 30d or 12h", ageOf)
    .option("--all", "all sessions, all backups, and all that was put aside")
    .option("--yes", "do not ask (needed without a terminal)")
    .option("--json", "as JSON")
    .action(async (session: string | undefined, flags: ForgetFlags) =>
      (await import("./commands/forget.ts")).runForget(session, flags),
    );
}

function addTimeTravel(root: Command): void {
  example(withData(root.command("edits")), "plimsoll edits ses_…")
    .description("list the edits of a session's view, with their reasons and savings")
    .argument(
      "[session]",
      "session id (default: the newest session), or a context_history.json of MarieCoder or Cline",
    )
    .option("--json", "as JSON")
    .action(async (session: string | undefined, flags: Flags) =>
      (await import("./commands/edits.ts")).runEdits(session, flags),
    );

  example(withData(root.command("checkpoints")), "plimsoll checkpoints")
    .description("list the points to which the view of a session can be restored")
    .argument("[session]", "session id (default: the newest session)")
    .option("--json", "as JSON")
    .action(async (session: string | undefined, flags: Flags) =>
      (await import("./commands/edits.ts")).runCheckpoints(session, flags),
    );

  example(withData(root.command("undo")), "plimsoll undo --edit 7")
    .description(
      "undo the last edit of a session, or one by its number, with all edits made together with it",
    )
    .argument("[session]", "session id (default: the newest session)")
    .option("--edit <number>", "number of the edit", countOf)
    .option("--branch <id>", "branch to undo on (default: the branch of the last edit)")
    .option("--json", "as JSON")
    .action(async (session: string | undefined, flags: Flags) =>
      (await import("./commands/steer.ts")).runUndo(session, flags),
    );

  example(withData(root.command("fork")), "plimsoll fork ses_… '#17'")
    .description("make a new session from a session, or from a point of it")
    .argument("[session]", "session id (default: the newest session)")
    .argument(
      "[point]",
      "a message (#17), a checkpoint, the number of an edit, or a time (default: the newest message)",
    )
    .option("--branch <id>", "branch to fork (default: the branch of the last request)")
    .option("--json", "as JSON")
    .action(async (session: string | undefined, point: string | undefined, flags: Flags) =>
      (await import("./commands/steer.ts")).runFork(session, point, flags),
    );

  example(withData(root.command("diff")), "plimsoll diff ses_… --from cp_7")
    .description("compare what the model saw at two points of a session")
    .argument("[session]", "session id (default: the newest session)")
    .option(
      "--from <point>",
      "a checkpoint or the number of an edit (default: before the first edit)",
    )
    .option("--to <point>", "a checkpoint or the number of an edit (default: now)")
    .option("--branch <id>", "branch (default: the branch of the last request)")
    .option("--json", "as JSON")
    .action(async (session: string | undefined, flags: Flags) =>
      (await import("./commands/diff.ts")).runDiff(session, flags),
    );

  example(withData(root.command("restore")), "plimsoll restore cp_7")
    .description("show the model an earlier view again, plus all messages since then")
    .argument("<point>", "a checkpoint, the number of an edit, or a time")
    .option("--session <id>", "session id (default: the newest session)")
    .option("--json", "as JSON")
    .action(async (point: string, flags: Flags) =>
      (await import("./commands/steer.ts")).runRestore(point, flags),
    );
}
