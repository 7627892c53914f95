/** The page of what the documents ask for has every requirement, and names only tests, commands and files that exist. */

import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  brokenLinksIn,
  codeIn,
  docsPage,
  rowsBelow,
  testSource,
  titlesIn,
} from "../../test/harness/pages.ts";
import { program } from "./main.ts";

const page = docsPage("mission.md");
const root = new URL("../../../../", import.meta.url);

/** How many requirements each document has. X is what none of them has. */
const requirements = { A: 18, B: 9, C: 8, D: 6, E: 6, X: 13 };
const ids = Object.entries(requirements).flatMap(([document, count]) =>
  Array.from({ length: count }, (_, index) => `${document}${index + 1}`),
);

const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, heading = ""]) => heading);
const rows = headings
  .filter((heading) => /^[A-EX]: /.test(heading))
  .flatMap((heading) => rowsBelow(page, heading));
const sentences = rowsBelow(page, "Single sentences");
const mistakes = rowsBelow(page, "What was wrong");

test("every requirement has one row, and no other row is there", () => {
  expect(rows.map(([, id]) => id).toSorted()).toEqual(ids.toSorted());
});

describe("a row", () => {
  test.each(rows.map((row) => [row[1] ?? "", row] as const))(
    "%s has a command if it is done, and none if it is not built yet",
    (_id, [, , , where = "", command = "", state = ""]) => {
      if (state === "not built yet") expect([where, command]).toEqual(["–", "–"]);
      else {
        expect(state).toMatch(/^done\b/);
        expect(codeIn(command)).not.toEqual([]);
        const files = codeIn(where).filter((name) => name.includes("/"));
        expect(files.filter((name) => !isSource(name))).toEqual([]);
      }
    },
  );
});

test.each([
  ["sentences", sentences, 3],
  ["mistakes", mistakes, 2],
] as const)("each of the %s has a command", (_name, table, column) => {
  expect(table.length).toBeGreaterThan(10);
  for (const row of table) expect(codeIn(row[column] ?? ""), row.join(" | ")).not.toEqual([]);
});

const shown = [
  ...rows.map((row) => row[4] ?? ""),
  ...sentences.map((row) => row[3] ?? ""),
  ...mistakes.map((row) => row[2] ?? ""),
].flatMap(codeIn);

test.each([...new Set(shown)])("%s can be run", (command) => expect(problemOf(command)).toBe(""));

test.each([
  ['npm test -- vitest src/budget/limit.test.ts -t "of the worked exmple"', "no such test"],
  ["npm test -- vitest src/budget/limits.test.ts", "no such test file"],
  ["npm test -- tidi", "no such check"],
  ["npm run bench:qualities", "no such script"],
  ["plimsoll replai", "no such command"],
  ["plimsoll top --twice", "no such flag: --twice"],
  ["make", "unknown form"],
])("%s is found out", (command, problem) => expect(problemOf(command)).toBe(problem));

test("the pages that it links to are there", () => expect(brokenLinksIn(page)).toEqual([]));

function isSource(name: string): boolean {
  const place = name.startsWith("apps/") ? name : `packages/plimsoll/src/${name}`;
  return existsSync(new URL(place, root));
}

/** Why a command cannot be run, or an empty text. Quotation marks of a shell change nothing inside the names of tests. */
function problemOf(command: string): string {
  const [, file, name] =
    /^npm test -- vitest (\S+)(?: -t "([^"$`\\]+)")?$/.exec(command) ?? ([] as string[]);
  if (file !== undefined) return problemOfTest(file, name);
  const [, kind, rest = ""] = /^(npm test --|npm run|plimsoll) (.+)$/.exec(command) ?? [];
  if (kind === "npm test --") return checks().includes(rest) ? "" : "no such check";
  if (kind === "npm run") return scripts().includes(rest) ? "" : "no such script";
  return kind === "plimsoll" ? problemOfProgram(rest) : "unknown form";
}

/** Vitest takes a name as a pattern. A name in a table of tests is the beginning of a text. */
function problemOfTest(file: string, name: string | undefined): string {
  const path = file.startsWith("apps/") ? `../../${file}` : file;
  const titles = titlesIn(path);
  if (titles.length === 0) return "no such test file";
  if (name === undefined) return "";
  const isThere =
    titles.some((title) => new RegExp(name).test(title)) || testSource(path).includes(`"${name}`);
  return isThere ? "" : "no such test";
}

function problemOfProgram(words: string): string {
  const [name, ...others] = (words.split(" -- ")[0] ?? "").split(" ");
  const command = program().commands.find((one) => one.name() === name);
  if (command === undefined) return "no such command";
  const unknown = others.find(
    (word) => word.startsWith("--") && !command.options.some(({ long }) => long === word),
  );
  return unknown === undefined ? "" : `no such flag: ${unknown}`;
}

function checks(): readonly string[] {
  const source = readFileSync(new URL("scripts/check.mjs", root), "utf8");
  return [...source.matchAll(/^ {2}(\w+): \[/gm)].map(([, name = ""]) => name);
}

function scripts(): readonly string[] {
  const text = readFileSync(new URL("package.json", root), "utf8");
  return Object.keys((JSON.parse(text) as { scripts: Record<string, string> }).scripts);
}
