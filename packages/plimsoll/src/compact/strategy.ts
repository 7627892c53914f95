/** What a strategy is given, and what it answers: proposals. It never changes a message, and does no I/O. */

import type { EditPlace } from "../message/edit.ts";
import type { Message } from "../message/message.ts";
import type { Unit } from "../message/unit.ts";

/** A message that the model would see now. */
export interface SeenMessage {
  readonly message: Message;
  readonly tokens: number;
  readonly bytes: number;
  /** Must stay as it is … */
  readonly isPinned: boolean;
  /** … unless the request would not fit otherwise. */
  readonly mayGiveWay?: boolean;
}

export interface SeenConversation {
  readonly messages: readonly SeenMessage[];
  /** Over `messages`, in order and without gaps: a call and its results are never apart. */
  readonly units: readonly Unit[];
  /** Of the whole request, with system prompt and tools. */
  readonly tokens: number;
  /** The provider wants user and assistant in turns. */
  readonly mustAlternate: boolean;
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
  readonly handle: string;
  readonly messages: number;
  readonly tokens: number;
}

/** Messages are named by their index in the conversation. */
export type Proposal =
  /** Whole units, both ends included. */
  | {
      readonly kind: "remove" | "fold";
      readonly first: number;
      readonly last: number;
      readonly reason: string;
      readonly textFor: (taken: TakenOut) => string;
    }
  | {
      readonly kind: "replace";
      readonly message: number;
      readonly part: number;
      readonly inner?: number;
      readonly place: EditPlace;
      readonly reason: string;
      readonly textFor: (taken: TakenOut) => string;
    }
  | {
      readonly kind: "insert";
      readonly after: number;
      readonly text: string;
      readonly reason: string;
    };

/** Contract: a proposal that makes nothing smaller, or that a provider would reject, is dropped; so propose freely. */
export interface Strategy {
  readonly name: string;
  /** Tried only when what came before it did not save enough. */
  readonly isLastResort?: true;
  propose(
    conversation: SeenConversation,
    goal: Goal,
  ): readonly Proposal[] | Promise<readonly Proposal[]>;
}
