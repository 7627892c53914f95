/** What compaction, recall and tool search shall reach, and how far they are. */

import type { Kind, MacroRow, Metric, Scores } from "./quality-scorer.ts";
import type { Table } from "./report.ts";

export interface Measured {
  readonly own: Scores;
  /** Of one set alone: its mean with an interval. */
  readonly ownBySet: ReadonlyMap<string, Scores>;
  readonly baselines: ReadonlyMap<string, Scores>;
  /** Reads the gold file: no product, but about what a budget can hold. */
  readonly oracle?: Scores;
}

interface Goal {
  readonly what: string;
  readonly kind: Kind;
  readonly metric: Metric;
  /** Undefined: the mean over sets. */
  readonly set?: string;
  /** The less, the better. */
  readonly isMost?: boolean;
  readonly steps: readonly {
    readonly budget: number;
    readonly goal: number;
    readonly aim?: number;
    /** As the scorer's README has it, for runs that do not ask the oracle. */
    readonly oracle?: number;
  }[];
}

const questionTokens = 1_024;

/** A metric of traces: goal and aim at 10, 25 and 50 % of the history. */
function ofTraces(
  what: string,
  metric: Metric,
  wanted: readonly (readonly [goal: number, aim: number, oracle?: number])[],
  isMost = false,
): Goal {
  const budgets = [10, 25, 50];
  const steps = wanted.map(([goal, aim, oracle], index) => ({
    budget: budgets[index] ?? 0,
    goal,
    aim,
    ...(oracle === undefined ? {} : { oracle }),
  }));
  return { what, kind: "future", metric, steps, ...(isMost ? { isMost } : {}) };
}

const goals: readonly Goal[] = [
  ofTraces("FRR-place", "place", [
    [61, 66, 93.2],
    [87, 90, 99],
    [97.5, 98.5, 99.4],
  ]),
  ofTraces("FRR-far-place", "farPlace", [
    [42, 50, 91.4],
    [76, 83, 98.9],
    [95.5, 97.5, 99.3],
  ]),
  ofTraces(
    "requests that look open",
    "open",
    [
      [25, 10],
      [12, 5],
      [4, 1],
    ],
    true,
  ),
  ofTraces(
    "lost effects",
    "effects",
    [
      [15, 5],
      [6, 2],
      [2, 0],
    ],
    true,
  ),
  ofTraces(
    "JSON cut silently",
    "silent",
    [
      [1, 0],
      [1, 0],
      [1, 0],
    ],
    true,
  ),
  ofTraces(
    "JSON broken",
    "broken",
    [
      [1, 0],
      [1, 0],
      [1, 0],
    ],
    true,
  ),
  ofTraces(
    "husks",
    "husks",
    [
      [2, 0.5],
      [2, 0.5],
      [2, 0.5],
    ],
    true,
  ),
  ofTraces(
    "cut words",
    "cutWords",
    [
      [2, 1],
      [2, 1],
      [2, 1],
    ],
    true,
  ),
  ofTraces("FRR-reach", "reach", [
    [91, 93, 96.7],
    [95, 97, 99.3],
    [99, 99.5, 99.6],
  ]),
  {
    what: "LoCoMo, question unknown: ER mean",
    kind: "evidence",
    metric: "erMean",
    set: "qa_locomo_NC",
    steps: [
      { budget: 10, goal: 18.1 },
      { budget: 25, goal: 42.3 },
      { budget: 50, goal: 70.7 },
    ],
  },
  {
    what: "QMSum, question unknown: answer words",
    kind: "evidence",
    metric: "answerTokens",
    set: "qa_qmsum",
    steps: [
      { budget: 10, goal: 58.9 },
      { budget: 25, goal: 84.3 },
      { budget: 50, goal: 97 },
    ],
  },
  {
    what: "LoCoMo, recall: ER mean",
    kind: "recall",
    metric: "erMean",
    set: "qa_locomo_NC",
    steps: [{ budget: questionTokens, goal: 81.2, aim: 82 }],
  },
  {
    what: "QMSum, recall: answer words",
    kind: "recall",
    metric: "answerTokens",
    set: "qa_qmsum",
    steps: [{ budget: questionTokens, goal: 67.4, aim: 70 }],
  },
  {
    what: "QMSum, recall: ER mean",
    kind: "recall",
    metric: "erMean",
    set: "qa_qmsum",
    steps: [{ budget: questionTokens, goal: 20 }],
  },
];

/** Each set alone: its mean with an interval. */
export interface ToolScores {
  readonly own: ReadonlyMap<string, Scores>;
  readonly bm25: ReadonlyMap<string, Scores>;
}

