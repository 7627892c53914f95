/** Checks whether optional packages are installed in a version that Plimsoll supports. Does not load them. */

import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import {
  type OptionalUse,
  optionalPackages,
  unusableSentence,
} from "../message/optional-packages.ts";

export type Installed =
  | { readonly kind: "fitting"; readonly versions: readonly string[] }
  | { readonly kind: "unusable"; readonly sentence: string };

/** The version of an installed package, or undefined if it is not installed. */
export type VersionOf = (name: string) => string | undefined;

export function installedFor(use: OptionalUse, versionOf: VersionOf = installedVersion): Installed {
  const found: string[] = [];
  for (const [name, range] of Object.entries(optionalPackages[use].versions)) {
    const version = versionOf(name);
    if (version === undefined)
      return { kind: "unusable", sentence: unusableSentence(use, `${name} is not installed`) };
    if (!isWithin(version, range)) {
      const reason = `version ${version} of ${name} does not fit`;
      return { kind: "unusable", sentence: unusableSentence(use, reason) };
    }
    found.push(`${name} ${version}`);
  }
  return { kind: "fitting", versions: found };
}

function installedVersion(name: string): string | undefined {
  try {
    const file = findPackageJSON(name, import.meta.url);
    if (file === undefined) return undefined;
    const { version } = JSON.parse(readFileSync(file, "utf8")) as { readonly version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a version is in a caret range, as npm defines it. The first number that is not 0 must be equal, and the numbers after
 * it may be higher.
 */
function isWithin(version: string, range: string): boolean {
  const have = figuresOf(version);
  const want = figuresOf(range.replace(/^\^/, ""));
  const fixed = want.findIndex((figure) => figure > 0);
  const isSame = want.every((figure, index) => index > fixed || have[index] === figure);
  if (!isSame) return false;
  const differs = want.findIndex((figure, index) => have[index] !== figure);
  return differs < 0 || (have[differs] ?? 0) > (want[differs] ?? 0);
}

function figuresOf(version: string): readonly number[] {
  return version.split("-", 1)[0]?.split(".").map(Number) ?? [];
}
