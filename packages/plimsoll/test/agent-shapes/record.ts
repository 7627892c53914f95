/**
 * Records what an agent sends: `node record.ts <folder> <port> <tool> <input> [silent]`. It is a provider on 127.0.0.1 that takes
 * everything, asks for the agent's own tool for five turns, and writes each request and its answer into the folder. `input`
 * is the JSON of the tool's input, with FILE for the name of a file; a custom tool of Responses has a text instead.
 * A `silent` model has no thoughts.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { call, customCall, reasoning, renderEvents, renderJson, text } from "../harness/answer.ts";
import type { AnswerPart } from "../harness/answer-parts.ts";
import { type JsonObject, parseJson, type Wire } from "../harness/json.ts";

const [folder = "", port = "0", tool = "", input = "", silent = ""] = process.argv.slice(2);
const PATHS: readonly (readonly [string, Wire])[] = [
  ["/messages", "anthropic"],
  ["/chat/completions", "openai-chat"],
  ["/responses", "openai-responses"],
];
const CALLS_MIN_TOOLS = 3;

let requestsCount = 0;
let turnsCount = 0;

function toolCall(id: string, file: number): AnswerPart {
  const filled = input.replaceAll("FILE", join(process.cwd(), `notes${file}.md`));
  return filled.startsWith("{")
    ? call(id, tool, parseJson(filled) as JsonObject)
    : customCall(id, tool, filled);
}

function thought(turn: number): readonly AnswerPart[] {
  const signature = Buffer.from(`signature-${turn}-`.repeat(6)).toString("base64");
  return silent === "" ? [reasoning(signature, `Thought number ${turn}.`)] : [];
}

/** With and without thoughts and words, and two calls at once. */
function answerOf(turn: number): readonly AnswerPart[] {
  const turns: readonly (readonly AnswerPart[])[] = [
    [...thought(1), text("I look at the first file."), toolCall("call_1a", 1)],
    [...thought(2), toolCall("call_2a", 2)],
    [text("Two files ", "at once."), toolCall("call_3a", 3), toolCall("call_3b", 4)],
    [...thought(4), toolCall("call_4a", 5)],
    [text("One more."), toolCall("call_5a", 6)],
    [...thought(6), text("All is read: ", "done.")],
  ];
  return turns[turn] ?? [text("Nothing more.")];
}

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method, url = "", headers } = request;
  const wire = PATHS.find(([end]) => url.split("?")[0]?.endsWith(end))?.[1];
  if (method !== "POST" || wire === undefined) {
    response.writeHead(404, { "content-type": "application/json" }).end("{}");
    return;
  }
  const body = parseJson(Buffer.concat(chunks).toString("utf8")) as JsonObject;
  const tools = JSON.stringify(body["tools"] ?? body["input"] ?? "").match(
    /"parameters"|"input_schema"/g,
  );
  const isAside = (tools ?? []).length < CALLS_MIN_TOOLS;
  const number = ++requestsCount;
  const parts = isAside ? [text("A short title")] : answerOf(turnsCount++);
  const record = {
    number,
    path: url,
    headers,
    body,
    ...(isAside ? { isAside } : {}),
    answer: parts,
  };
  await writeFile(join(folder, `${String(number).padStart(3, "0")}.json`), JSON.stringify(record));
  const frame = {
    wire,
    body,
    model: String(body["model"]),
    requestNumber: number,
    includeUsage: true,
  };
  const reply = { kind: "reply", parts } as const;
  if (body["stream"] === true) {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    for (const event of renderEvents(reply, frame)) response.write(event);
    response.end();
  } else {
    response.writeHead(200, { "content-type": "application/json" }).end(renderJson(reply, frame));
  }
}

await mkdir(folder, { recursive: true });
const server = createServer((request, response) => {
  take(request, response).catch((error: unknown) => {
    process.stderr.write(`A request could not be recorded: ${String(error)}\n`);
    response.destroy();
  });
});
server.listen(Number(port), "127.0.0.1");
