/** Finds the message that a later request names by a provider's id. */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { ReferenceRecord, Store } from "../../store/store.ts";

export interface References {
  note(tenant: string, reference: ReferenceRecord): void;
  find(tenant: string, name: string): Promise<ReferenceRecord | undefined>;
}

const maxNoted = 50_000;

/** Keeps new ids in memory, because they may not be stored yet. Reads older ids from the store. */
export function createReferences(store: Store): References {
  const noted = new BoundedMap<string, ReferenceRecord>({ entries: maxNoted });
  return {
    note: (tenant, reference) => {
      noted.set(`${tenant}\0${reference.name}`, reference);
    },
    find: async (tenant, name) =>
      noted.get(`${tenant}\0${name}`) ?? (await store.reference(tenant, name)),
  };
}
