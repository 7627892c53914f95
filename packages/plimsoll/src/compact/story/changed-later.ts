/** Results that are out of date: they show a file that the agent changed afterwards. */

import type { ToolCallPart } from "../../message/message.ts";
import { type Act, hasFailed } from "./acts.ts";
import { isLooking } from "./effects.ts";

/** The last change of a file after a call that looked at it. */
export interface LaterChange {
  /** Number of the message that made the change. */
  readonly number: number;
  /** "rewritten" if the agent wrote the whole file anew, so that nothing of the old text needs to be true any more. */
  readonly kind: "changed" | "rewritten";
}

const changing = new Set(["edited", "updated", "wrote", "created", "removed", "moved"]);
const rewriting = new Set(["wrote", "created", "removed"]);
const pathInWords = /(?:[\w.@~+-]*\/)*[\w.@~+-]+\.\w{1,8}\b/g;
/** Enough characters of a call to find the files that it names. */
const longestRead = 1_000;
const mostPaths = 8;

/**
 * By call: the change that made its result out of date. Takes linear time: a change is looked for only among those of files with
 * the same name.
 */
export function changedLater(acts: readonly Act[]): ReadonlyMap<ToolCallPart, LaterChange> {
  const found = new Map<ToolCallPart, LaterChange>();
  const changes = new Map<string, { readonly path: string; readonly change: LaterChange }[]>();
  for (const act of acts.toReversed()) {
    if (isLooking(act.deed)) {
      const change = pathsIn(act.call.input)
        .flatMap((path) => changes.get(nameOf(path))?.find((one) => isSame(one.path, path)) ?? [])
        .at(0)?.change;
      if (change !== undefined) found.set(act.call, change);
    }
    if (!act.deed.isEffect || hasFailed(act) || !changing.has(act.deed.verb)) continue;
    for (const path of pathsIn(act.deed.object)) add(path, act);
  }
  return found;

  function add(path: string, { deed, number }: Act): void {
    const name = nameOf(path);
    const known = changes.get(name) ?? [];
    const kind = rewriting.has(deed.verb) ? "rewritten" : "changed";
    const before = known.findIndex((one) => isSame(one.path, path));
    if (before < 0) known.push({ path, change: { number, kind } });
    else if (kind === "rewritten")
      known[before] = { path, change: { number: known[before]?.change.number ?? number, kind } };
    changes.set(name, known);
  }
}

function pathsIn(words: string): readonly string[] {
  const paths = words.slice(0, longestRead).match(pathInWords) ?? [];
  return [...new Set(paths)].slice(0, mostPaths);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** An agent names the same file with and without its folder. */
function isSame(one: string, other: string): boolean {
  return one === other || one.endsWith(`/${other}`) || other.endsWith(`/${one}`);
}
