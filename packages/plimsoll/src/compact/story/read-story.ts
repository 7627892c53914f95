/** Reads the lines of a story back into items, so that a later story can go on from them. */

import { withoutHandles } from "../../message/handle.ts";
import { type Item, parseSummary, type Section } from "../summary/format.ts";

/** The title of the lines that say where names come from. They are about one view, so they are not part of later stories. */
export const namesTitle = "Names";

/** By their titles. Stories of older versions have another title for answered requests. */
const ownSections: ReadonlyMap<string, Section> = new Map([
  ["Rules", "Rules"],
  ["Open", "Open"],
  ["Changed", "Changed"],
  ["Answered", "Answered"],
  ["Done", "Answered"],
]);

/**
 * The lines of an earlier story. Those in the sections of a story stay as they are, also if they go on over several lines. Lines of
 * other sections are from a summary that a model wrote, or from an older version.
 */
export function readStory(story: string): {
  readonly own: readonly Item[];
  readonly others: readonly Item[];
} {
  const own: OpenItem[] = [];
  const rest: string[] = [];
  let section: Section | undefined;
  let isAboutView = false;
  for (const line of withoutHandles(story).split("\n")) {
    const [, title] = /^## (\w+)$/.exec(line) ?? [];
    if (title !== undefined) {
      section = ownSections.get(title);
      isAboutView = title === namesTitle;
    }
    if (isAboutView) continue;
    if (section === undefined) rest.push(line);
    else if (title === undefined && line.trim() !== "") addLine(own, section, line);
  }
  return { own, others: parseSummary(rest.join("\n")) };
}

/** An item that may go on in the next line. */
type OpenItem = Item & { text: string };

function addLine(items: OpenItem[], section: Section, line: string): void {
  const last = items.at(-1);
  const [, number, text] = /^- (?:#(\d{1,9}) )?(.*)$/.exec(line) ?? [];
  if (text === undefined && last?.section === section) {
    last.text += `\n${line}`;
    return;
  }
  const place = number === undefined ? {} : { number: Number(number) };
  items.push({ section, isData: false, text: text ?? line, ...place });
}
