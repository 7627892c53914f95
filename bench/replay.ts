/**
 * The replay lab on recorded coding conversations: `npm run bench:replay -- [--all] [--write]`.
 * A window a third of each conversation, all policies, Anthropic's and OpenAI's prices and caches. Ends with 1 when Plimsoll
 * keeps less than 95 % of the prefix that an ideal policy keeps, or costs as much as cutting or clearing each turn.
 * The recordings are no part of the project: see bench/recordings.ts. `--write` puts the tables into QUALITY.md.
 */

import { parseArgs } from "node:util";
import { priceListOf } from "../packages/plimsoll/src/prompt/prices.ts";
import {
  type PolicyFigures,
  type PolicyName,
  policyNames,
  replayAll,
} from "../packages/plimsoll/src/replay/replay.ts";
import { findRecordings, readRecordings, shuffled } from "./recordings.ts";
import { writeReplayRegion } from "./replay-page.ts";
import {
  atLeast,
  atMost,
  type Check,
  figure,
  type Table,
  tablesOf,
  toMarkdown,
  toText,
} from "./report.ts";
import { scriptFor, type Trace, type WireForm, wireForms } from "./trace-wires.ts";

const set = "coding_miniswe";
const seed = "plimsoll-replay-1";
const sampleSize = 24;
const share = 1 / 3;
const secondsPerTurn = 20;
const maxOutput = 256;
/** Of the prefix that the ideal policy keeps. */
const prefixGoal = 0.95;

interface Done {
  readonly form: WireForm;
  readonly figures: ReadonlyMap<PolicyName, PolicyFigures>;
}

async function replayOn(form: WireForm, traces: readonly Trace[]): Promise<Done> {
  const scripts = traces.map((trace) => scriptFor(form, trace, maxOutput));
  const figures = await replayAll(scripts, {
    policies: policyNames,
    window: { kind: "share", share },
    secondsPerTurn,
    prices: priceListOf(form.family, form.model),
    config: {},
  });
  return { form, figures: new Map(figures.map((one) => [one.policy, one])) };
}

function tableOf({ form, figures }: Done): Table {
  const whole = (value: number): string => value.toLocaleString("en-US");
  return {
    title: `${form.wire}, ${form.model}`,
    columns: [
      "policy",
      "requests",
      "sent",
      "read from the cache",
      "written",
      "fresh",
      "output",
      "bill",
      "prefix share",
      "compactions",
      "forced",
      "over the window",
      "refused",
    ],
    rows: [...figures.values()].map((one) => [
      one.policy,
      whole(one.requests),
      whole(one.sent),
      whole(one.cacheRead),
      whole(one.cacheWrite + one.cacheWriteLong),
      whole(one.fresh),
      whole(one.output),
      one.usd === undefined ? "unknown" : `$${figure(one.usd)}`,
      `${figure(prefixShare(one) * 100)} %`,
      whole(one.compactions),
      whole(one.forced),
      whole(one.overWindow),
      whole(one.refused),
    ]),
  };
}

function prefixShare({ prefix, sent }: PolicyFigures): number {
  return prefix / sent;
}

function checksOf({ form, figures }: Done): readonly Check[] {
  const of = (policy: PolicyName): PolicyFigures => {
    const found = figures.get(policy);
    if (found === undefined) throw new Error(`There are no figures of ${policy}.`);
    return found;
  };
  const kept = (prefixShare(of("plimsoll")) / prefixShare(of("ideal"))) * 100;
  const bill = (policy: PolicyName): Check => {
    const percent = ((of("plimsoll").usd ?? Number.NaN) / (of(policy).usd ?? Number.NaN)) * 100;
    const check = atMost(`${form.wire}: bill, of ${policy}'s`, percent, 100, "%");
    return { ...check, isMet: percent < 100 };
  };
  const name = `${form.wire}: prefix share, of the ideal's`;
  return [atLeast(name, kept, prefixGoal * 100, "%"), bill("tail"), bill("clear")];
}

function settingText(traces: readonly Trace[], isAll: boolean): string {
  const which = isAll ? `all ${traces.length}` : `${traces.length}, chosen by a hash,`;
  return `Recorded coding conversations (\`${set}\`, ${which} of the half that is ours to look at), sent turn by turn by \`npm run bench:replay${isAll ? " -- --all" : ""}\` at a window of a third of each, ${maxOutput} tokens for an answer, a request every ${secondsPerTurn} seconds, default settings. The provider's cache is simulated by its rules as far as they are known (how long OpenAI's lives is assumed; at this pace nothing expires); prices as in \`prompt/price-rows.ts\`; tokens are counted here. \`none\`: nothing is taken out, the window is unlimited. \`tail\`: each turn the newest whole exchanges that fit. \`clear\`: each turn all tool results but the newest three, once half of the limit is filled. \`ideal\`: as large as Plimsoll's requests, compacted when Plimsoll compacts, and nothing else ever changed. Requests of all policies are marked for the cache in the same way. Recorded answers cost the same everywhere; nobody asks for anything back.`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      all: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
  });
  const folder = findRecordings(set);
  if (folder === undefined) {
    console.log(
      "There are no recorded conversations here: put them into ../shared/data, or name their folder in PLIMSOLL_EVAL_DATA.",
    );
    return;
  }
  const begin = performance.now();
  const recorded = shuffled(readRecordings(folder, set), seed);
  const traces = values.all ? recorded : recorded.slice(0, sampleSize);
  const forms = wireForms.filter(({ wire }) => wire !== "openai-responses");
  const done: Done[] = [];
  for (const form of forms) done.push(await replayOn(form, traces));
  const checks = done.flatMap(checksOf);
  const tables = tablesOf({ tables: done.map(tableOf), checks });
  const setting = settingText(traces, values.all);
  console.log([setting, ...tables.map(toText)].join("\n\n"));
  console.log(`(${Math.round((performance.now() - begin) / 1000)} s)`);
  if (values.write) {
    const content = ["## Cache and cost", setting, ...tables.map(toMarkdown)].join("\n\n");
    writeReplayRegion(new URL("./QUALITY.md", import.meta.url), content);
  }
  if (checks.some(({ isMet }) => !isMet)) process.exitCode = 1;
}

await main();
