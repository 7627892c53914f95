/** A report as one self-contained HTML file: no script, no request, pictures as SVG. Pure. */

import type { WindowPicture, WindowUnit } from "../../message/api.ts";
import { grouped } from "../../text/digits.ts";
import { windowWords } from "../../watch/figures.ts";
import { kindName } from "../../watch/kind-words.ts";
import { compactionList } from "./compactions.ts";
import type { Report } from "./data.ts";
import { figuresShown } from "./figures.ts";
import { historyCharts } from "./history.ts";
import { editList, errorList } from "./lists.ts";
import { html, type Markup, nothing, written } from "./markup.ts";
import { styleSheet } from "./style.ts";
import { messagesOf, windowLegend, windowSvg } from "./window.ts";
import { counted, durationOf, percent, timeOf } from "./words.ts";

export interface PageOptions {
  /** Commands that show more about the session, each with a description. */
  readonly further: readonly Further[];
  /** Version of this program. */
  readonly version: string;
}

export interface Further {
  readonly command: string;
  readonly shows: string;
}

const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
const mostUnitsListed = 15;

export function reportHtml(report: Report, { further, version }: PageOptions): string {
  const { session, picture, turns, madeAt } = report;
  const name = session.agent ?? session.id;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${name} · Plimsoll report</title>
<style>${written(styleSheet)}</style>
</head>
<body>
${heading(report, name)}
<main>
${figureSection(report)}
<section aria-labelledby="window"><h2 id="window">The window now</h2>${picture === undefined ? empty("This session has no messages yet.") : windowPanel(picture)}</section>
<section aria-labelledby="turns"><h2 id="turns">Turn by turn</h2>${turns.length === 0 ? empty("There has been no turn yet.") : html`<div class="panel">${historyCharts(turns)}</div>`}</section>
<section class="long" aria-labelledby="compactions"><h2 id="compactions">Compactions</h2>${compactionList(report)}</section>
<section class="long" aria-labelledby="edits"><h2 id="edits">Active edits</h2>${editList(report)}</section>
<section class="long" aria-labelledby="errors"><h2 id="errors">Errors</h2>${errorList(report)}</section>
<section aria-labelledby="further"><h2 id="further">To look further</h2><dl class="panel commands">${further.map(({ command, shows }) => html`<dt><code>${command}</code></dt><dd>${shows}</dd>`)}</dl></section>
</main>
<footer>Made by Plimsoll ${version} on ${timeOf(madeAt)} UTC. Times are in UTC. This file contains text of the conversation. Share it only with people who may read the conversation.</footer>
</body>
</html>
`.markup;
}

function empty(sentence: string): Markup {
  return html`<p class="panel empty">${sentence}</p>`;
}

const logo = written(
  '<svg width="20" height="20" viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="3" aria-hidden="true"><circle cx="16" cy="16" r="9.5"/><path d="M1.5 16h29"/></svg>',
);

function heading({ session, models, turns }: Report, name: string): Markup {
  const from = turns[0]?.at ?? session.createdAt;
  const to = turns.at(-1)?.endedAt ?? session.updatedAt;
  const model = [...models.slice(0, 3), ...(models.length > 3 ? ["…"] : [])].join(", ");
  const about = [
    ["Session", html`<code>${session.id}</code>`],
    ["Model", html`<span class="foreign">${model === "" ? "none yet" : model}</span>`],
    ["Wire", html`${session.wire}`],
    [
      "From",
      html`${timeOf(from)} to ${timeOnly(to, from)} UTC (${durationOf(Math.max(0, to - from))})`,
    ],
  ] as const;
  return html`<header><p class="brand">${logo} Plimsoll report</p>
<div><h1 class="foreign">${name}</h1><dl class="about">${about.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl></div></header>`;
}

/** The time of day. The date is included only if `beside` is on another day. */
function timeOnly(at: number, beside: number): string {
  const [day, time = ""] = timeOf(at).split(" ");
  return timeOf(beside).startsWith(`${day} `) ? time : timeOf(at);
}

function figureSection({ figures }: Report): Markup {
  const shown = figuresShown(figures).map(
    ({ name, value, note }) =>
      html`<div><dt>${name}</dt><dd><div class="value">${value}</div><div class="note">${note}</div></dd></div>`,
  );
  return html`<section aria-label="Figures"><dl class="panel figures">${shown}</dl></section>`;
}

function windowPanel(picture: WindowPicture): Markup {
  const { tokens, limit, takenOutTokens, certainty } = picture;
  const filled =
    limit > 0
      ? html`<strong>${grouped(tokens)} of ${grouped(limit)} tokens</strong><span>${percent(tokens / limit)} of the limit</span>`
      : html`<strong>${grouped(tokens)} tokens</strong>`;
  return html`<div class="panel stack"><p class="fill">${filled}<span class="muted">in a window of ${windowWords(picture, grouped)}; ${certaintyWords[certainty]}${takenOutTokens > 0 ? `; edits remove ${grouped(takenOutTokens)}` : ""}</span></p>
${windowSvg(picture)}${windowLegend(picture)}${largestUnits(picture)}</div>`;
}

const certaintyWords: Readonly<Record<WindowPicture["certainty"], string>> = {
  exact: "counted exactly",
  estimate: "estimated",
  bound: "counted as an upper bound",
};

/** The largest units as a table, for people who cannot see the picture. */
function largestUnits({ units, tokens }: WindowPicture): Markup {
  if (units.length === 0) return nothing;
  const largest = units
    .toSorted((one, other) => other.tokens - one.tokens)
    .slice(0, mostUnitsListed);
  return html`<details class="plain"><summary>The largest of ${counted(units.length, "unit")}</summary><div class="inside"><table class="cards"><thead><tr><th scope="col">Kind</th><th scope="col" class="number">Messages</th><th scope="col" class="number">Tokens</th><th scope="col" class="number">Share</th><th scope="col" class="wide">Begins</th></tr></thead><tbody>${largest.map((unit) => unitRow(unit, tokens))}</tbody></table></div></details>`;
}

function unitRow(unit: WindowUnit, all: number): Markup {
  const [main] = unit.segments.toSorted((one, other) => other.tokens - one.tokens);
  const kind = main?.kind ?? "user";
  const messages = messagesOf(unit);
  return html`<tr><th scope="row"><span class="kind"><span class="swatch s-${kind}"></span>${kindName(kind)}</span></th>${messages === "" ? html`<td class="number"></td>` : html`<td class="number" data-label="Messages">${messages}</td>`}<td class="number" data-label="Tokens">${grouped(unit.tokens)}</td><td class="number">${percent(unit.tokens / Math.max(1, all))}</td><td class="wide"><span class="example foreign">${unit.begins}</span></td></tr>`;
}
