/** The page PERFORMANCE.md. It has a section for each benchmark. A run replaces the sections that it measured, and keeps the others. */

import { describeCommit, describeMachine, today } from "./machine.ts";
import { type Benchmark, type Outcome, tablesOf, toMarkdown } from "./report.ts";

export interface Finished {
  readonly benchmark: Benchmark;
  readonly outcome: Outcome;
  readonly seconds: number;
}

const introduction = `# Performance

Written by \`npm run bench -- --write\`; \`npm run bench -- NAME --write\` measures one section anew. Times hold for the machine and the commit of their section only. The ratios count: both sides of each were measured in turn, in one run, and are medians over its rounds.`;

/** The page with a new section in place of the old one. Sections are in the order of `benchmarks`; those of other titles leave. */
export function pageWith(
  page: string,
  benchmarks: readonly Benchmark[],
  finished: Finished,
): string {
  const sections = sectionsOf(page).set(finished.benchmark.title, sectionOf(finished));
  const known = benchmarks.flatMap(({ title }) => sections.get(title) ?? []);
  return `${[introduction, ...known].join("\n\n")}\n`;
}

/** By title. What the page says before its first section is not in it. */
function sectionsOf(page: string): Map<string, string> {
  const [, ...sections] = page.split(/^(?=## )/m);
  return new Map(
    sections.map((section) => [section.slice(3, section.indexOf("\n")), section.trimEnd()]),
  );
}

function sectionOf({ benchmark, outcome, seconds }: Finished): string {
  return [
    `## ${benchmark.title}`,
    `\`npm run bench -- ${benchmark.name}\` on ${today()}, commit ${describeCommit()}, ${describeMachine()}. It took ${seconds} s.`,
    ...(outcome.pictures ?? []).map(({ title, fileName }) => `![${title}](${fileName})`),
    ...tablesOf(outcome).map(toMarkdown),
  ].join("\n\n");
}
