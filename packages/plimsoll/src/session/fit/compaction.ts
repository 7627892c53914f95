/** A compaction: its goal and its result. */

import type { TokenScale } from "../../budget/token-scale.ts";
import type { ReceiptWork } from "../../compact/evidence/receipt-work.ts";
import type { TruncateSettings } from "../../compact/strategies/truncate.ts";
import type { Edit } from "../../message/edit.ts";
import type { Sign } from "../../message/handle.ts";
import type { Receipt } from "../../message/receipt.ts";
import type { CountTokens, Goal, OwnEffects, Strategy } from "../../message/strategy.ts";
import type { PriorityArea } from "../../message/unit.ts";
import type { ArchiveRecord, ClientSpelling, Store } from "../../store/store.ts";
import type { Draft, Sized } from "../draft/draft.ts";
import type { Validator } from "../draft/validate-view.ts";
import type { FactsReader } from "../measure/message-facts.ts";
import type { WatchPhases } from "./phases.ts";

export interface CompactionWorld extends Validator {
  readonly facts: FactsReader;
  /** Whether removed content is stored. If false, there are no handles. Default: true. */
  readonly hasArchive?: boolean;
  readonly sign: Sign;
  readonly areas: readonly PriorityArea[];
  /** Names of tools and commands that change something, in addition to those that Plimsoll knows. */
  readonly effects?: OwnEffects | undefined;
  readonly usesLearnedWeights?: boolean | undefined;
  /** Whether a conversation in which everything has priority 1 keeps its priorities. */
  readonly protectsAllP1?: boolean | undefined;
  /** What the strategies before truncation must have reached, so that it does not run. */
  readonly enough?: Pick<TruncateSettings, "enough_saved" | "enough_free"> | undefined;
  /** The configured coherence of views. Default: that of the goal. */
  readonly coherence?: number | undefined;
  readonly store: Pick<Store, "clientSpellingSizes">;
  /** Makes receipts outside this thread. If absent, they are made in this thread. */
  readonly makeReceipt?: (work: ReceiptWork) => Promise<Receipt>;
  /** Loads the data that `count` needs, so that the same text gets the same count in every process, at any time. */
  readonly prepareCount: () => Promise<void>;
  readonly count: CountTokens;
  /** Notifies observers of the progress. Absent if nothing is recorded. */
  readonly watch?: WatchPhases | undefined;
  /** Aborted when Plimsoll shuts down, which stops running compactions. */
  readonly closing?: AbortSignal;
}

export interface Compaction {
  readonly edits: readonly Edit[];
  readonly archive: readonly ArchiveRecord[];
  readonly clientSpellings: readonly ClientSpelling[];
  readonly strategies: readonly string[];
  readonly sized: Sized;
  /** Descriptions of failures during the compaction. These failures do not stop the request. */
  readonly failures: readonly string[];
}

export interface CompactionTask {
  readonly draft: Draft;
  readonly start: Sized;
  readonly strategies: readonly Strategy[];
  /** The size to reach, in Plimsoll's tokens, before calibration. */
  readonly goal: Goal;
  /** Converts figures to the provider's tokens, which progress events use. */
  readonly progressScale?: ProgressScale;
}

export interface ProgressScale {
  readonly limit: number;
  readonly scale: TokenScale;
}
