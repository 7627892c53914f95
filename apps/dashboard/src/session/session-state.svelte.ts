/** The state of a session's page. It is read once, read again when an event makes it stale, and changed by the user's actions. */

import type { TurnPoint, WindowPicture } from "plimsoll/api";
import type { AnswerCutEvent, CompactionEndEvent, PlimsollEvent } from "plimsoll/events";
import { type Gathering, gather } from "plimsoll/watch/gather";
import { holdingWords } from "plimsoll/watch/holding-words";
import { type Asking, oneAtATime } from "plimsoll/watch/one-at-a-time";
import { type Kind, staleAfter } from "plimsoll/watch/stale";
import {
  ApiError,
  api,
  type Checkpoint,
  type CostReport,
  type Edit,
  type ErrorRow,
  type SessionDetails,
  type SteerAction,
  type Steered,
  turnsMost,
} from "../api.ts";
import { live, sentenceOf } from "../live.svelte.ts";
import { sessionPath } from "../route.svelte.ts";
import { timing } from "../timing.ts";
import { advance, type Run } from "./compaction-run.ts";
import { neededBy, type TabName } from "./tabs.ts";
import { oldestFirst } from "./turn-series.ts";

export interface ActionNotice {
  readonly kind: "success" | "info" | "error";
  readonly sentence: string;
}

const allKinds: readonly Kind[] = [
  "session",
  "window",
  "turns",
  "receipts",
  "edits",
  "checkpoints",
  "errors",
];

export class SessionState {
  readonly id: string;
  presence: "there" | "gone" = $state("there");
  /** What was deleted with the session, in words. Undefined while the session is there, and if nobody knows. */
  gone: string | undefined = $state.raw();
  /** What a deletion has left to do, one sentence each. */
  unfinished: readonly string[] = $state.raw([]);
  session: SessionDetails | undefined = $state.raw();
  picture: WindowPicture | undefined = $state.raw();
  /** The chosen branch. Undefined means the branch that was used last. */
  branch: string | undefined = $state.raw();
  turns: readonly TurnPoint[] | undefined = $state.raw();
  /** Cost of all turns of the session. Set only if the session has more turns than are listed. */
  cost: CostReport | undefined = $state.raw();
  receipts: readonly CompactionEndEvent[] | undefined = $state.raw();
  edits: readonly Edit[] | undefined = $state.raw();
  checkpoints: readonly Checkpoint[] | undefined = $state.raw();
  errors: readonly ErrorRow[] | undefined = $state.raw();
  /** The reasons why data could not be read, by kind of data. Data that was read earlier stays visible. */
  failures: Partial<Record<Kind, string>> = $state.raw({});
  /** True if the service does not answer. */
  isOffline: boolean = $state(false);
  /** The compaction that is running or has just ended. */
  run: Run | undefined = $state.raw();
  /** The result of the last action. */
  notice: ActionNotice | undefined = $state.raw();
  /** The newest answer that stopped half-way, until the user closes the notice. */
  cut: AnswerCutEvent | undefined = $state.raw();
  /** Name of the action that is running. */
  pending: string | undefined = $state.raw();
  /** Number of an edit of the compaction whose report the user asked for. */
  reportOf: number | undefined = $state.raw();
  /** The handle that is open in the reader. */
  openHandle: string | undefined = $state.raw();

  /** Kinds of data that the page shows, or that something on the page needs. */
  #needed: ReadonlySet<Kind> = new Set();
  readonly #wanted = new Set<Kind>();
  /** Kinds of data that have changed since they were last read. */
  readonly #old = new Set<Kind>(allKinds);
  readonly #asking: ReadonlyMap<Kind, Asking<void>>;
  readonly #gathering: Gathering;

  constructor(id: string) {
    this.id = id;
    this.#asking = new Map(
      allKinds.map((kind) => [
        kind,
        oneAtATime<void>((_, signal) => this.#readSafely(kind, signal)),
      ]),
    );
    this.#gathering = gather((kind) => this.#asking.get(kind as Kind)?.ask(), timing);
  }

