/** A whole agent in one file: it keeps its conversation in Plimsoll, and calls tools until the model is done. */

import { readFile } from "node:fs/promises";
import Anthropic from "@anthropic-ai/sdk";
import { openPlimsoll } from "plimsoll";

const tools = [
  {
    name: "read_file",
    description: "Read a text file.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
];

async function readTool(input: string): Promise<string> {
  try {
    const { path } = JSON.parse(input) as { path: string };
    return await readFile(path, "utf8");
  } catch (error) {
    return `failed: ${error}`;
  }
}

/** Asks, lets the model use its tool, and gives its last words. */
export async function runAgent(question: string, data: string): Promise<string> {
  const plimsoll = await openPlimsoll({ data });
  const session = await plimsoll.session({ agent: "reader" });
  const anthropic = new Anthropic();
  await session.append({ role: "user", content: question });

  for (let step = 0; step < 20; step++) {
    const turn = await session.prepare<Anthropic.MessageCreateParamsNonStreaming>({
      target: "anthropic/claude-sonnet-5",
      maxOutputTokens: 1024,
      tools,
    });
    console.log(`turn ${step + 1}: ${turn.measurement.total} of ${turn.limit.limit} tokens`);
    const answer = await anthropic.messages.create(turn.request);
    await session.commit(answer);

    const calls = turn.toolCalls(answer);
    if (calls.length === 0) {
      await plimsoll.close();
      return answer.content
        .flatMap((block) => (block.type === "text" ? [block.text] : []))
        .join("");
    }
    for (const call of calls) {
      // Calls of Plimsoll's own tools are answered by it; any other result goes in whole, as a handle, or not at all.
      const own = await session.answer(call);
      const grant = own ?? session.toolBudget.reserve(call, await readTool(call.input));
      await session.append(grant.message);
    }
  }
  throw new Error("The model is still not done after 20 turns.");
}

if (import.meta.main)
  console.log(await runAgent(process.argv[2] ?? "What is in package.json?", ".plimsoll"));
