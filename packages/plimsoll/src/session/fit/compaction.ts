/** A compaction: what it is to reach, and what comes of it. */

import type { TokenScale } from "../../budget/token-scale.ts";
import type { ReceiptWork } from "../../compact/evidence/receipt-work.ts";
import type { Edit } from "../../message/edit.ts";
import type { Sign } from "../../message/handle.ts";
import type { Receipt } from "../../message/receipt.ts";
import type { Goal, Strategy } from "../../message/strategy.ts";
import type { PriorityArea } from "../../message/unit.ts";
import type { ArchiveRecord, ClientSpelling, Store } from "../../store/store.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import type { Validator } from "../draft/validate-view.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import type { WatchPhases } from "./phases.ts";

export interface CompactionWorld extends Validator {
  readonly facts: FactsReader;
  /** False where nothing is kept: then there are no handles. */
  readonly hasArchive?: boolean;
  readonly sign: Sign;
  readonly areas: readonly PriorityArea[];
  readonly store: Pick<Store, "clientSpellingSizes">;
  /** Where receipts are made; absent: here. */
  readonly makeReceipt?: (work: ReceiptWork) => Promise<Receipt>;
  /** Loads what `count` counts with: the same text has the same count in every process, however long it runs. */
  readonly prepareCount: () => Promise<void>;
  /** Whoever watches; nobody does where nothing is recorded. */
  readonly watch?: WatchPhases | undefined;
  /** Aborted when the product closes: no compaction goes on then. */
  readonly closing?: AbortSignal;
}

export interface Compaction {
  readonly edits: readonly Edit[];
  readonly archive: readonly ArchiveRecord[];
  readonly clientSpellings: readonly ClientSpelling[];
  readonly strategies: readonly string[];
  readonly sized: Sized;
  /** What failed on the way; the request is none the worse for it. */
  readonly failures: readonly string[];
}

export interface CompactionTask {
  readonly draft: Draft;
  readonly start: Sized;
  readonly strategies: readonly Strategy[];
  /** In tokens as we count them, before correction. */
  readonly goal: Goal;
  /** For progress events, which are in the provider's tokens. */
  readonly progressScale?: ProgressScale;
}

export interface ProgressScale {
  readonly limit: number;
  readonly scale: TokenScale;
}
