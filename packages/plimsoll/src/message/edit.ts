/** Edits: records that say what the model sees instead of what was said. The log itself never changes. */

/**
 * Messages are named by their chain, the hash over everything up to and including them: an edit can
 * only hold for a message whose whole history is the same.
 */
export type EditAction =
  | {
      readonly kind: "replace";
      readonly chain: string;
      /** Index of the neutral part; inside a tool result, of one part of it. */
      readonly part: number;
      readonly inner?: number;
      readonly text: string;
      readonly handle?: string;
    }
  /** Whole units, both ends included; `text` stands in their place. */
  | {
      readonly kind: "remove" | "fold";
      readonly first: string;
      readonly last: string;
      readonly text: string;
      readonly handle?: string;
    }
  /** With a handle it is a summary: it stands for everything that the view does not show whole. */
  | {
      readonly kind: "insert";
      readonly after: string;
      readonly text: string;
      readonly handle?: string;
    }
  /** An answer, both ends included, as the model gave it: with its calls of our tools, and our results, by their numbers in the log. */
  | {
      readonly kind: "expand";
      readonly first: string;
      readonly last: string;
      readonly inner: readonly number[];
    }
  /** Of several the last one holds. */
  | ({ readonly kind: "tools" } & ToolSelection)
  /** These messages stay as they are until the pin is reverted. */
  | { readonly kind: "pin"; readonly first: string; readonly last: string }
  /** Nothing but a point to come back to. */
  | { readonly kind: "checkpoint"; readonly label: string }
  | { readonly kind: "revert"; readonly edit: number }
  /** Nothing holds that came between that edit and this one. */
  | { readonly kind: "restore"; readonly to: number };

/** Which of the client's tools that may be held back are told; no other one is. */
export interface ToolSelection {
  /** In the order in which they stand. */
  readonly kept: readonly string[];
  /** Behind everything else, in the order in which they came. */
  readonly loaded: readonly string[];
  /** Told with `tool_search`: how many are held back. */
  readonly note: string;
}

/** What kind of place an edit touches. */
export type EditPlace = "undefined" | "no-file-read" | "read-tool" | "alter-tool" | "file-mention";

export interface Edit {
  readonly seq: number;
  readonly branch: string;
  /** Edits of one step were made together, and are undone together. */
  readonly step: string;
  /** The last message that the edit, or its step, touches: it holds for every branch that passes through it. */
  readonly anchor: string;
  readonly at: number;
  readonly action: EditAction;
  readonly place: EditPlace;
  readonly strategy: string;
  readonly reason: string;
  /** Of what the edit touches. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** An edit before the log has given it a number. */
export type NewEdit = Omit<Edit, "seq">;

export const ownTools = "own_tools";

/** The strategy of notes that the window fills. */
export const warning = "warning";
