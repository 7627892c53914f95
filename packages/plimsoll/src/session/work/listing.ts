/** Pages of a list of tasks or tickets. */

import { numberOf, readId } from "../../work/number.ts";
import type { Tenant } from "./change-items.ts";

export interface Listing {
  readonly tenant: Tenant;
  /** Only items with a lower number than this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export function pageOf(
  kind: "task" | "ticket",
  { tenant, before, limit }: Listing,
): { readonly tenant: Tenant; readonly before?: number; readonly limit: number } {
  const id = before === undefined ? undefined : readId(kind, before);
  return { tenant, limit, ...(id === undefined ? {} : { before: numberOf(id) }) };
}
