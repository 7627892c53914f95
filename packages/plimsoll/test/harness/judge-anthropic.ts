/**
 * Checks an Anthropic Messages body like a strict provider, from this one body and the thinking that the provider has
 * signed: required fields, content types, and the rules A1 to A8, A13, A15 and A16 of wire-fixtures/rules.json (A8 where
 * the signature is known). Written from the rules and the provider's texts, independently of the product's validator.
 */
import type { Issued } from "./issued.ts";
import { elements, isObject, isString, objects } from "./json.ts";
import { type Finding, repeated, shape } from "./judge.ts";

interface Body {
  readonly model?: unknown;
  readonly max_tokens?: unknown;
  readonly messages?: unknown;
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly stream?: unknown;
  readonly cache_control?: unknown;
}
interface Message {
  readonly role?: unknown;
  readonly content?: unknown;
}
interface Block {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly input?: unknown;
  readonly input_schema?: unknown;
  readonly tool_use_id?: unknown;
  readonly content?: unknown;
  readonly thinking?: unknown;
  readonly signature?: unknown;
  readonly cache_control?: unknown;
}
interface Place {
  readonly message: Message;
  readonly index: number;
}

const MARKS_MAX = 4;
const ID_PATTERN = /^[a-zA-Z0-9_-]+$/;
const NAME_PATTERN = /^[a-zA-Z0-9_-]{1,128}$/;
const BLANK = /^[ \t\r\n]*$/;

export function judgeAnthropic(
  body: unknown,
  route: "messages" | "count_tokens",
  issued?: Issued,
): Finding[] {
  if (!isObject(body)) return [shape("The request body must be a JSON object")];
  const fields: Body = body;
  const messages = objects<Message>(fields.messages).map((message, index) => ({ message, index }));
  return [
    ...judgeFields(fields, route),
    ...judgeFirstMessage(fields.messages),
    ...messages.flatMap(judgeMessageShape),
    ...judgeAlternation(messages),
    ...judgePairs(messages),
    ...messages.flatMap(judgeResultsFirst),
    ...judgeCallIds(messages),
    ...judgeToolNames(fields, messages),
    ...(issued === undefined ? [] : judgeSignatures(messages, issued)),
    ...judgeEmptyText(fields, messages),
    ...judgeMarks(fields, messages),
  ];
}

function judgeFields(body: Body, route: "messages" | "count_tokens"): Finding[] {
  const findings: Finding[] = [];
  if (!isString(body.model) || body.model === "") findings.push(shape("model: Field required"));
  if (route === "messages" && !isPositiveInteger(body.max_tokens)) {
    findings.push(shape("max_tokens: Field required"));
  }
  if (body.messages !== undefined && !Array.isArray(body.messages)) {
    findings.push(shape("messages: Input should be a valid list"));
  }
  if (elements(body.messages).some((message) => !isObject(message))) {
    findings.push(shape("messages: Input should be an object"));
  }
  if (body.stream !== undefined && typeof body.stream !== "boolean") {
    findings.push(shape("stream: Input should be a valid boolean"));
  }
  if (body.system !== undefined && !isString(body.system)) {
    if (!Array.isArray(body.system)) findings.push(shape("system: Input should be a valid list"));
    findings.push(...objects<Block>(body.system).flatMap((block) => judgeBlock(block, "system")));
  }
  if (body.tools !== undefined && !Array.isArray(body.tools)) {
    findings.push(shape("tools: Input should be a valid list"));
  }
  return [...findings, ...objects<Block>(body.tools).flatMap(judgeTool)];
}

function isPositiveInteger(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value > 0;
}

function judgeTool(tool: Block, index: number): Finding[] {
  const isCustom = tool.type === undefined || tool.type === "custom";
  if (isCustom && !isObject(tool.input_schema)) {
    return [shape(`tools.${index}.custom.input_schema: Field required`)];
  }
  if (isCustom && !isString(tool.name))
    return [shape(`tools.${index}.custom.name: Field required`)];
  return [];
}

function judgeFirstMessage(messages: unknown): Finding[] {
  if (messages !== undefined && !Array.isArray(messages)) return [];
  const [first] = elements(messages);
  if (first === undefined)
    return [{ rule: "A1", message: "messages: at least one message is required" }];
  const { role }: Message = isObject(first) ? first : {};
  if (role === "user" || !isKnownRole(role)) return [];
  return [{ rule: "A1", message: 'messages: first message must use the "user" role' }];
}

function isKnownRole(role: unknown): boolean {
  return role === "user" || role === "assistant" || role === "system";
}

