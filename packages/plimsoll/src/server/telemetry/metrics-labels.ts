/** Labels whose names come from outside. Only a limited number of names get their own label. All other names share one. */

/** The label that all other names share. */
const other = "other";

/** Maximum number of model names with their own label. Clients choose these names, so there may be any number of them. */
export const maxModels = 50;

/** Returns a function that keeps the first `max` names and replaces all others by the shared label. */
export function boundedNames(max: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.size < max) known.add(name);
    return known.has(name) ? name : other;
  };
}

export function oneOf(known: ReadonlySet<string>): (name: string | undefined) => string {
  return (name) => (name !== undefined && known.has(name) ? name : other);
}
