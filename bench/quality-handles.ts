/**
 * Answers cases on stdin like `plimsoll compact --jsonl`, but as in a session: what is taken out has a handle, which its
 * notice shows. A file on the command line has no archive and so no handle; the difference is what a handle costs.
 */

import { createHash } from "node:crypto";
import { openPlimsoll } from "plimsoll";
import { countedTexts } from "../packages/plimsoll/src/cli/commands/compact.ts";
import { jsonLines, writeLine } from "../packages/plimsoll/src/cli/console/json-lines.ts";
import { PlimsollError } from "../packages/plimsoll/src/message/error.ts";
import type { JsonObject } from "../packages/plimsoll/src/message/json.ts";
import type { Proposal, Strategy } from "../packages/plimsoll/src/message/strategy.ts";

const tokenizer = "tiktoken:o200k_base";
const handleCharacters = 22;
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** As long and as random as a real one, and the same in every run. */
function handleOf(id: string): string {
  const bytes = createHash("sha256").update(id).digest().subarray(0, handleCharacters);
  return `pl_${[...bytes].map((byte) => alphabet[byte % alphabet.length]).join("")}`;
}

function withHandles(strategy: Strategy, handle: () => string): Strategy {
  const named = (proposal: Proposal): Proposal =>
    proposal.kind === "insert"
      ? proposal
      : {
          ...proposal,
          textFor: (taken) => proposal.textFor({ ...taken, handle: handle() }),
        };
  return {
    ...strategy,
    propose: async (conversation, goal) => {
      const proposals = await strategy.propose({ ...conversation, hasArchive: true }, goal);
      return proposals.map(named);
    },
  };
}

async function main(): Promise<void> {
  let handle = "";
  const strategies = (usual: readonly Strategy[]): readonly Strategy[] =>
    usual.map((strategy) => withHandles(strategy, () => handle));
  const plimsoll = await openPlimsoll({ store: "memory", parts: { strategies } });
  for await (const { item } of jsonLines(process.stdin)) {
    const { id, messages, budgetTokens } = item;
    handle = handleOf(String(id));
    const task = {
      wire: "openai-chat" as const,
      messages: messages as readonly JsonObject[],
      budget: Number(budgetTokens),
      count: { tokenizer, textsOf: countedTexts },
    };
    try {
      const done = await plimsoll.compactMessages(task);
      await writeLine(process.stdout, { id, messages: done.messages });
    } catch (error) {
      if (!PlimsollError.is(error)) throw error;
      await writeLine(process.stdout, { id, error: error.message });
    }
  }
  await plimsoll.close();
}

await main();
