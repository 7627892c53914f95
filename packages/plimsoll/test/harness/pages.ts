/** Reads pages of the documentation and the titles of tests, to check that pages name only what exists. */

import { existsSync, readFileSync } from "node:fs";

const root = new URL("../../../../", import.meta.url);

/** The text of a page in `docs/`. */
export function docsPage(name: string): string {
  return readFileSync(new URL(`docs/${name}`, root), "utf8");
}

/** The rows of the first table below a heading, each as its cells. Without a heading: the first table of the page. */
export function rowsBelow(page: string, heading?: string): readonly (readonly string[])[] {
  const section =
    heading === undefined ? page : (page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "");
  return section
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(1)
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|")));
}

/** The quoted code in a text. */
export function codeIn(text: string): readonly string[] {
  return [...text.matchAll(/(`+)(.+?)\1/g)].map(([, , code = ""]) => code.trim());
}

/** Links of a page in `docs/` to files that do not exist. */
export function brokenLinksIn(page: string): readonly string[] {
  const links = [...page.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link = ""]) => link);
  return links.filter((link) => !/^https?:/.test(link) && !existsSync(new URL(link, docs)));
}
const docs = new URL("docs/", root);

/** The first argument of `test`, `describe` and their tables, if it is a string. */
const titled = /(?:\b(?:describe|test|it)|\)|>)\(\s*("(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)\s*,/g;

/** The source of a test file, by its path in the package. Empty if there is no such file. */
export function testSource(file: string): string {
  const place = new URL(`packages/plimsoll/${file}`, root);
  return file.endsWith(".test.ts") && existsSync(place) ? readFileSync(place, "utf8") : "";
}

/** The titles of tests and of groups of tests in a file, with their placeholders. Tests that are skipped have none. */
export function titlesIn(file: string): readonly string[] {
  return [...testSource(file).matchAll(titled)].map(([, title = ""]) =>
    title.slice(1, -1).replaceAll(/\\(["`])/g, "$1"),
  );
}
