/** Generates tool outputs: tests, traces, logs, data, tables, search results, pages, listings. All texts are our own. */

import { between, type Dice, pick, type Some, times } from "./dice.ts";
import { snake } from "./texts-areas.ts";
import type { ProjectFile } from "./texts-project.ts";

const vessels: Some<string> = [
  "Marta Lund",
  "North Skua",
  "Halcyon Bay",
  "Orla",
  "Bright Tern",
  "Sankt Velin",
  "Kestrel IV",
  "Dunmore",
  "Ada Fjord",
  "Grey Heron",
];
const quays: Some<string> = ["North", "Coal", "Fish", "Ferry", "Old Mole", "Container 2"];
const states: Some<string> = ["requested", "confirmed", "berthed", "left", "cancelled"];
const workers: Some<string> = ["dispatch", "billing", "tides", "gate", "notify"];

function clock(seconds: number): string {
  const two = (value: number): string => String(value % 60).padStart(2, "0");
  return `0${4 + (Math.floor(seconds / 3600) % 6)}:${two(Math.floor(seconds / 60))}:${two(seconds)}`;
}

export function testOutput(dice: Dice, file: ProjectFile, failing: number): string {
  const tests = file.names.flatMap((name) =>
    times(between(dice, 2, 5), (at) => `${name} > ${pick(dice, cases)} (${at + 1})`),
  );
  const failed = new Set(tests.slice(0, failing));
  const spec = file.path.replace(/\.\w+$/, ".test.ts");
  const rows = tests.map(
    (name) => ` ${failed.has(name) ? "×" : "✓"} ${spec} > ${name} ${between(dice, 1, 90)}ms`,
  );
  const reports = [...failed].flatMap((name) => failure(dice, file, name));
  const passed = tests.length - failing;
  return [
    "> harbour@4.12.0 test",
    `> vitest run ${spec}`,
    "",
    ...rows,
    ...(failing === 0 ? [] : ["", `⎯⎯⎯ Failed Tests ${failing} ⎯⎯⎯`, "", ...reports]),
    "",
    ` Tests  ${failing === 0 ? "" : `${failing} failed | `}${passed} passed (${tests.length})`,
    ` Duration  ${between(dice, 300, 4_000)}ms`,
    ...(failing === 0 ? [] : ["npm error Lifecycle script `test` failed with error: code 1"]),
  ].join("\n");
}

const cases: Some<string> = [
  "keeps half-open windows apart",
  "takes the deepest first",
  "refuses what is closed",
  "rounds once",
  "survives a change of the clock",
  "is the same for the same second",
  "frees what was cancelled",
];

function failure(dice: Dice, { path, names }: ProjectFile, name: string): readonly string[] {
  const [is, should] = [between(dice, 100, 999), between(dice, 100, 999)];
  const line = between(dice, 20, 140);
  return [
    ` FAIL  ${path.replace(/\.\w+$/, ".test.ts")} > ${name}`,
    `AssertionError: expected ${is} to be ${should} // Object.is equality`,
    "",
    `- Expected: ${should}`,
    `+ Received: ${is}`,
    "",
    ` ❯ ${names[0]} ${path}:${line}:${between(dice, 3, 40)}`,
    ` ❯ ${path.replace(/\.\w+$/, ".test.ts")}:${line + 31}:18`,
    "",
  ];
}

export function stackTrace(dice: Dice, { path, names, area }: ProjectFile): string {
  const frames = times(between(dice, 14, 34), (at) =>
    at < 4
      ? `    at ${names[at % names.length]} (/srv/harbour/${path}:${between(dice, 8, 190)}:${between(dice, 3, 44)})`
      : `    at ${pick(dice, internals)} (/srv/harbour/node_modules/fleet-http/lib/${pick(dice, ["router", "layer", "queue"])}.js:${between(dice, 20, 900)}:${between(dice, 3, 60)})`,
  );
  return [
    `HarbourError [NO_${area.thing.toUpperCase()}]: ${area.thing} ${idOf(dice)} is over its limit.`,
    ...frames,
    "  [cause]: Error: read ECONNRESET",
    `      at TLSWrap.onStreamRead (node:internal/stream_base_commons:${between(dice, 200, 240)}:20) {`,
    "    errno: -104,",
    "    code: 'ECONNRESET',",
    "    syscall: 'read'",
    "  }",
    "}",
  ].join("\n");
}

