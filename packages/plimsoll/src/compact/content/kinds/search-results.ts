/** Shortens search results and lists of files: the first hit of each file stays, and a mark gives the number of other hits. */

import { cutTexts } from "../../../text/for-models.ts";
import { attempt, type Compressor } from "../cut/compressor.ts";
import { cutLines, type LineVerdicts } from "../cut/lines.ts";
import type { Gap } from "../cut/piece.ts";

/** A hit looks like `path:12:text` or `path-12-text`. `path:text` is a hit only if the path has an extension or a folder. */
const hit = /^((?:[A-Za-z]:)?[^\s:]{1,300}?)(?::\d+(?::\d+)?[:\s]|-\d+-)/;
const hitWithoutLine = /^([^\s:]{0,200}(?:\/[^\s:/]{1,100}|\.\w{1,8})):(?!\/\/)/;
/** Times, numbers and log levels, which are not file names. */
const notAFile = /^(?:\d[\d.:T-]*|[A-Z]+)$/;
const headedHit = /^\d+[:-]/;
const bare =
  /^(?:[./~]{0,3}[\w@.+ -]{1,200}\/)+[\w@.+ -]{0,200}$|^[./]{0,3}[\w@+-][\w@.+-]{0,200}\.\w{1,8}$/;

export const searchCompressor: Compressor = {
  kind: "search",
  detects: ({ lines }) => {
    if (lines.length < 3) return false;
    const places = lines.map(fileOf);
    const found = places.filter((file) => file !== undefined).length;
    const headed = lines.filter((line) => headedHit.test(line)).length;
    const isHeaded = headed >= lines.length * 0.4 && headed + found >= lines.length * 0.8;
    const isNumberedText = headed >= lines.length * 0.9;
    return (found >= lines.length * 0.7 && found > 2) || (isHeaded && !isNumberedText);
  },
  compress: (text, options) => attempt(cutLines(text, options, classifyHits)),
};

function fileOf(line: string): string | undefined {
  const [, file] = hit.exec(line) ?? hitWithoutLine.exec(line) ?? [];
  if (file !== undefined) return notAFile.test(file) ? undefined : file;
  return bare.test(line) ? line : undefined;
}

function classifyHits(lines: readonly string[]): LineVerdicts {
  const keys = new Set<number>();
  let heading = "";
  const files = lines.map((line, index) => {
    const file = fileOf(line);
    if (file === undefined) return headedHit.test(line) ? heading : "";
    if (hit.test(line) || hitWithoutLine.test(line)) return file;
    if (!headedHit.test(lines[index + 1] ?? "")) return folderOf(file);
    heading = file;
    keys.add(index);
    return file;
  });
  const times = new Map<string, number>();
  const scores = lines.map((_, index) => {
    const file = files[index] ?? "";
    if (file === "") return 0;
    const time = (times.get(file) ?? 0) + 1;
    times.set(file, time);
    if (time === 1) keys.add(index);
    return time === 1 ? 3 : 1 / time;
  });
  return { scores, keys, missing: (gap) => missingIn(gap, files) };
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

function missingIn({ first, last }: Gap, files: readonly string[]): string | undefined {
  const inside = new Set(files.slice(first, last + 1).filter((file) => file !== ""));
  const [file] = inside;
  if (file === undefined) return undefined;
  if (inside.size === 1) return cutTexts.moreInFile(file);
  const what = [...inside].every((one) => one.endsWith("/")) ? "folders" : "files";
  return cutTexts.moreInFiles(inside.size, what);
}
