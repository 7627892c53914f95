/** The part of QUALITY.md that the replay bench writes; whoever writes the rest of the page carries it over. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";

const begin = "<!-- replay -->";
const end = "<!-- /replay -->";

/** The region of the page as it is, with its marks; undefined when the page has none. */
function replayRegion(page: string): string | undefined {
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  return from === -1 || to === -1 ? undefined : page.slice(from, to + end.length);
}

/** A page that was written anew, with the region of the old one at its end. */
export function withReplayRegion(page: string, file: URL | string): string {
  const region = existsSync(file) ? replayRegion(readFileSync(file, "utf8")) : undefined;
  return region === undefined ? page : placed(page, region);
}

export function writeReplayRegion(file: URL | string, content: string): void {
  const page = existsSync(file) ? readFileSync(file, "utf8") : "# Quality\n";
  writeFileSync(file, placed(page, `${begin}\n${content.trim()}\n${end}`));
}

function placed(page: string, region: string): string {
  const old = replayRegion(page);
  return old === undefined ? `${page.trimEnd()}\n\n${region}\n` : page.replace(old, () => region);
}