const internals: Some<string> = [
  "Layer.handle",
  "next",
  "Router.dispatch",
  "Queue.drain",
  "async Worker.take",
  "Array.forEach (<anonymous>)",
];

function idOf(dice: Dice): string {
  return `${pick(dice, ["bk", "vs", "pj"])}_${between(dice, 1_000_000, 9_999_999).toString(36)}`;
}

/** A log that is mostly noise; the error is in the middle. */
export function logLines(dice: Dice, file: ProjectFile, count: number): string {
  const wrong = Math.floor(count / 2);
  const day = between(dice, 10, 28);
  return times(count, (at) => {
    const time = `2026-10-${day}T${clock(at * 7)}.${between(dice, 100, 999)}Z`;
    if (at === wrong)
      return `${time} ERROR billing ${file.path}: ${file.names[0]} failed for ${idOf(dice)}: limit ${between(dice, 1_000, 9_999)} exceeded (attempt 3)`;
    if (at === wrong + 1)
      return `${time} WARN  billing circuit open for 30 s, queue ${between(dice, 80, 990)}`;
    const worker = pick(dice, workers);
    return `${time} INFO  ${worker.padEnd(8)} ${pick(dice, doings)} ${idOf(dice)} at ${pick(dice, quays)} quay in ${between(dice, 2, 240)} ms`;
  }).join("\n");
}

const doings: Some<string> = [
  "assigned berth to",
  "sent pilot to",
  "weighed lorry of",
  "printed statement for",
  "read tide table for",
  "released crane of",
];

function record(dice: Dice, file: ProjectFile): Readonly<Record<string, unknown>> {
  return {
    id: idOf(dice),
    vessel: pick(dice, vessels),
    quay: pick(dice, quays),
    state: pick(dice, states),
    arrivesAt: `2026-10-${between(dice, 10, 29)}T${clock(between(dice, 0, 80_000))}Z`,
    [file.area.fields[0]]: between(dice, 10, 900),
    [file.area.fields[1]]: between(dice, 1, 40),
    fee: { cents: between(dice, 12_000, 990_000), currency: "EUR" },
    tugs: times(between(dice, 0, 2), () => pick(dice, ["Boreas", "Wotan", "Little Nell"])),
  };
}

export function jsonText(dice: Dice, file: ProjectFile, count: number): string {
  const items = times(count, () => record(dice, file));
  const page = { next: idOf(dice), total: count * between(dice, 3, 40) };
  return JSON.stringify({ page, items, warnings: [] }, undefined, 2);
}

export function jsonLines(dice: Dice, file: ProjectFile, count: number): string {
  return times(count, (at) =>
    JSON.stringify({
      ts: 1_791_000_000 + at * 13,
      level: at % 17 === 11 ? "error" : "info",
      worker: pick(dice, workers),
      job: idOf(dice),
      name: pick(dice, file.names),
      ms: between(dice, 2, 4_000),
    }),
  ).join("\n");
}

