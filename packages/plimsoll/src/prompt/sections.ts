/**
 * A system prompt in sections, from what never changes to what changes with every turn. The first stand before the
 * conversation; what changes stands behind it, for whatever stands behind a change is read anew.
 */

import { PlimsollError } from "../message/error.ts";

/** In the order in which they stand. */
const sectionNames = ["base", "rules", "memories", "skills", "scratchpad", "status"] as const;
export type SectionName = (typeof sectionNames)[number];

export interface PromptSection {
  readonly name: SectionName;
  readonly content: string;
  /** Whether it stays the same from turn to turn; scratchpad and status do not, unless it is said. */
  readonly cacheable?: boolean;
}

export interface BuiltPrompt {
  /** Before the conversation. */
  readonly system: readonly BuiltSection[];
  /** Behind the last message, gone with the next request; "" for nothing. */
  readonly tail: string;
}

export interface BuiltSection {
  readonly name: SectionName;
  readonly text: string;
  /** A good place for a cache mark: what stands before its end changes rarely. */
  readonly isBreakpoint: boolean;
}

const changing: ReadonlySet<SectionName> = new Set(["scratchpad", "status"]);
const breakpoints: ReadonlySet<SectionName> = new Set(["base", "rules", "memories"]);

/** Contract: the same sections give the same bytes, in whatever order they come; empty ones are left out. */
export function buildPrompt(sections: readonly PromptSection[]): BuiltPrompt {
  const unknown = sections.find(({ name }) => !sectionNames.includes(name));
  if (unknown !== undefined)
    throw new PlimsollError(
      "USAGE",
      `There is no section "${unknown.name}": use ${sectionNames.join(", ")}.`,
    );
  const inOrder = sectionNames.flatMap((name) =>
    sections.filter((section) => section.name === name && section.content.trim() !== ""),
  );
  const isStatic = ({ name, cacheable }: PromptSection): boolean =>
    cacheable ?? !changing.has(name);
  const system = new Map<SectionName, string[]>();
  for (const { name, content } of inOrder.filter(isStatic))
    system.set(name, [...(system.get(name) ?? []), content]);
  return {
    system: [...system].map(([name, texts]) => ({
      name,
      text: texts.join("\n\n"),
      isBreakpoint: breakpoints.has(name),
    })),
    tail: inOrder
      .filter((section) => !isStatic(section))
      .map(({ content }) => content)
      .join("\n\n"),
  };
}
