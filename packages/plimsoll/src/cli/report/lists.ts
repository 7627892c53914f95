/** The lists of a report: the edits that shape the window, and the errors. Long lists are partly collapsed. */

import type { WindowUnit } from "../../message/api.ts";
import type { Edit } from "../../message/edit.ts";
import { grouped } from "../../text/digits.ts";
import { whatItDid } from "../../watch/edit-words.ts";
import type { Report } from "./data.ts";
import { arrow, html, type Markup, nothing, shortened } from "./markup.ts";
import { messagesOf } from "./window.ts";
import { counted, timeOf } from "./words.ts";

/** Maximum number of groups of edits in the report. The newest are shown; `plimsoll edits` lists all. */
const mostGroups = 60;
const mostEditsInGroup = 60;
const mostErrors = 50;
const shownAtOnce = 10;
const whyChars = 300;

/**
 * A list of lines that can be opened. Only the newest lines are visible at first. The older ones are collapsed into one group.
 */
export function longList(items: readonly Markup[]): Markup {
  if (items.length === 0) return nothing;
  const isLong = items.length > shownAtOnce + 2;
  const shown = isLong ? items.slice(0, shownAtOnce) : items;
  const older = items.slice(shown.length);
  return html`<div class="panel list">${shown}${isLong ? html`<details class="older"><summary>${grouped(older.length)} older</summary><div class="inside">${older}</div></details>` : nothing}</div>`;
}

/** Edits that were made together. */
interface Group {
  readonly strategy: string;
  readonly reason: string;
  readonly at: number;
  readonly edits: readonly Edit[];
}

export function editList({ edits, picture }: Report): Markup {
  if (edits.length === 0)
    return html`<p class="panel empty">Nothing was edited. The model sees every message as it came.</p>`;
  const unitByEdit = unitsByEdit(picture?.units ?? []);
  const shaping = edits.filter(
    ({ seq, action }) => unitByEdit.has(seq) || isAlwaysSeen(action.kind),
  );
  const rest = edits.length - shaping.length;
  const groups = groupsOf(shaping).toReversed();
  const left = groups.slice(mostGroups).reduce((sum, group) => sum + group.edits.length, 0);
  return html`${longList(groups.slice(0, mostGroups).map((group) => editGroup(group, unitByEdit)))}
${rest + left > 0 ? html`<p class="note">${counted(rest + left, "more edit")} ${rest + left === 1 ? "is" : "are"} active but not shown: ${left > 0 ? "older ones, or edits " : ""}inside content that was removed later. <code>plimsoll edits</code> lists all edits.</p>` : nothing}`;
}

/** Whether edits of this kind are always listed. These edits change the model's view but belong to no single unit. */
function isAlwaysSeen(kind: Edit["action"]["kind"]): boolean {
  return kind === "tools" || kind === "pin";
}

function unitsByEdit(units: readonly WindowUnit[]): ReadonlyMap<number, WindowUnit> {
  return new Map(units.flatMap((unit) => (unit.edits ?? []).map((seq) => [seq, unit] as const)));
}

function groupsOf(edits: readonly Edit[]): readonly Group[] {
  const groups = new Map<string, { readonly first: Edit; readonly edits: Edit[] }>();
  for (const edit of edits) {
    const key = JSON.stringify([edit.step, edit.strategy, edit.reason]);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { first: edit, edits: [edit] });
    else known.edits.push(edit);
  }
  return [...groups.values()].map(({ first: { strategy, reason, at }, edits: own }) => ({
    strategy,
    reason,
    at,
    edits: own,
  }));
}

function editGroup(
  { strategy, reason, at, edits }: Group,
  unitByEdit: ReadonlyMap<number, WindowUnit>,
): Markup {
  const before = edits.reduce((sum, edit) => sum + edit.tokensBefore, 0);
  const after = edits.reduce((sum, edit) => sum + edit.tokensAfter, 0);
  const rows = edits
    .slice(0, mostEditsInGroup)
    .map((edit) => editRow(edit, unitByEdit.get(edit.seq)));
  const left = edits.length - rows.length;
  return html`<details><summary><strong class="foreign">${strategy}</strong><span>${counted(edits.length, "edit")}</span>${before === 0 ? nothing : html`<span>${grouped(before)} ${arrow} ${grouped(after)} tokens</span>`}<span class="muted foreign why">${shortened(reason, whyChars)}</span><span class="muted spread">${timeOf(at)}</span></summary>
<div class="inside"><table class="cards"><thead><tr><th scope="col" class="number">Edit</th><th scope="col">What</th><th scope="col" class="number">Messages</th><th scope="col" class="number">Tokens before</th><th scope="col" class="number">after</th><th scope="col" class="wide">Text in the view now</th></tr></thead><tbody>${rows}</tbody></table>
${left > 0 ? html`<p class="note">${counted(left, "more edit")} of this step ${left === 1 ? "is" : "are"} not shown.</p>` : nothing}</div></details>`;
}

function editRow(edit: Edit, unit: WindowUnit | undefined): Markup {
  const messages = unit === undefined ? "" : messagesOf(unit);
  const { seq, tokensBefore, tokensAfter } = edit;
  return html`<tr><td class="number" data-label="Edit">${seq}</td><td class="what">${whatItDid(edit).brief}</td>${numberCell("Messages", messages)}${numberCell("Before", tokensBefore === 0 ? "" : grouped(tokensBefore))}${numberCell("After", grouped(tokensAfter))}<td class="wide"><span class="example foreign">${unit?.begins ?? ""}</span></td></tr>`;
}

function numberCell(label: string, text: string): Markup {
  return text === ""
    ? html`<td class="number"></td>`
    : html`<td class="number" data-label="${label}">${text}</td>`;
}

export function errorList({ errors }: Report): Markup {
  if (errors.length === 0) return html`<p class="panel empty">None were recorded.</p>`;
  const rows = errors
    .slice(0, mostErrors)
    .map(
      ({ at, code, message }) =>
        html`<tr><td class="number">${timeOf(at)}</td><th scope="row"><code>${code}</code></th><td class="wide"><span class="foreign">${message}</span></td></tr>`,
    );
  const left = errors.length - rows.length;
  return html`<div class="panel"><table class="cards"><thead><tr><th scope="col" class="number">When (UTC)</th><th scope="col">Code</th><th scope="col" class="wide">What happened</th></tr></thead><tbody>${rows}</tbody></table></div>
${left > 0 ? html`<p class="note">${counted(left, "older error")} not shown.</p>` : nothing}`;
}
