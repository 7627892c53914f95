// Gradient boosting for the logistic loss, with trees that grow at the leaf that gains most. Deterministic: no random numbers, and
// ties go to the first feature and the lowest threshold. The method is that of Friedman (2001) with the histograms of LightGBM.

const bins = 64;
/** Keeps the values of small leaves near 0. */
const regularisation = 1;

/**
 * `examples` are `{ features, isUsed, weight }`. Returns the log-odds before the first tree, the mean score of all examples, and
 * the trees in the form of compact/excerpt/boosted-trees.ts.
 */
export function growTrees(examples, { trees: count, leaves, rate, smallestLeaf }) {
  const scale = examples.length / examples.reduce((sum, { weight }) => sum + weight, 0);
  const weights = Float64Array.from(examples, ({ weight }) => weight * scale);
  const wanted = Float64Array.from(examples, ({ isUsed }) => Number(isUsed));
  const width = examples[0].features.length;
  const thresholds = Array.from({ length: width }, (_, feature) => thresholdsOf(examples, feature));
  const binned = thresholds.map((own, feature) =>
    Uint8Array.from(examples, ({ features }) => binOf(own, features[feature])),
  );
  const share = wanted.reduce((sum, value, at) => sum + value * weights[at], 0) / examples.length;
  const bias = Math.log(share / (1 - share));
  const odds = new Float64Array(examples.length).fill(bias);
  const trees = [];
  for (let tree = 0; tree < count; tree++) {
    const slopes = new Float64Array(examples.length);
    const curves = new Float64Array(examples.length);
    for (let at = 0; at < examples.length; at++) {
      const score = 1 / (1 + Math.exp(-odds[at]));
      slopes[at] = (wanted[at] - score) * weights[at];
      curves[at] = score * (1 - score) * weights[at];
    }
    trees.push(growTree({ binned, thresholds, slopes, curves, odds, leaves, rate, smallestLeaf }));
  }
  let average = 0;
  for (let at = 0; at < examples.length; at++) average += weights[at] / (1 + Math.exp(-odds[at]));
  return { bias, average: average / examples.length, trees };
}

/** Up to 63 values of a feature that divide the examples into bins of about the same size. */
function thresholdsOf(examples, feature) {
  const sorted = Float64Array.from(examples, ({ features }) => features[feature]).sort();
  const distinct = new Set();
  for (let bin = 1; bin < bins; bin++)
    distinct.add(sorted[Math.floor((bin * sorted.length) / bins)]);
  const last = sorted.at(-1);
  return [...distinct].filter((value) => value < last);
}

/** Number of the first threshold that is not below the value. */
function binOf(thresholds, value) {
  let [low, high] = [0, thresholds.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (thresholds[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function growTree(task) {
  const { odds, leaves, rate, slopes, curves } = task;
  const all = Uint32Array.from(odds.keys());
  const open = [{ rows: all, split: bestSplit(task, all), parent: -1, side: 0 }];
  const nodes = [];
  while (open.length < leaves) {
    const best = open.reduce((one, other) =>
      (other.split?.gain ?? 0) > (one.split?.gain ?? 0) ? other : one,
    );
    if (best.split === undefined) break;
    open.splice(open.indexOf(best), 1);
    const { feature, bin } = best.split;
    const node = nodes.length / 4;
    nodes.push(feature, task.thresholds[feature][bin], 0, 0);
    if (best.parent >= 0) nodes[best.parent * 4 + 2 + best.side] = node;
    const column = task.binned[feature];
    const [left, right] = [
      best.rows.filter((row) => column[row] <= bin),
      best.rows.filter((row) => column[row] > bin),
    ];
    for (const [side, rows] of [left, right].entries())
      open.push({ rows, split: bestSplit(task, rows), parent: node, side });
  }
  const values = open.map(({ rows, parent, side }, leaf) => {
    let [slope, curve] = [0, 0];
    for (const row of rows) {
      slope += slopes[row];
      curve += curves[row];
    }
    const value = (rate * slope) / (curve + regularisation);
    for (const row of rows) odds[row] += value;
    if (parent >= 0) nodes[parent * 4 + 2 + side] = -1 - leaf;
    return value;
  });
  return { nodes, leaves: values };
}

/** The split of these rows that gains most. Undefined if none gains anything. */
function bestSplit(task, rows) {
  if (rows.length < 2 * task.smallestLeaf) return undefined;
  return task.binned
    .map((_, feature) => splitBy(task, rows, feature))
    .reduce(
      (best, other) => ((other?.gain ?? 0) > (best?.gain ?? smallestGain) ? other : best),
      undefined,
    );
}

const smallestGain = 1e-9;

/** The best threshold of one feature. */
function splitBy({ binned, thresholds, slopes, curves, smallestLeaf }, rows, feature) {
  const column = binned[feature];
  const sums = Array.from({ length: 3 }, () => new Float64Array(bins + 1));
  for (const row of rows) {
    const bin = column[row];
    sums[0][bin] += slopes[row];
    sums[1][bin] += curves[row];
    sums[2][bin] += 1;
  }
  const whole = sums.map((sum) => sum.reduce((one, other) => one + other, 0));
  const left = [0, 0, 0];
  let best;
  for (let bin = 0; bin < thresholds[feature].length; bin++) {
    for (const at of left.keys()) left[at] += sums[at][bin];
    const right = whole.map((value, at) => value - left[at]);
    if (Math.min(left[2], right[2]) < smallestLeaf) continue;
    const gain = worthOf(left) + worthOf(right) - worthOf(whole);
    if (gain > (best?.gain ?? smallestGain)) best = { feature, bin, gain };
  }
  return best;
}

function worthOf([slope, curve]) {
  return (slope * slope) / (curve + regularisation);
}
