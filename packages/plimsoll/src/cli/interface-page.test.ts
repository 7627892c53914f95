/** The page of what users may rely on names every command and flag that is there, and none that is not. */

import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { codeIn, docsPage, rowsBelow } from "../../test/harness/pages.ts";
import { program } from "./main.ts";

const page = docsPage("interface.md");

const commandRows = rowsBelow(page, "Commands");

/** The page's description of a command. */
function rowOf(name: string): string {
  const row = commandRows.find(([, names = ""]) =>
    codeIn(names).some((code) => code.split(" ").slice(0, 2).join(" ") === `plimsoll ${name}`),
  );
  return (row ?? []).join(" ");
}

/** Flags that every command has, or every command that reads or prints data. The page names them once. */
const common: ReadonlySet<string> = new Set(["--help", "--json", "--data", "--config"]);

/** The command, and the commands below it, such as `tasks add` below `tasks`. */
function withCommandsBelow(command: Command): readonly Command[] {
  return [command, ...command.commands];
}

function flagsOf(command: Command): readonly string[] {
  const flags = withCommandsBelow(command).flatMap(({ options }) =>
    options.map(({ long, short }) => long ?? short ?? ""),
  );
  return [...new Set(flags)].filter((flag) => !common.has(flag));
}

/** The flags in a row, including those of a second command in it. */
function flagsIn(row: string): readonly string[] {
  const flags = row.match(/(?<![\w-])--?[a-z][\w-]*/g) ?? [];
  return [...new Set(flags)].filter((flag) => !common.has(flag));
}

const commands = program().commands;

describe("commands", () => {
  test("every command is on the page, and no other", () => {
    const named = commandRows
      .flatMap(([, names = ""]) => codeIn(names))
      .flatMap((code) => /^plimsoll ([\w-]+)/.exec(code)?.[1] ?? []);
    expect(named.toSorted()).toEqual(commands.map((command) => command.name()).toSorted());
  });

  test.each(commands.map((command) => [command.name(), command] as const))(
    "%s: its row names its flags, and none that it does not have",
    (name, command) => {
      const row = rowOf(name);
      const own = flagsOf(command);
      expect(own.filter((flag) => !flagsIn(row).includes(flag))).toEqual([]);
      const known = commands
        .filter((other) => rowOf(other.name()) === row)
        .flatMap((other) => flagsOf(other));
      expect(flagsIn(row).filter((flag) => !known.includes(flag))).toEqual([]);
    },
  );

  test.each(commands.map((command) => [command.name(), command] as const))(
    "%s: --help names its flags",
    (_name, command) => {
      const help = withCommandsBelow(command)
        .map((one) => one.helpInformation())
        .join("\n");
      expect(flagsOf(command).filter((flag) => !help.includes(flag))).toEqual([]);
    },
  );
});
