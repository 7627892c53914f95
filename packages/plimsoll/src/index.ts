/** The public API. A line here is a promise: few names, nothing internal. */

export type { ToolRules } from "./budget/tool-budget.ts";
export type { Goal, Proposal, SeenConversation, Strategy } from "./compact/strategy.ts";
export type { Edit, EditAction } from "./message/edit.ts";
export { PlimsollError } from "./message/error.ts";
export type { PlimsollEvent } from "./message/event.ts";
export type { Message, Part, ToolCallPart, Usage } from "./message/message.ts";
export type { ToolDefinition } from "./message/tool.ts";
export type { AnsweredCall } from "./session/answer-call.ts";
export type { Config } from "./session/config-schema.ts";
export { openPlimsoll, type Plimsoll, type PlimsollOptions } from "./session/plimsoll.ts";
export type { PreparedTurn, PrepareOptions } from "./session/prepared.ts";
export type { Session } from "./session/session.ts";
export type { SessionToolBudget, ToolGrant } from "./session/tool-budget.ts";