export function tableText(dice: Dice, { area }: ProjectFile, count: number): string {
  const [one, other] = area.fields;
  const columns = ["id", "vessel", "quay", snake(one), snake(other), "state"];
  const rows = times(count, () => [
    idOf(dice),
    pick(dice, vessels),
    pick(dice, quays),
    String(between(dice, 10, 9_000)),
    String(between(dice, 1, 400)),
    pick(dice, states),
  ]);
  const widths = columns.map((name, at) =>
    Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    ` ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")}`;
  const rule = widths.map((width) => "-".repeat(width + 2)).join("+");
  return [line(columns), rule, ...rows.map(line), `(${count} rows)`].join("\n");
}

export function searchResults(dice: Dice, files: readonly ProjectFile[], wanted: string): string {
  const found = files.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) =>
      line.trim().length > 12 && dice() < 0.09 ? [`${path}:${at + 1}: ${line.trim()}`] : [],
    ),
  );
  const named = files.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) =>
      line.includes(wanted) ? [`${path}:${at + 1}: ${line.trim()}`] : [],
    ),
  );
  return [...named.slice(0, 30), ...found.slice(0, 60)].join("\n");
}

export function htmlPage(dice: Dice, file: ProjectFile, count: number): string {
  const rows = times(count, () => {
    const { id, vessel, quay, state } = record(dice, file);
    return `      <tr data-id="${id}"><td><a href="/stays/${id}">${vessel}</a></td><td>${quay}</td><td class="state ${state}">${state}</td></tr>`;
  });
  return [
    "<!doctype html>",
    '<html lang="en">',
    "  <head>",
    '    <meta charset="utf-8">',
    `    <title>Harbour: ${file.area.things} today</title>`,
    '    <link rel="stylesheet" href="/assets/board.css">',
    `    <script src="/assets/board.js?v=${between(dice, 100, 999)}" defer></script>`,
    "  </head>",
    "  <body>",
    '    <nav><a href="/">Board</a> <a href="/tides">Tides</a> <a href="/fees">Fees</a></nav>',
    `    <h1>${file.area.things} today</h1>`,
    `    <p>High water at ${clock(between(dice, 0, 9_000))}. The ${pick(dice, quays)} quay is closed until noon.</p>`,
    "    <table>",
    "      <tr><th>Vessel</th><th>Quay</th><th>State</th></tr>",
    ...rows,
    "    </table>",
    "  </body>",
    "</html>",
  ].join("\n");
}

/** A JavaScript bundle for a browser, in one line. */
export function longLine(dice: Dice, file: ProjectFile, count: number): string {
  const parts = times(
    count,
    (at) =>
      `function f${at}(a,b){return a.${pick(dice, file.area.fields)}>${between(dice, 1, 999)}?b[${at}]:"${idOf(dice)}"}`,
  );
  return `!function(){"use strict";${parts.join(";")};window.harbourBoard={v:"${between(dice, 1, 9)}.${between(dice, 0, 40)}"}}();`;
}

export function listing(dice: Dice, files: readonly ProjectFile[], folder: string): string {
  const rows = files
    .filter(({ path }) => path.startsWith(folder))
    .toSorted((left, right) => left.path.localeCompare(right.path))
    .map(
      ({ path, lines }) =>
        `-rw-r--r--  harbour  ${String(lines.join("\n").length).padStart(6)}  Oct ${between(dice, 1, 19)}  ${path}`,
    );
  return [`total ${rows.length}`, "drwxr-xr-x  harbour       -  Oct 19  .", ...rows].join("\n");
}

/** Error texts, by the tool that fails. */
const failures: Readonly<Record<string, (dice: Dice, file: ProjectFile) => string>> = {
  edit_file: (_, { path }) =>
    `old_text stands in ${path} more than once: give a longer text, with the lines around it.`,
  query_database: (dice) =>
    `ERROR: canceling statement due to statement timeout after ${between(dice, 20, 60)} s (postgres:5433, SQLSTATE 57014)`,
  http_request: (dice) =>
    `502 Bad Gateway: the tide station did not answer (request ${idOf(dice)})`,
  run_command: (dice) =>
    `bash: line 1: scripts/rebuild-${between(dice, 10, 99)}.sh: No such file or directory (exit code 127)`,
};

export function failureText(dice: Dice, tool: string, file: ProjectFile): string {
  return (
    failures[tool]?.(dice, file) ?? `EACCES: permission denied, open '/srv/harbour/${file.path}'`
  );
}