  /** Begins to listen to events. Returns a function that stops listening. */
  start(): () => void {
    const stops = [
      live.onSession(this.id, (event) => this.#take(event)),
      live.onReconnect(() => this.#comeBack()),
    ];
    return () => {
      for (const stop of stops) stop();
      for (const asking of this.#asking.values()) asking.close();
      this.#gathering.close();
    };
  }

  show(tab: TabName): void {
    this.notice = undefined;
    this.#needed = new Set([...neededBy(tab), ...this.#wanted]);
    for (const kind of this.#needed) {
      // The first picture must not wait for the session's data, which the list of sessions also has.
      const isLater = kind === "session" && this.#old.has("window");
      if (this.#old.has(kind) && !isLater) this.#gathering.add(kind);
    }
  }

  /** Chooses a branch. If `branch` is undefined, the page follows the branch that was used last. */
  choose(branch: string | undefined): void {
    if (branch === this.branch) return;
    this.branch = branch;
    this.notice = undefined;
    this.#old.add("window");
    this.#gathering.flush("window");
  }

  /** The branch for actions on the content that is shown. It is the chosen branch, or else the branch of the picture. */
  get shownBranch(): { readonly branch?: string } {
    const branch = this.branch ?? this.picture?.branch;
    return branch === undefined ? {} : { branch };
  }

  /**
   * The branch for actions on a point or an edit. Empty unless the user chose a branch, because a point or an edit has its own
   * branch.
   */
  get onChosen(): { readonly branch?: string } {
    return this.branch === undefined ? {} : { branch: this.branch };
  }

  /** From now on, this kind of data is read, whichever tab is shown. */
  want(kind: Kind): void {
    this.#wanted.add(kind);
    this.#needed = new Set([...this.#needed, kind]);
    if (this.#old.has(kind)) this.#gathering.add(kind);
  }

  /**
   * Carries out an action. If the service refuses, its sentence is shown. All data is read again, because another user may have
   * acted too.
   */
  async steer(
    action: SteerAction,
    options: object,
    { name, done }: { readonly name: string; readonly done: (answer: Steered) => string },
  ): Promise<Steered | undefined> {
    if (this.pending !== undefined) return undefined;
    this.pending = name;
    this.notice = undefined;
    try {
      const answer = await api.steer(this.id, action, options);
      this.notice = { kind: "success", sentence: done(answer) };
      return answer;
    } catch (error) {
      const isNothing = error instanceof ApiError && error.code === "NOTHING_TO_DO";
      this.notice = { kind: isNothing ? "info" : "error", sentence: sentenceOf(error) };
      // A refused compaction sends no further events.
      if (this.run?.state === "running") this.run = undefined;
      this.#leaveIfGone(error);
      return undefined;
    } finally {
      this.pending = undefined;
      this.#isOld(allKinds);
    }
  }

  /** Deletes the session. Returns a sentence if that failed. */
  async forget(): Promise<string | undefined> {
    if (this.pending !== undefined) return undefined;
    this.pending = "forget";
    try {
      const { unfinished, ...sum } = await api.forget(this.id);
      this.unfinished = unfinished;
      this.#leave(holdingWords(sum));
      return undefined;
    } catch (error) {
      this.#leaveIfGone(error);
      return sentenceOf(error);
    } finally {
      this.pending = undefined;
    }
  }

  retry(): void {
    this.#isOld(allKinds);
  }

  #take(event: PlimsollEvent): void {
    if (event.type === "session-forgotten") this.#leave(holdingWords({ sessions: 1, ...event }));
    if (event.type === "answer-cut") this.cut = event;
    this.run = advance(this.run, event);
    this.#isOld(staleAfter(event));
  }

  #comeBack(): void {
    this.notice = undefined;
    if (this.run?.state === "running") this.run = undefined;
    this.#isOld(allKinds);
  }

  #isOld(kinds: readonly Kind[]): void {
    for (const kind of kinds) {
      this.#old.add(kind);
      if (this.#needed.has(kind)) this.#gathering.add(kind);
    }
  }

  async #readSafely(kind: Kind, signal: AbortSignal): Promise<void> {
    this.#old.delete(kind);
    try {
      await this.#read(kind, signal);
      this.isOffline = false;
      const { [kind]: _, ...others } = this.failures;
      this.failures = others;
    } catch (error) {
      this.#old.add(kind);
      if (error instanceof ApiError && error.code === "ABORTED") return;
      this.isOffline = error instanceof ApiError && error.code === "OFFLINE";
      this.failures = { ...this.failures, [kind]: sentenceOf(error) };
      this.#leaveIfGone(error);
    } finally {
      if (kind === "window" && this.session === undefined) this.#gathering.add("session");
    }
  }

  async #read(kind: Kind, signal: AbortSignal): Promise<void> {
    const { id } = this;
    switch (kind) {
      case "session":
        this.session = await api.session(id, signal);
        // The address may contain only the beginning of the id.
        if (this.session.id !== id) location.replace(sessionPath(this.session.id));
        return;
      case "window":
        this.picture = await api.window(id, this.onChosen, signal);
        return;
      case "turns":
        await this.#readTurns(signal);
        return;
      case "receipts":
        this.receipts = (await api.receipts(id, signal)).items;
        return;
      case "edits":
        this.edits = (await api.edits(id, signal)).items;
        return;
      case "checkpoints":
        this.checkpoints = (await api.checkpoints(id, signal)).items;
        return;
      case "errors":
        this.errors = (await api.errors(id, signal)).items;
    }
  }

  async #readTurns(signal: AbortSignal): Promise<void> {
    const { items } = await api.turns(this.id, signal);
    this.cost = items.length < turnsMost ? undefined : await api.cost(this.id, signal);
    this.turns = oldestFirst(items);
  }

  #leave(gone: string): void {
    this.gone = gone;
    this.presence = "gone";
  }

  #leaveIfGone(error: unknown): void {
    if (error instanceof ApiError && error.code === "SESSION_UNKNOWN") this.presence = "gone";
  }
}
