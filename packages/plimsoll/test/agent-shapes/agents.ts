/** The agents: how each puts a request together from what was said, one small description each, made from its recording. */

import { call, customCall } from "../harness/answer.ts";
import type { CallPart } from "../harness/answer-parts.ts";
import type { JsonObject } from "../harness/json.ts";
import { codexFields, codexTalk } from "./codex.ts";
import { gooseAnthropic, gooseChat } from "./goose.ts";
import {
  agentsSdkAnswer,
  anthropicTalk,
  blocksOf,
  chatTalk,
  idFirst,
  langchainAnswer,
  type Messages,
  qwenAnswer,
  type Spoken,
  signatureFirst,
  typeFirst,
} from "./spelling.ts";

export interface Agent {
  /** Of its shape. */
  readonly name: string;
  /** How the model asks it for a file. */
  readonly read: (id: string, file: string) => CallPart;
  readonly isThinking: boolean;
  /** Rules of the strict provider that the agent itself breaks: A2 is two messages of the user's in a row. */
  readonly breaks?: readonly string[];
  readonly conversation: (spoken: Spoken) => Messages;
  /** What differs from the first request; undefined where it is gone. */
  readonly fields?: (spoken: Spoken) => JsonObject;
  readonly headers?: (spoken: Spoken) => Readonly<Record<string, string | undefined>>;
}

/** Copilot asks for thoughts only where the last answer had one. */
function copilotFields({ shape, exchanges }: Spoken): JsonObject {
  const last = exchanges.at(-1);
  const hasThought =
    last === undefined || blocksOf(last.message).some(({ type }) => type === "thinking");
  return { thinking: hasThought ? shape.fields["thinking"] : undefined };
}

function copilotHeaders({ exchanges }: Spoken): Record<string, string | undefined> {
  return exchanges.length === 0 ? {} : { "x-initiator": "agent", "x-interaction-type": undefined };
}

const readFilePath = (id: string, file: string): CallPart => call(id, "Read", { file_path: file });
const readPath = (id: string, file: string): CallPart => call(id, "read_file", { path: file });
const shell = (id: string, file: string): CallPart => call(id, "shell", { command: `cat ${file}` });
const exec = (id: string, file: string): CallPart =>
  customCall(
    id,
    "exec",
    `const read = await tools.exec_command({ cmd: "cat ${file}" }); text(read.output);`,
  );

const claudeCode = { read: readFilePath, isThinking: true, conversation: anthropicTalk(idFirst) };
const codex = { read: exec, isThinking: true, conversation: codexTalk, fields: codexFields };
const agentsSdk = {
  read: readPath,
  isThinking: false,
  conversation: chatTalk(agentsSdkAnswer, ({ id, text }) => ({
    role: "tool",
    tool_call_id: id,
    content: text,
  })),
};

export const AGENTS: readonly Agent[] = [
  { name: "claude-code", ...claudeCode },
  { name: "claude-code-opus", ...claudeCode },
  {
    name: "qwen-code",
    read: (id, file) => call(id, "read_file", { file_path: file }),
    isThinking: true,
    conversation: chatTalk(qwenAnswer, ({ id, text }) => ({
      role: "tool",
      tool_call_id: id,
      content: [{ type: "text", text }],
    })),
  },
  {
    name: "copilot-cli",
    read: (id, file) => call(id, "view", { path: file }),
    isThinking: true,
    conversation: anthropicTalk(typeFirst),
    fields: copilotFields,
    headers: copilotHeaders,
  },
  {
    name: "droid",
    read: readFilePath,
    isThinking: true,
    breaks: ["A2"],
    conversation: anthropicTalk(typeFirst, signatureFirst),
  },
  { name: "codex", ...codex },
  { name: "codex-provider", ...codex },
  {
    name: "langchain",
    read: readPath,
    isThinking: false,
    conversation: chatTalk(langchainAnswer, ({ id, tool, text }) => ({
      role: "tool",
      content: text,
      name: tool,
      tool_call_id: id,
    })),
  },
  { name: "agents-sdk", ...agentsSdk },
  { name: "agents-sdk-stream", ...agentsSdk },
  { name: "goose", read: shell, isThinking: false, conversation: gooseChat },
  {
    name: "goose-anthropic",
    read: shell,
    isThinking: false,
    breaks: ["A2"],
    conversation: gooseAnthropic,
  },
];
