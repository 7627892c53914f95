/**
 * The input and the result of a compaction strategy. A strategy only proposes edits: it never changes a message and does no I/O.
 */

import type { EditPlace } from "./edit.ts";
import type { Message } from "./message.ts";
import type { Unit } from "./unit.ts";

/** A message that the model would currently see. */
export interface VisibleMessage {
  readonly message: Message;
  readonly tokens: number;
  readonly bytes: number;
  /** The message must stay unchanged, unless `mayGiveWay` is set and the request would not fit otherwise. */
  readonly isPinned: boolean;
  /** A pinned message may be shortened after all if the request would not fit otherwise. */
  readonly mayGiveWay?: boolean;
  /** Number of the message in the log. Marks in shortened texts refer to it. */
  readonly number: number;
  /** True if the view leaves out the message before this one. */
  readonly isAfterGap?: boolean;
  /** The message as it is in the log, if the view shows less of it. */
  readonly original?: { readonly message: Message; readonly tokens: number };
}

/** Names of tools and of commands that change something, in addition to the table here. From the configuration. */
export interface OwnEffects {
  /** Words in names of tools, such as "dispatch". */
  readonly tools?: readonly string[] | undefined;
  /** Beginnings of commands, such as "terraform apply". */
  readonly commands?: readonly string[] | undefined;
}

export interface VisibleConversation {
  readonly messages: readonly VisibleMessage[];
  /** Units that cover `messages` in order and without gaps. A call and its results are always in the same unit. */
  readonly units: readonly Unit[];
  /** Tokens of the whole request, including system prompt and tools. */
  readonly tokens: number;
  /** Whether the provider requires user and assistant messages to alternate. */
  readonly mustAlternate: boolean;
  /** Whether removed content will get a handle. False if nothing is stored, as for a file given on the command line. */
  readonly hasArchive: boolean;
  /**
   * Plimsoll's tools that open handles, if the model has them: the name of the reading tool, and the tokens these tools add as
   * soon as the view contains a handle.
   */
  readonly ownTools?: { readonly readingTool: string; readonly tokens: number };
  /** What else counts as a change, from the configuration. */
  readonly effects?: OwnEffects;
  /** Whether mentions are weighed by learned trees. From the configuration. */
  readonly usesLearnedWeights?: boolean;
  /** The summary from an earlier step, if the view contains one. */
  readonly summary?: string;
  /** The story of the older messages. A model has written it, and Plimsoll has checked it against those messages. */
  readonly prepared?: string;
  /** Counts the tokens of messages the way the target of this conversation does. */
  readonly weigh: (messages: readonly Message[]) => Promise<readonly number[]>;
}

export interface Goal {
  /** Maximum number of tokens that can be sent. */
  readonly limitTokens: number;
  /** Maximum number of tokens that the request should have after the compaction. */
  readonly tokens: number;
  /** The request should not get smaller than this many tokens if that can be avoided, because an empty view helps nobody. */
  readonly floorTokens: number;
  /** Maximum number and size of images and documents that the provider accepts in one request. */
  readonly media?: MediaRoom;
  /** Share of the references in the view whose earlier mention the view should show or name. If undefined, as it happens. */
  readonly coherence?: number;
}

export interface MediaRoom {
  readonly maxCount: number;
  readonly maxBytes: number;
}

/** Describes removed content, for the text that takes its place. */
export interface TakenOut {
  /** Handle of the removed content. Empty if there is no archive. */
  readonly handle: string;
  readonly messages: number;
  readonly tokens: number;
}

/**
 * "own": the edit has its own handle, and its text shows it. "shared": the summary in the same set of proposals shows one handle
 * for all of them and for everything that earlier steps took out.
 */
export type HandleUse = "own" | "shared";

/** A proposed edit. Messages are named by their index in the conversation. */
export type Proposal =
  /** Removes or folds the units from `first` to `last`, both included. */
  | {
      readonly kind: "remove" | "fold";
      readonly first: number;
      readonly last: number;
      readonly reason: string;
      /** An empty text leaves no trace of the removed units. It is only allowed with a shared handle. */
      readonly textFor: (taken: TakenOut) => string;
      readonly handle?: HandleUse;
    }
  | {
      readonly kind: "replace";
      readonly message: number;
      readonly part: number;
      readonly inner?: number;
      readonly place: EditPlace;
      readonly reason: string;
      readonly textFor: (taken: TakenOut) => string;
      readonly handle?: HandleUse;
    }
  | {
      readonly kind: "insert";
      readonly after: number;
      readonly text: string;
      readonly reason: string;
    }
  /** Puts Plimsoll's text after the head. It replaces the earlier summary, if there is one, and shows the shared handle. */
  | {
      readonly kind: "summary";
      readonly after: number;
      readonly reason: string;
      readonly textFor: (taken: TakenOut) => string;
    };

/**
 * Contract: strategies may propose freely. A proposal is dropped if it makes nothing smaller or if a provider would reject it.
 */
export interface Strategy {
  readonly name: string;
  /** The strategy runs only if the strategies before it did not save enough. */
  readonly isLastResort?: true;
  /** If strategies before it took something out, it runs only while the request is over its limit, whatever the goal is. */
  readonly isOnlyOverLimit?: true;
  /** The tokens of the part that it would replace now, and about how many would take their place. People see these figures. */
  readonly estimate?: (
    conversation: VisibleConversation,
    goal: Goal,
  ) => { readonly from: number; readonly to: number } | undefined;
  /** The strategy writes a new handover. Every other strategy leaves the handover of a fresh start as it is. */
  readonly writesHandover?: true;
  /** The strategy enforces its own time limit, so its caller sets none. It may have to wait before it can start. */
  readonly keepsTime?: true;
  propose(
    conversation: VisibleConversation,
    goal: Goal,
  ): readonly Proposal[] | Promise<readonly Proposal[]>;
}

/** Counts the tokens of a text. */
export type CountTokens = (text: string) => number;