/** Where BM25 is good enough already, no less than it is asked for. */
const toolGoals: readonly {
  readonly set: string;
  readonly metric: "r5" | "r10";
  readonly goal: number;
  readonly aim?: number;
}[] = [
  { set: "livemcp:agent_query", metric: "r5", goal: 48 },
  { set: "livemcp:agent_query", metric: "r10", goal: 64, aim: 70 },
  { set: "livemcp:task", metric: "r5", goal: 44.5 },
  { set: "livemcp:task", metric: "r10", goal: 52, aim: 60 },
  { set: "sealtools", metric: "r10", goal: 94.5 },
  { set: "toollinkos", metric: "r10", goal: 96.5 },
];

export function percent(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? "–" : value.toFixed(1);
}

export function goalsTable(measured: Measured, isWhole: boolean): Table {
  const isAsked = measured.oracle !== undefined;
  const rows = goals.flatMap((goal) =>
    goal.steps.map(({ budget, goal: wanted, aim, oracle }) => {
      const row = rowOf(measured, goal, budget);
      const value = row?.[goal.metric];
      const quoted = isWhole ? oracle : undefined;
      const ceiling = isAsked ? meanOf(measured.oracle, goal, budget) : quoted;
      return [
        goal.what,
        budget === questionTokens ? "1,024 tokens" : `${budget} %`,
        percent(value),
        interval(row, goal.metric),
        `${goal.isMost === true ? "at most " : ""}${wanted}${aim === undefined ? "" : ` (aim ${aim})`}`,
        distance(value, wanted),
        bestBaseline(measured, goal, budget),
        percent(ceiling),
      ];
    }),
  );
  const { violationTotal, cases } = measured.own;
  const judged = Object.values(cases).reduce((sum, count) => sum + count, 0);
  const violations = ["Hard violations", `${judged.toLocaleString("en-US")} cases`];
  return {
    title: "Goals: %, mean over sets unless a set is named",
    columns: [
      "",
      "budget",
      "measured",
      "95 % interval",
      "goal",
      "distance",
      "best simple baseline",
      isAsked ? "greedy oracle" : "greedy oracle (from the scorer's README)",
    ],
    rows: [...rows, [...violations, String(violationTotal), "", "0", "", "", ""]],
  };
}

function rowOf(measured: Measured, { kind, set }: Goal, budget: number): MacroRow | undefined {
  const scores = set === undefined ? measured.own : measured.ownBySet.get(set);
  return scores?.macro.find((row) => row.kind === kind && row.budget === budget);
}

function meanOf(
  scores: Scores | undefined,
  { kind, set, metric }: Goal,
  budget: number,
): number | undefined {
  const rows = set === undefined ? scores?.macro : scores?.rows.filter((row) => row.set === set);
  return rows?.find((row) => row.kind === kind && row.budget === budget)?.[metric];
}

/** Empty where there is none. */
export function interval(
  row: MacroRow | undefined,
  metric: Metric,
  form: "alone" | "with the value" = "alone",
): string {
  const text = row?.interval[metric]?.map(percent).join("–") ?? "";
  return form === "alone" ? text : `${percent(row?.[metric])} (${text})`;
}

export function toolGoalsTable({ own, bm25 }: ToolScores): Table {
  const names = { r5: "R@5", r10: "R@10" } as const;
  return {
    title: "Goals; %",
    columns: ["set", "", "measured", "95 % interval", "goal", "distance", "BM25"],
    rows: toolGoals.map(({ set, metric, goal, aim }) => {
      const [mean] = own.get(set)?.macro ?? [];
      return [
        set,
        names[metric],
        percent(mean?.[metric]),
        interval(mean, metric),
        `${goal}${aim === undefined ? "" : ` (aim ${aim})`}`,
        distance(mean?.[metric], goal),
        percent(bm25.get(set)?.macro[0]?.[metric]),
      ];
    }),
  };
}

function distance(value: number | undefined, wanted: number): string {
  if (value === undefined) return "–";
  const difference = value - wanted;
  return `${difference < 0 ? "−" : "+"}${Math.abs(difference).toFixed(1)}`;
}

/** Search is the same in all of them. */
function bestBaseline({ baselines }: Measured, goal: Goal, budget: number): string {
  const values = [...baselines].map(
    ([name, scores]) => [name, meanOf(scores, goal, budget) ?? Number.NaN] as const,
  );
  const known = values.filter(([, value]) => !Number.isNaN(value));
  const [best] = known.toSorted(([, one], [, other]) =>
    goal.isMost === true ? one - other : other - one,
  );
  if (best === undefined) return "–";
  const clip = values.find(([name]) => name === "clip");
  const name = goal.kind === "recall" ? "BM25" : best[0];
  const beside = name === "ledger" && clip !== undefined ? `; clip ${percent(clip[1])}` : "";
  return `${percent(best[1])} (${name}${beside})`;
}
