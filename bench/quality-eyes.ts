/**
 * Writes views to read by eye: `npm run bench:eyes -- --seed N --out FOLDER [--against FILE]`. The seed chooses twenty cases of all
 * sets at 10 and 25 %. For each, the folder gets the view and the whole conversation as plain text. With --against, a file of
 * answers of something else, it also gets both views as A and B, in an order that only `key.json` tells. Run
 * `npm run bench:quality` first: it makes the answers.
 */

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Case, ChatMessage } from "./quality-answers.ts";
import { casesOf, findEvaluation, linesOfFile } from "./quality-scorer.ts";

const percents = [10, 25] as const;
/** Number of cases of each set at each percentage. */
const wanted: Readonly<Record<string, number>> = {
  coding_miniswe: 2,
  support_taubench_airline: 2,
  session_claudecode_bookminder: 2,
  mcp_livemcpbench: 1,
  coding_editor_misc: 1,
  qa_locomo_NC: 1,
  qa_qmsum: 1,
};

interface Chosen {
  readonly rank: string;
  readonly item: Case;
}

/** The cases with the lowest hashes, so that nobody can choose. */
async function choose(file: string, seed: string): Promise<readonly Case[]> {
  const groups = new Map<string, Chosen[]>();
  for await (const line of linesOfFile(file)) {
    const item = JSON.parse(line) as Case;
    if (!percents.some((percent) => percent === item.percent)) continue;
    const key = `${item.set} ${item.percent}`;
    const rank = createHash("sha256").update(`${seed} ${item.id}`).digest("hex");
    const lowest = [...(groups.get(key) ?? []), { rank, item }]
      .toSorted((one, other) => (one.rank < other.rank ? -1 : 1))
      .slice(0, wanted[item.set] ?? 0);
    groups.set(key, lowest);
  }
  return [...groups.values()].flat().map(({ item }) => item);
}

async function answersIn(
  file: string,
  ids: ReadonlySet<string | undefined>,
): Promise<ReadonlyMap<string, readonly ChatMessage[]>> {
  const found = new Map<string, readonly ChatMessage[]>();
  for await (const line of linesOfFile(file)) {
    const { id, messages } = JSON.parse(line) as Case;
    if (id !== undefined && messages !== undefined && ids.has(id)) found.set(id, messages);
  }
  return found;
}

/** As plain text, with the number of each message if it is the whole conversation. */
function textOf(messages: readonly ChatMessage[], isWhole: boolean): string {
  return messages
    .map(({ role, content, tool_calls: calls = [] }, index) => {
      const words =
        typeof content === "string" ? content : content == null ? "" : JSON.stringify(content);
      const called = calls.map(({ function: { name, arguments: input } }) => `→ ${name} ${input}`);
      const number = isWhole ? ` #${index + 1}` : "";
      return [`── ${role}${number}`, ...(words === "" ? [] : [words]), ...called].join("\n");
    })
    .join("\n");
}

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    out: { type: "string", default: "eyes" },
    against: { type: "string" },
  },
});
const evaluation = findEvaluation(0);
if (typeof evaluation === "string") {
  console.error(evaluation);
  process.exitCode = 2;
} else {
  const { cases } = await casesOf(evaluation, "compaction", "future,evidence");
  const chosen = await choose(cases, values.seed);
  const ids = new Set(chosen.map(({ id }) => id));
  const own = await answersIn(join(evaluation.cache, "own-compaction.jsonl"), ids);
  const other = values.against === undefined ? undefined : await answersIn(values.against, ids);
  mkdirSync(values.out, { recursive: true });
  const key: Record<string, unknown> = {};
  for (const [at, { id = "", messages = [], percent }] of chosen.entries()) {
    const name = String(at + 1).padStart(2, "0");
    const write = (end: string, text: string): void =>
      writeFileSync(join(values.out, `${name}-${end}.txt`), `${text}\n`);
    const view = textOf(own.get(id) ?? [], false);
    const first = createHash("sha256").update(`${values.seed} order ${id}`).digest()[0] ?? 0;
    const isFirst = first % 2 === 0;
    key[name] = { id, percent, ...(other === undefined ? {} : { plimsoll: isFirst ? "A" : "B" }) };
    if (other === undefined) {
      write("view", view);
      write("whole", textOf(messages, true));
    } else {
      const rival = textOf(other.get(id) ?? [], false);
      write("A", isFirst ? view : rival);
      write("B", isFirst ? rival : view);
    }
  }
  writeFileSync(join(values.out, "key.json"), `${JSON.stringify(key, null, 1)}\n`);
  console.error(`${chosen.length} views are in ${values.out}.`);
}
