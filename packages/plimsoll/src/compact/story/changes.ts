/** Lines about the agent's changes that the view no longer shows: by name if there is room, otherwise in groups. */

import { storyTexts } from "../../text/for-models.ts";
import type { Item } from "../summary/format.ts";
import { type Act, hasFailed } from "./acts.ts";

/** A change, and the numbers of the messages that made it. */
interface Change {
  readonly verb: string;
  readonly object: string;
  readonly numbers: readonly number[];
}

/** A line that names some changes. */
export interface ChangeLine extends Item {
  readonly changes: readonly Change[];
}

const objectsPerLine = 6;
const numbersPerObject = 3;

/**
 * A line for each verb, with the objects in order. Commands come first, because the story leaves out the first lines first.
 * Failures have a section of their own.
 */
export function changeLines(
  acts: readonly Act[],
  isShown: (message: number) => boolean,
): readonly ChangeLine[] {
  const byVerb = new Map<string, Map<string, number[]>>();
  const resets = acts.filter(isReset);
  for (const act of acts) {
    const { deed, number, message } = act;
    if (!deed.isEffect || isShown(message) || hasFailed(act) || isUndone(act, resets)) continue;
    const objects = byVerb.get(deed.verb) ?? new Map<string, number[]>();
    byVerb.set(deed.verb, objects);
    objects.set(deed.object, [...(objects.get(deed.object) ?? []), number]);
  }
  const verbs = [...byVerb].toSorted(([one], [other]) => rankOf(one) - rankOf(other));
  return verbs.flatMap(([verb, objects]) =>
    chunksOf(
      [...objects].map(([object, numbers]) => ({ verb, object, numbers })),
      objectsPerLine,
    ).map((changes) => ({
      section: "Changed",
      isData: false,
      text: storyTexts.changed(
        verb,
        changes.map(({ object, numbers }) => `${object} (${numbersOf(numbers)})`),
      ),
      changes,
    })),
  );
}

/** Commands that throw away what was edited, in all files or in those that they name. */
const throwingAway = /^`?git (?:reset --hard|(?:checkout|restore) (?:-- )?\.(?=[\s`]|$))/;
const restoring = /^`?git (?:checkout(?! -b)|restore) /;

function isReset(act: Act): boolean {
  const { verb, object } = act.deed;
  return verb === "ran" && !hasFailed(act) && (throwingAway.test(object) || restoring.test(object));
}

/** Whether a later command of git has brought the file back. The command itself is a change that has its own line. */
function isUndone({ deed: { verb, object }, number }: Act, resets: readonly Act[]): boolean {
  if (verb !== "edited" && verb !== "updated") return false;
  return resets.some(
    (later) =>
      later.number > number &&
      (throwingAway.test(later.deed.object) || later.deed.object.includes(object)),
  );
}

function rankOf(verb: string): number {
  return verb === "ran" ? 0 : 1;
}

function chunksOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}

function numbersOf(numbers: readonly number[]): string {
  const isLong = numbers.length > numbersPerObject;
  const shown = isLong ? [numbers[0], numbers.at(-1)] : numbers;
  return shown.map((number) => `#${number}`).join(isLong ? " … " : ", ");
}

/** More groups than this become one line. */
const mostGroups = 3;

/** One short line for each verb, for changes that there is no room to name: `edited 14 files under src/ (#12–#40)`. */
export function groupedChanges(lines: readonly ChangeLine[]): readonly Item[] {
  const byVerb = new Map<string, Change[]>();
  for (const { changes } of lines)
    for (const change of changes)
      byVerb.set(change.verb, [...(byVerb.get(change.verb) ?? []), change]);
  const mixed = [["made", [...byVerb.values()].flat()] as const];
  return [...(byVerb.size > mostGroups ? mixed : byVerb)].map(([verb, changes]) => {
    const numbers = changes.flatMap((change) => change.numbers);
    const range = { first: Math.min(...numbers), last: Math.max(...numbers) };
    const text = storyTexts.changedMany(verb, amountOf(verb, changes), range);
    return { section: "Changed", isData: false, text };
  });
}

function amountOf(verb: string, changes: readonly Change[]): string {
  switch (verb) {
    case "made":
      return storyTexts.manyChanges(changes.length);
    case "ran":
      return storyTexts.commands(changes.length);
    case "called":
      return namesIn(changes);
    case "installed":
      return storyTexts.packages(changes.length);
    case "removed":
    case "moved":
    case "copied":
      return storyTexts.filesByCommands(changes.length);
    default:
      return storyTexts.changedFiles(changes.length, folderOf(changes));
  }
}

/** The names of the tools, each once. */
function namesIn(changes: readonly Change[]): string {
  return [...new Set(changes.map(({ object }) => object.replace(/ \(.*$/, "")))].join(", ");
}

/** The folder that all changed files have in common, or an empty string. */
function folderOf(changes: readonly Change[]): string {
  const folders = changes.map(({ object }) => /^[\w.@~+/-]+\/(?=[^/\s]+$)/.exec(object)?.[0] ?? "");
  let common = folders[0] ?? "";
  while (common !== "" && !folders.every((folder) => folder.startsWith(common)))
    common = common.replace(/[^/]*\/$/, "");
  return common === "/" ? "" : common;
}