function judgeMessageShape({ message, index }: Place): Finding[] {
  const where = `messages.${index}`;
  if (!isKnownRole(message.role)) {
    return [shape(`${where}.role: Input should be 'user' or 'assistant'`)];
  }
  if (isString(message.content)) return [];
  if (!Array.isArray(message.content)) {
    return [shape(`${where}.content: Input should be a valid string or list`)];
  }
  return message.content.flatMap((block: unknown, position) =>
    isObject(block)
      ? judgeBlock(block, `${where}.content.${position}`)
      : [shape(`${where}.content.${position}: Input should be an object`)],
  );
}

/** Unknown block types are accepted, because a provider may know more types than this table. */
const BLOCK_FAULTS: Readonly<Record<string, (block: Block) => string | undefined>> = {
  text: (block) => (isString(block.text) ? undefined : "text: Field required"),
  tool_use: (block) => {
    if (!isString(block.id)) return "id: Field required";
    if (!isString(block.name)) return "name: Field required";
    return isObject(block.input) ? undefined : "input: Input should be a valid dictionary";
  },
  tool_result: (block) => {
    if (!isString(block.tool_use_id)) return "tool_use_id: Field required";
    const isContent =
      block.content === undefined || isString(block.content) || Array.isArray(block.content);
    return isContent ? undefined : "content: Input should be a valid string or list";
  },
  thinking: (block) => {
    if (!isString(block.thinking)) return "thinking: Field required";
    return isString(block.signature) ? undefined : "signature: Field required";
  },
};

function judgeBlock(block: Block, where: string): Finding[] {
  if (!isString(block.type)) return [shape(`${where}.type: Field required`)];
  const fault = Object.hasOwn(BLOCK_FAULTS, block.type)
    ? BLOCK_FAULTS[block.type]?.(block)
    : undefined;
  return fault === undefined ? [] : [shape(`${where}.${block.type}.${fault}`)];
}

function judgeAlternation(messages: readonly Place[]): Finding[] {
  const spoken = messages.filter(({ message }) => message.role !== "system");
  return spoken.flatMap(({ message }, index) =>
    index > 0 && spoken[index - 1]?.message.role === message.role
      ? [
          {
            rule: "A2",
            message: `messages: roles must alternate between "user" and "assistant", but found multiple "${message.role}" roles in a row`,
          },
        ]
      : [],
  );
}

function blocksOf(message: Message | undefined, type?: string): readonly Block[] {
  const blocks = objects<Block>(message?.content);
  return type === undefined ? blocks : blocks.filter((block) => block.type === type);
}

function callIds(message: Message | undefined): string[] {
  if (message?.role !== "assistant") return [];
  return blocksOf(message, "tool_use").flatMap(({ id }) => (isString(id) ? [id] : []));
}

function resultIds(message: Message | undefined): string[] {
  if (message?.role !== "user") return [];
  return blocksOf(message, "tool_result").flatMap(({ tool_use_id: id }) =>
    isString(id) ? [id] : [],
  );
}

function judgePairs(messages: readonly Place[]): Finding[] {
  return messages.flatMap(({ message, index }) => [
    ...judgeCallsAnswered(message, messages[index + 1]?.message, index),
    ...judgeResultsCalled(message, messages[index - 1]?.message, index),
  ]);
}

function judgeCallsAnswered(message: Message, next: Message | undefined, index: number): Finding[] {
  const answered = new Set(resultIds(next));
  const open = callIds(message).filter((id) => !answered.has(id));
  if (open.length === 0) return [];
  return [
    {
      rule: "A3",
      message: `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    },
  ];
}

function judgeResultsCalled(
  message: Message,
  previous: Message | undefined,
  index: number,
): Finding[] {
  const called = new Set(callIds(previous));
  const results = resultIds(message);
  const stray = [...results.filter((id) => !called.has(id)), ...repeated(results)];
  if (stray.length === 0) return [];
  return [
    {
      rule: "A4",
      message: `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray.join(", ")}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    },
  ];
}

function judgeResultsFirst({ message, index }: Place): Finding[] {
  if (message.role !== "user") return [];
  const types = blocksOf(message).map((block) => block.type);
  const firstOther = types.findIndex((type) => type !== "tool_result");
  if (firstOther < 0 || types.lastIndexOf("tool_result") < firstOther) return [];
  return [
    {
      rule: "A5",
      message: `messages.${index}: \`tool_result\` blocks must come before all other content of their message`,
    },
  ];
}

