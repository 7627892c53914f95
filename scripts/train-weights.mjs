// Learns which mentions of a conversation later turns use, from recorded conversations of the sets with an MIT licence, and
// writes the trees to packages/plimsoll/data/mention_trees.js. Run: npm run train. The recordings are not in the repository:
// they are in ../shared/data, or in the folder `data` of the one that PLIMSOLL_EVAL_DATA names.
//
// `--without SET` leaves a set out, and `--out FILE` writes to another file: `npm run bench:weights` uses both to test the
// trees on a set that they have never seen.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { estimateTokens } from "../packages/plimsoll/src/compact/excerpt/long-lines.ts";
import { isAtom } from "../packages/plimsoll/src/compact/excerpt/mention-counts.ts";
import {
  createFeatures,
  featureNames,
} from "../packages/plimsoll/src/compact/excerpt/mention-features.ts";
import {
  readMentions,
  weightOf,
} from "../packages/plimsoll/src/compact/excerpt/mention-weights.ts";
import { readTexts } from "../packages/plimsoll/src/compact/excerpt/texts-to-cut.ts";
import { splitUnits } from "../packages/plimsoll/src/message/unit.ts";
import { mentionsIn } from "../packages/plimsoll/src/search/mentions.ts";
import { searchableText } from "../packages/plimsoll/src/search/message-text.ts";
import { wires } from "../packages/plimsoll/src/wire/wires.ts";
import { growTrees } from "./grow-trees.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The sets whose licence is MIT. All other sets are for evaluation only. */
const trainingSets = [
  "coding_miniswe",
  "support_taubench_airline",
  "session_claudecode_bookminder",
  "coding_editor_misc",
];
/** Shares of a conversation after which it is cut. Everything before the cut is history, everything after it is the future. */
const cuts = [0.35, 0.5, 0.62, 0.75, 0.87];
/** Shorter histories say nothing about what a compaction has to choose from. */
const fewestTokens = 2_000;
const messageTokens = 4;

function readTraces(folder, set) {
  const file = join(folder, `${set}.jsonl.gz`);
  return gunzipSync(readFileSync(file))
    .toString("utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** The conversation before the cut, as a strategy sees it. */
function visible(messages) {
  const seen = messages.map((message, number) => ({
    message,
    number,
    tokens: messageTokens + estimateTokens(searchableText(message)),
    bytes: 0,
    isPinned: false,
  }));
  return { messages: seen, units: splitUnits(messages, []) };
}

/** The mentions that the agent uses after the cut from memory: nobody has said them again before it does. */
function usedLater(future) {
  const used = new Set();
  const supplied = new Set();
  for (const message of future) {
    const names = mentionsIn(searchableText(message)).keys();
    if (message.role === "assistant")
      for (const name of names) if (!supplied.has(name)) used.add(name);
    if (message.role !== "assistant") for (const name of names) supplied.add(name);
  }
  return used;
}

/** A row for each mention of the history: its features, and whether the agent used it later. */
function rowsOf(messages, cut) {
  const conversation = visible(messages.slice(0, cut));
  const headLength = messages.findIndex(({ role }) => role === "user") + 1;
  const { utterances, frame } = readTexts(conversation, {
    headLength,
    acts: [],
    exactFrom: cut,
    oversizedTokens: 0,
  });
  const { names, kinds, counts } = readMentions(utterances, frame);
  const features = createFeatures(utterances, { names, counts, frame });
  const used = usedLater(messages.slice(cut));
  if (used.size === 0) return [];
  return names.flatMap((name, number) => {
    const byHand = weightOf(kinds[number], counts[number], frame);
    if (byHand === 0 || !isAtom(kinds[number])) return [];
    return [{ features: Float64Array.from(features(number, byHand)), isUsed: used.has(name) }];
  });
}

/** All conversations of a set weigh the same, and so do all sets: otherwise the set with the longest ones would decide. */
function examplesOf(folder, set) {
  const wire = wires["openai-chat"];
  const groups = readTraces(folder, set).flatMap(({ messages }) => {
    const decoded = messages.map((message) => wire.messages.decode(message));
    const tokens = decoded.map(
      (message) => messageTokens + estimateTokens(searchableText(message)),
    );
    const all = tokens.reduce((sum, own) => sum + own, 0);
    return cuts.flatMap((share) => {
      let sum = 0;
      const cut = decoded.findIndex(({ role }, at) => {
        const isHere = role === "assistant" && sum >= all * share;
        sum += tokens[at];
        return isHere;
      });
      if (cut < 0 || all * share < fewestTokens) return [];
      const rows = rowsOf(decoded, cut);
      return rows.length === 0 ? [] : [rows];
    });
  });
  return groups.flatMap((rows) =>
    rows.map((row) => ({ ...row, weight: 1 / (rows.length * groups.length) })),
  );
}

/** Figures of at most six digits keep the file small. */
function rounded({ nodes, leaves }) {
  const round = (value) => Number(value.toPrecision(6));
  return { nodes: nodes.map(round), leaves: leaves.map(round) };
}

const { values } = parseArgs({ options: { without: { type: "string" }, out: { type: "string" } } });
const folder = join(process.env.PLIMSOLL_EVAL_DATA ?? join(root, "..", "shared"), "data");
if (!existsSync(folder)) {
  console.error(
    `plimsoll: ${folder} does not exist. Set PLIMSOLL_EVAL_DATA to the folder with the recorded conversations.`,
  );
  process.exit(2);
}
const sets = trainingSets.filter((set) => set !== values.without);
const examples = sets.flatMap((set) => examplesOf(folder, set));
const used = examples.filter(({ isUsed }) => isUsed).length;
console.error(
  `${examples.length} mentions of ${sets.join(", ")}; ${used} of them were used later.`,
);
const { bias, average, trees } = growTrees(examples, {
  trees: 150,
  leaves: 8,
  rate: 0.1,
  smallestLeaf: 200,
});
const made = { features: featureNames, bias, average, trees: trees.map(rounded) };
const about = `// Learned by scripts/train-weights.mjs (\`npm run train\`) from recorded conversations of these sets, all of them with an MIT licence:
// ${sets.join(", ")}. The trees contain no text of them.`;
const file = values.out ?? join(root, "packages", "plimsoll", "data", "mention_trees.js");
writeFileSync(file, `${about}\nexport const trees = ${JSON.stringify(made)};\n`);
