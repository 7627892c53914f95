/** Edits. An edit is a record of one change to the view, the conversation as the model sees it. The log itself never changes. */

/**
 * Edits name a message by its chain: a hash over the message and everything before it. So an edit can only apply to a message
 * whose whole history is the same.
 */
export type EditAction =
  | {
      readonly kind: "replace";
      readonly chain: string;
      /** Index of the part in the neutral message. `inner` is the index of a part inside a tool result. */
      readonly part: number;
      readonly inner?: number;
      readonly text: string;
      readonly handle?: string;
    }
  /** Removes or folds the units from `first` to `last`, both included. `text` takes their place. */
  | {
      readonly kind: "remove" | "fold";
      readonly first: string;
      readonly last: string;
      readonly text: string;
      readonly handle?: string;
    }
  /** Inserts a text. A text with a handle is a summary of everything that the view does not show in full. */
  | {
      readonly kind: "insert";
      readonly after: string;
      readonly text: string;
      readonly handle?: string;
    }
  /**
   * Shows the answer from `first` to `last`, both included, as the model gave it, with its calls of Plimsoll's tools and their
   * results. `inner` has the log numbers of those calls and results.
   */
  | {
      readonly kind: "expand";
      readonly first: string;
      readonly last: string;
      readonly inner: readonly number[];
    }
  /** Selects the tools to send. If there are several such edits, the last edit applies. */
  | ({ readonly kind: "tools" } & ToolSelection)
  /** Keeps these messages unchanged until the pin is reverted. */
  | { readonly kind: "pin"; readonly first: string; readonly last: string }
  /** Changes nothing. It only marks a point to come back to. */
  | { readonly kind: "checkpoint"; readonly label: string }
  | { readonly kind: "revert"; readonly edit: number }
  /** Reverts every edit between edit `to` and this edit. */
  | { readonly kind: "restore"; readonly to: number };

/** The deferrable tools of the client that the model currently sees. All other deferrable tools are left out. */
export interface ToolSelection {
  /** Names of the tools that stay in the list, in list order. */
  readonly kept: readonly string[];
  /** Names of the tools found by `tool_search`, in the order in which they were loaded. They come after all other tools. */
  readonly loaded: readonly string[];
  /** Text shown with `tool_search` that says how many tools are deferred. */
  readonly note: string;
}

/**
 * The kind of content that an edit touches. "read-tool": the result of reading a file. "alter-tool": a call that changes a file,
 * or its result. "file-mention": a file quoted in a text. "no-file-read": another result. "undefined": not classified.
 */
export type EditPlace = "undefined" | "no-file-read" | "read-tool" | "alter-tool" | "file-mention";

export interface Edit {
  readonly seq: number;
  readonly branch: string;
  /** Edits of one step were made together and are undone together. */
  readonly step: string;
  /** The last message that the edit or its step touches. The edit applies to every branch that contains this message. */
  readonly anchor: string;
  readonly at: number;
  readonly action: EditAction;
  readonly place: EditPlace;
  readonly strategy: string;
  readonly reason: string;
  /** Tokens of the content that the edit touches, before and after it. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** An edit that the log has not numbered yet. */
export type NewEdit = Omit<Edit, "seq">;

export const ownTools = "own_tools";

/** The strategy name of notes that warn the model about a window that is filling up. */
export const warning = "warning";

/** The strategy name of notes that tell the model where the beginning of its cut answer is. */
export const cutAnswer = "cut_answer";

/** The strategy name of edits that defer tools, and of notes that tell the model so. */
export const deferral = "defer_tools";
