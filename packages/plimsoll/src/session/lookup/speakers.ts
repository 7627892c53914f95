/** The names of the speakers in a conversation whose messages begin with a name, such as a transcript. */

/** Matches `[stamp] Name: …` or `Name: …`. A name that occurs only once is not a speaker. */
const spoken = /^(?:\[[^\]\n]{1,60}\] )?([^:\n]{1,40}):/;

/** The speaker of each text, in lower case, or an empty string if the text names no speaker. */
export function speakersOf(texts: readonly string[]): readonly string[] {
  const names = texts.map((text) => spoken.exec(text)?.[1] ?? "").map(bareWords);
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.map((name) => ((counts.get(name) ?? 0) > 1 ? name : ""));
}

/** The speakers that a query names. */
export function namedSpeakers(speakers: readonly string[], query: string): ReadonlySet<string> {
  const words = ` ${bareWords(query)} `;
  return new Set(speakers.filter((name) => name !== "" && words.includes(` ${name} `)));
}

function bareWords(text: string): string {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}
