/** The numbers in the ids of tasks and tickets. */

const prefixes = { task: "T-", ticket: "TK-" } as const;

export function idOf(kind: keyof typeof prefixes, number: number): string {
  return `${prefixes[kind]}${number}`;
}

/** The number in an id, or NaN if this is no id. */
export function numberOf(id: string): number {
  return Number(/^(?:T|TK)-([1-9][0-9]{0,14})$/.exec(id)?.[1]);
}

/** The id as Plimsoll writes it. People also type `t-3`, or only the number. Undefined if it is no id of this kind. */
export function readId(kind: keyof typeof prefixes, given: string): string | undefined {
  const prefix = prefixes[kind];
  const written = given.trim().toUpperCase();
  const rest = written.startsWith(prefix) ? written.slice(prefix.length) : written;
  return /^[1-9][0-9]{0,14}$/.test(rest) ? prefix + rest : undefined;
}
