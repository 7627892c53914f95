/** Labels that come from outside. Only a limited number of names are distinguished; all others share one label. */

/** The label for every further name. */
const other = "other";

/** Model names come from clients. */
export const maxModels = 50;

/** The first `max` names stay as they are. */
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
