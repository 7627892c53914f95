/**
 * Builds a system prompt from sections, ordered from the most stable to the most volatile. Stable sections come before the
 * conversation, and volatile sections after it, unless the configuration wants them in the system prompt too. If a section changes, the provider has to read everything after that section
 * again, so volatile sections come last.
 */

import { PlimsollError } from "../message/error.ts";

/** The section names, in the order in which they appear. */
const sectionNames = ["base", "rules", "memories", "skills", "scratchpad", "status"] as const;
export type SectionName = (typeof sectionNames)[number];

export interface PromptSection {
  readonly name: SectionName;
  readonly content: string;
  /** Whether the section stays the same from turn to turn. Default: false for scratchpad and status, true for all others. */
  readonly cacheable?: boolean;
}

/** The section `prompt` of the configuration. */
export interface PromptSettings {
  readonly sections?: "after_conversation" | "in_system" | undefined;
  readonly cache_marks?: MarksFirst | undefined;
}

/** What gets a cache mark if there are not enough for all: the user's first message, or the stable sections. */
export type MarksFirst = "task" | "sections";

export interface BuiltPrompt {
  /** The sections before the conversation. */
  readonly system: readonly BuiltSection[];
  /**
   * The text after the last message, or an empty string. It belongs only to this request, and the next request does not repeat
   * it.
   */
  readonly tail: string;
  readonly marksFirst: MarksFirst;
}

export interface BuiltSection {
  readonly name: SectionName;
  readonly text: string;
  /** Whether the end of this section is a good place for a cache mark, because everything up to it rarely changes. */
  readonly isBreakpoint: boolean;
}

const changing: ReadonlySet<SectionName> = new Set(["scratchpad", "status"]);
const breakpoints: ReadonlySet<SectionName> = new Set(["base", "rules", "memories"]);

/** Contract: the same sections give the same bytes, whatever their order. Empty sections are left out. */
export function buildPrompt(
  sections: readonly PromptSection[],
  { sections: place, cache_marks: marksFirst = "task" }: PromptSettings = {},
): BuiltPrompt {
  const unknown = sections.find(({ name }) => !sectionNames.includes(name));
  if (unknown !== undefined)
    throw new PlimsollError(
      "USAGE",
      `There is no section "${unknown.name}". Use one of: ${sectionNames.join(", ")}.`,
    );
  const inOrder = sectionNames.flatMap((name) =>
    sections.filter((section) => section.name === name && section.content.trim() !== ""),
  );
  const isStatic = ({ name, cacheable }: PromptSection): boolean =>
    cacheable ?? !changing.has(name);
  const isBefore = (section: PromptSection): boolean => place === "in_system" || isStatic(section);
  const system = new Map<SectionName, string[]>();
  for (const { name, content } of inOrder.filter(isBefore))
    system.set(name, [...(system.get(name) ?? []), content]);
  return {
    system: [...system].map(([name, texts]) => ({
      name,
      text: texts.join("\n\n"),
      isBreakpoint: breakpoints.has(name),
    })),
    tail: inOrder
      .filter((section) => !isBefore(section))
      .map(({ content }) => content)
      .join("\n\n"),
    marksFirst,
  };
}