function judgeCallIds(messages: readonly Place[]): Finding[] {
  const ids = messages.flatMap(({ message }) => callIds(message));
  const malformed = ids.filter((id) => !ID_PATTERN.test(id));
  return [
    ...repeated(ids).map((id) => ({
      rule: "A6",
      message: `messages: \`tool_use\` ids must be unique: ${id}`,
    })),
    ...malformed.map((id) => ({
      rule: "A6",
      message: `messages: tool_use.id '${id}': String should match pattern '^[a-zA-Z0-9_-]+$'`,
    })),
  ];
}

/** Entries without a name (toolsets) are exempt. */
function judgeToolNames(body: Body, messages: readonly Place[]): Finding[] {
  const calls = messages.flatMap(({ message }) => blocksOf(message, "tool_use"));
  return [...objects<Block>(body.tools), ...calls].flatMap(({ name }) =>
    isString(name) && !NAME_PATTERN.test(name)
      ? [
          {
            rule: "A7",
            message: `tool name '${name}': String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`,
          },
        ]
      : [],
  );
}

function judgeSignatures(messages: readonly Place[], issued: Issued): Finding[] {
  return messages.flatMap(({ message, index }) =>
    blocksOf(message, "thinking").flatMap(({ signature, thinking }) => {
      const signed = issued.thinkingWith(String(signature));
      if (signed === undefined || signed === thinking) return [];
      const where = `messages.${index}.content`;
      return [{ rule: "A8", message: `${where}: Invalid \`signature\` in \`thinking\` block` }];
    }),
  );
}

function judgeEmptyText(body: Body, messages: readonly Place[]): Finding[] {
  const lastIndex = messages.length - 1;
  const isEmpty = ({ message, index }: Place): boolean => {
    if (message.role === "assistant" && index === lastIndex) return false;
    return isString(message.content)
      ? BLANK.test(message.content)
      : elements(message.content).length === 0;
  };
  const texts = [
    ...objects<Block>(body.system),
    ...messages.flatMap(({ message }) => blocksOf(message)),
    ...markedResultTexts(messages),
  ].filter((block) => block.type === "text" && isString(block.text) && BLANK.test(block.text));
  return [
    ...messages.filter(isEmpty).map(({ index }) => ({
      rule: "A13",
      message: `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
    })),
    ...texts.map(() => ({
      rule: "A13",
      message: "messages: text content blocks must be non-empty",
    })),
  ];
}

/** It is not known whether a provider refuses an empty text inside a result, except if it has a cache mark. */
function markedResultTexts(messages: readonly Place[]): readonly Block[] {
  return messages
    .flatMap(({ message }) => blocksOf(message, "tool_result"))
    .flatMap((result) => objects<Block>(result.content))
    .filter((block) => timeToLive(block) !== undefined);
}

/** The blocks that may carry a cache mark, in the order in which the provider processes them. */
function markable(body: Body, messages: readonly Place[]): readonly Block[] {
  return [
    ...objects<Block>(body.tools),
    ...objects<Block>(body.system),
    ...messages
      .flatMap(({ message }) => blocksOf(message))
      .flatMap((block) =>
        block.type === "tool_result" ? [...objects<Block>(block.content), block] : [block],
      ),
  ];
}

function timeToLive(marked: { readonly cache_control?: unknown }): string | undefined {
  if (!isObject(marked.cache_control)) return undefined;
  const { ttl } = marked.cache_control;
  return isString(ttl) ? ttl : "5m";
}

function judgeMarks(body: Body, messages: readonly Place[]): Finding[] {
  const blocks = markable(body, messages);
  const lives = blocks.map(timeToLive).filter((life) => life !== undefined);
  const findings: Finding[] = [];
  if (lives.length > MARKS_MAX) {
    const message = `A maximum of 4 blocks with cache_control may be provided. Found ${lives.length}.`;
    findings.push({ rule: "A15", message });
  }
  if (blocks.some((block) => isThinking(block) && timeToLive(block) !== undefined)) {
    const message = "messages: thinking.cache_control: Extra inputs are not permitted";
    findings.push({ rule: "A15", message });
  }
  const [own, target] = [timeToLive(body), blocks.map(timeToLive).at(-1)];
  if (own !== undefined && target !== undefined && own !== target) {
    const message = `Top-level cache_control has ttl='${own}' but the target block already has cache_control with ttl='${target}'`;
    findings.push({ rule: "A15", message });
  }
  if (lives.some((life, index) => life === "1h" && lives.slice(0, index).includes("5m"))) {
    const message =
      "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: tools, system, messages.";
    findings.push({ rule: "A16", message });
  }
  return findings;
}

function isThinking(block: Block): boolean {
  return block.type === "thinking" || block.type === "redacted_thinking";
}
