/** Writes the part of a cut answer to a file. */

import { constants } from "node:fs";
import { lstat, mkdir, open, realpath, rm } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { errorMessage } from "../../message/error.ts";
import { partialsName } from "../../store/forget/files-beside.ts";
import type { PartialAnswer } from "../../work/cut-answer.ts";

export type SavedPartial =
  | { readonly kind: "saved"; readonly path: string }
  | { readonly kind: "failed"; readonly reason: string };

/** Where the file goes. */
export type PartialPlace =
  /** A folder of Plimsoll's own. */
  | { readonly kind: "own"; readonly folder: string }
  /** Next to the file that the answer was writing, which must be inside this folder. */
  | { readonly kind: "beside"; readonly root: string };

/** The folder with the parts of cut answers, in a data folder. It has a folder for each session. */
export function partialsIn(data: string): string {
  return join(data, partialsName);
}

/** Files of the same name get numbers up to this one. */
const namesakesMost = 1000;
const nameMost = 120;

/** Contract: never rejects, never overwrites a file, and never follows a link. */
export async function savePartial(
  partial: PartialAnswer,
  place: PartialPlace,
): Promise<SavedPartial> {
  try {
    const folder =
      place.kind === "own" ? await ownFolder(place.folder) : await besideOf(partial, place.root);
    return {
      kind: "saved",
      path: await writeNew(folder, plainName(partial.name), partial.content),
    };
  } catch (error) {
    return { kind: "failed", reason: reasonOf(error) };
  }
}

/** Writes the whole content next to its part, under the name without `.incomplete`. Undefined if it could not be written. */
export async function saveWhole(part: string, content: string): Promise<string | undefined> {
  const name = basename(part).replace(/\.incomplete(?:-\d+)?/, "");
  return writeNew(dirname(part), name, content).catch(() => undefined);
}

async function ownFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

async function besideOf({ target }: PartialAnswer, root: string): Promise<string> {
  if (target === undefined)
    throw new Refusal("The answer names no file, so there is no folder for its part.");
  const inside = await realpath(root);
  const path = isAbsolute(target) ? resolve(target) : resolve(inside, target);
  const folder = await realpath(dirname(path));
  const way = relative(inside, folder);
  if (way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way))
    throw new Refusal(`${target} is not inside ${root}, so nothing is written there.`);
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSymbolicLink() === true)
    throw new Refusal(`${target} is a link, so nothing is written next to it.`);
  return folder;
}

class Refusal extends Error {}

/** Control characters, and characters that mean something to a shell or a file system, become underscores. */
function plainName(name: string): string {
  const plain = basename(name).replaceAll(/[^\p{L}\p{N}._ -]/gu, "_");
  const short = plain.length <= nameMost ? plain : plain.slice(-nameMost);
  return short.startsWith(".") ? `_${short}` : short;
}

async function writeNew(folder: string, name: string, content: string): Promise<string> {
  for (let number = 1; number <= namesakesMost; number++) {
    const path = join(folder, number === 1 ? name : numbered(name, number));
    const file = await open(
      path,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o600,
    ).catch(unlessTaken);
    if (file === undefined) continue;
    try {
      await file.writeFile(content);
      await file.sync();
      return path;
    } catch (error) {
      // A part of a part would be taken for the whole of it.
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }
  throw new Refusal(`${folder} has ${namesakesMost} files named ${name}. Delete some of them.`);
}

function unlessTaken(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "EEXIST") return undefined;
  throw error;
}

/** `LoginForm.incomplete.tsx` becomes `LoginForm.incomplete-2.tsx`, and `LoginForm.tsx` becomes `LoginForm-2.tsx`. */
function numbered(name: string, number: number): string {
  if (name.includes(".incomplete")) return name.replace(".incomplete", `.incomplete-${number}`);
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? `${name}-${number}` : `${name.slice(0, dot)}-${number}${name.slice(dot)}`;
}

function reasonOf(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOSPC") return "The disk is full. Make room.";
  return `It could not be written (${code || errorMessage(error)}).`;
}
