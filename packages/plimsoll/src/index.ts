/** The public API. Every export is a commitment to the users of the package, so there are few exports and no internal ones. */

export type { ToolRules } from "./budget/tool-budget.ts";
export type { Config } from "./config/schema.ts";
export type { Edit, EditAction } from "./message/edit.ts";
export { PlimsollError } from "./message/error.ts";
export type { PlimsollEvent } from "./message/event.ts";
export type { Message, Part, ToolCallPart, Usage } from "./message/message.ts";
export type {
  Goal,
  Proposal,
  Strategy,
  VisibleConversation,
  /** @deprecated Use VisibleConversation instead. */
  VisibleConversation as SeenConversation,
} from "./message/strategy.ts";
export type { ToolDefinition } from "./message/tool.ts";
export { openPlimsoll, type Plimsoll, type PlimsollOptions } from "./plimsoll.ts";
export type { AnsweredCall } from "./session/library/answer-call.ts";
export type { PrepareOptions } from "./session/library/prepared-request.ts";
export type { Session } from "./session/library/session.ts";
export type { PreparedTurn } from "./session/library/state.ts";
export type { SessionToolBudget, ToolGrant } from "./session/library/tool-budget.ts";
export { type Simulation, simulateConversation, simulatedAreas } from "./simulate/simulate.ts";
export {
  type HistoryUpdate,
  readContextHistory,
  withContextHistory,
} from "./wire/context-history.ts";
export type { GivenTool } from "./wire/format/named-tool.ts";
