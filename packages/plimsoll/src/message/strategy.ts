/** What a strategy is given, and what it answers: proposals. It never changes a message, and does no I/O. */

import type { EditPlace } from "./edit.ts";
import type { Message } from "./message.ts";
import type { Unit } from "./unit.ts";

/** A message that the model would see now. */
export interface VisibleMessage {
  readonly message: Message;
  readonly tokens: number;
  readonly bytes: number;
  /** Must stay as it is … */
  readonly isPinned: boolean;
  /** … unless the request would not fit otherwise. */
  readonly mayGiveWay?: boolean;
  /** In the log: what a mark in a shortened text refers to. */
  readonly number: number;
  /** As it is in the log, where the view shows less of it. */
  readonly original?: { readonly message: Message; readonly tokens: number };
}

export interface VisibleConversation {
  readonly messages: readonly VisibleMessage[];
  /** Over `messages`, in order and without gaps: a call and its results are never apart. */
  readonly units: readonly Unit[];
  /** Of the whole request, with system prompt and tools. */
  readonly tokens: number;
  /** The provider wants user and assistant in turns. */
  readonly mustAlternate: boolean;
  /** Whether what is taken out will have a handle: not where nothing is kept, as for a file on the command line. */
  readonly hasArchive: boolean;
  /** Tools that open handles, where the model has them: what reading is called, and what they add as soon as a handle stands here. */
  readonly ownTools?: { readonly readingTool: string; readonly tokens: number };
  /** The summary of an earlier step, where one stands in the view. */
  readonly summary?: string;
  /** A summary that a model has made of the older part, and that was held against it. */
  readonly prepared?: string;
  /** What messages would cost, as the target of this conversation counts. */
  readonly weigh: (messages: readonly Message[]) => Promise<readonly number[]>;
}

export interface Goal {
  /** More than this cannot be sent. */
  readonly limitTokens: number;
  /** So many tokens the request should have at most … */
  readonly tokens: number;
  /** … and not fewer than this, where there is a choice: a view that is emptied is worth little. */
  readonly floorTokens: number;
  /** Media that the provider would take in one request. */
  readonly media?: MediaRoom;
}

export interface MediaRoom {
  readonly maxCount: number;
  readonly maxBytes: number;
}

/** What was taken out, for the text that stands in its place. */
export interface TakenOut {
  /** Empty where there is no archive. */
  readonly handle: string;
  readonly messages: number;
  readonly tokens: number;
}

/**
 * own: it has a handle of its own, which its text shows. shared: the summary in the same set of proposals shows one handle
 * for all of them, and for everything that earlier steps took out.
 */
export type HandleUse = "own" | "shared";

/** Messages are named by their index in the conversation. */
export type Proposal =
  /** Whole units, both ends included. */
  | {
      readonly kind: "remove" | "fold";
      readonly first: number;
      readonly last: number;
      readonly reason: string;
      /** An empty text leaves no trace in the place of what is gone; only with a shared handle. */
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
  /** The one text of ours behind the head; it takes the place of an earlier summary, and shows the shared handle. */
  | {
      readonly kind: "summary";
      readonly after: number;
      readonly reason: string;
      readonly textFor: (taken: TakenOut) => string;
    };

/** Contract: a proposal that makes nothing smaller, or that a provider would reject, is dropped; so propose freely. */
export interface Strategy {
  readonly name: string;
  /** Tried only when what came before it did not save enough. */
  readonly isLastResort?: true;
  /** It gives itself up when it takes too long, and may have to wait for its turn. */
  readonly keepsTime?: true;
  propose(
    conversation: VisibleConversation,
    goal: Goal,
  ): readonly Proposal[] | Promise<readonly Proposal[]>;
}

/** What a text costs. */
export type CountTokens = (text: string) => number;
