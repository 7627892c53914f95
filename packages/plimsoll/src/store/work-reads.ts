/** Reads tasks and tickets, from a SQL store and from the store in memory. */

import { numberOf } from "../work/number.ts";
import type { SqlRow, SqlValue } from "./seal.ts";
import { readRecord, textOf } from "./sql-rows.ts";
import { type SqlReader, sealedOnly } from "./sql-sessions.ts";
import type { OwnedItem, WorkItems, WorkKind, WorkQuery, WorkReads, WorkWrite } from "./store.ts";

/** Rows of the newest revisions. */
const newest = `SELECT * FROM work w WHERE kind = ?
  AND revision = (SELECT max(revision) FROM work v WHERE v.kind = w.kind AND v.item = w.item)`;

export function workInSql(driver: SqlReader): WorkReads {
  return {
    workItem: async <K extends WorkKind>(kind: K, id: string) => {
      const number = numberOf(id);
      if (Number.isNaN(number)) return undefined;
      const rows = await driver.query({ sql: `${newest} AND item = ?`, values: [kind, number] });
      return itemsIn<K>(rows)[0];
    },
    workItems: async <K extends WorkKind>(kind: K, query: WorkQuery) => {
      const { tenant, before, limit } = query;
      const conditions: readonly (readonly [string, SqlValue])[] = [
        ...(tenant === undefined ? [] : [[" AND tenant = ?", tenant] as const]),
        ...(before === undefined ? [] : [[" AND item < ?", before] as const]),
      ];
      const rows = await driver.query({
        sql: `${newest}${conditions.map(([sql]) => sql).join("")} ORDER BY item DESC LIMIT ?`,
        values: [kind, ...conditions.map(([, value]) => value), limit],
      });
      return itemsIn<K>(rows);
    },
  };
}

function itemsIn<K extends WorkKind>(rows: readonly SqlRow[]): readonly OwnedItem<K>[] {
  return sealedOnly("work", rows).map((row) => ({
    tenant: textOf(row, "tenant"),
    item: readRecord<WorkItems[K]>("work", row, "record"),
  }));
}

/** `work` has the newest revision of each item, by id. */
export function workInMemory(work: ReadonlyMap<string, WorkWrite>): WorkReads {
  // Ids of tasks and tickets differ, so the compiler is told here what `of` says.
  const all = <K extends WorkKind>(kind: K): readonly OwnedItem<K>[] =>
    [...work.values()].filter(({ of }) => of === kind) as unknown as OwnedItem<K>[];
  return {
    workItem: async (kind, id) => all(kind).find(({ item }) => item.id === id),
    workItems: async (kind, { tenant, before = Infinity, limit }) =>
      all(kind)
        .filter((owned) => tenant === undefined || owned.tenant === tenant)
        .filter(({ item }) => numberOf(item.id) < before)
        .sort((one, other) => numberOf(other.item.id) - numberOf(one.item.id))
        .slice(0, limit),
  };
}
