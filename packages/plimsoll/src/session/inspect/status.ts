/** The status of a session: what fills its window, which edits are active, and what was compacted last. */

import type { SessionRecord, SessionSnapshot, Store, TurnRecord } from "../../store/store.ts";
import { restoreLog } from "../log/log.ts";
import { indexOn, pathOfBranch } from "../log/path.ts";
import { foldView, type View } from "../log/view.ts";
import { receiptsOf } from "./receipts.ts";

export interface SessionStatus {
  readonly session: string;
  readonly agent?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly turns: number;
  /** Number of messages of the conversation. `messagesShown` is the number of messages that the model still sees. */
  readonly messages: number;
  readonly messagesShown: number;
  /** Figures of the last request. Undefined if nothing was sent yet. */
  readonly context?: TurnFigures;
  readonly editsMade: number;
  readonly editsThatHold: number;
  /** Handles of content that left the window, newest first. */
  readonly handles: readonly string[];
  readonly lastCompaction?: {
    readonly at: string;
    readonly reason: string;
    readonly strategies: readonly string[];
    readonly tokensBefore: number;
    readonly tokensAfter: number;
  };
}

export type StatusStore = Pick<Store, "snapshot" | "turns" | "events">;

/**
 * Maximum number of handles. Older handles are rarely needed, because newer handles include their content or a search finds it.
 */
const handlesMax = 20;

export async function statusOf(store: StatusStore, session: SessionRecord): Promise<SessionStatus> {
  const snapshot = await store.snapshot(session.id);
  const [turn] = await store.turns(session.id, 1);
  const compaction = (await receiptsOf(store, session.id)).at(-1);
  const { length, view } =
    snapshot === undefined ? emptyLook : lookAt(snapshot, turn?.branch ?? "");
  const clientNodes = (snapshot?.nodes ?? []).filter(
    ({ source }) => source !== "inner" && source !== "echo",
  );
  const { agent } = session;
  return {
    session: session.id,
    ...(agent === undefined ? {} : { agent }),
    createdAt: new Date(session.createdAt).toISOString(),
    updatedAt: new Date(session.updatedAt).toISOString(),
    turns: new Set(clientNodes.map((node) => node.turn)).size,
    messages: length,
    messagesShown: (view?.gaps ?? []).reduce(
      (left, gap) => left - (gap.last - gap.first + 1),
      length,
    ),
    ...(turn === undefined ? {} : { context: figuresOf(turn) }),
    editsMade: snapshot?.edits.length ?? 0,
    editsThatHold: view?.edits.length ?? 0,
    handles: view === undefined ? [] : handlesIn(view),
    ...(compaction === undefined
      ? {}
      : {
          lastCompaction: {
            at: new Date(compaction.at).toISOString(),
            reason: compaction.reason,
            strategies: compaction.strategies,
            tokensBefore: compaction.receipt.tokensBefore,
            tokensAfter: compaction.receipt.tokensAfter,
          },
        }),
  };
}

interface Looked {
  readonly length: number;
  readonly view?: View;
}

const emptyLook: Looked = { length: 0 };

/** Looks at the wanted branch, or at the first branch if the wanted one does not exist. */
function lookAt(snapshot: SessionSnapshot, wanted: string): Looked {
  const log = restoreLog(snapshot);
  const [first] = log.branches.values();
  const branch = log.branches.get(wanted) ?? first;
  if (branch === undefined) return emptyLook;
  const path = pathOfBranch(log, branch.record);
  return { length: path.length, view: foldView(indexOn(path, log), log.edits) };
}

function handlesIn({ edits }: View): readonly string[] {
  const handles = edits.toReversed().flatMap(({ action }) => {
    const handle = "handle" in action ? action.handle : undefined;
    return handle === undefined ? [] : [handle];
  });
  return [...new Set(handles)].slice(0, handlesMax);
}

/** How much of the window a turn used. */
export interface TurnFigures {
  readonly model: string;
  readonly window: number;
  /** True if the size of the window is not known. `window` is then a guess. */
  readonly isWindowGuess?: true;
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** Share of the limit that is used, in percent. Can be above 100. */
  readonly percentage: number;
  readonly certainty: TurnRecord["measurement"]["certainty"];
  readonly components: Pick<
    TurnRecord["measurement"],
    "system" | "skills" | "tools" | "conversation"
  >;
}

export function figuresOf(turn: TurnRecord): TurnFigures {
  const { measurement, limit, window, model, isWindowGuess } = turn;
  const { system, skills, tools, conversation, total, certainty } = measurement;
  return {
    model,
    window,
    ...(isWindowGuess === true ? { isWindowGuess } : {}),
    limit,
    used: total,
    remaining: Math.max(0, limit - total),
    percentage: limit === 0 ? 100 : Math.round((total / limit) * 1000) / 10,
    certainty,
    components: { system, skills, tools, conversation },
  };
}
