/** Boosted decision trees: turns the features of a thing into the probability of something. `npm run train` makes them. */

export interface BoostedTrees {
  /** The names of the features, in the order in which they are passed. */
  readonly features: readonly string[];
  /** The log-odds before the first tree. */
  readonly bias: number;
  /** The mean of all scores in the training data. */
  readonly average: number;
  readonly trees: readonly Tree[];
}

export interface Tree {
  /**
   * Four numbers for each node: the feature, the threshold, and the children for values up to the threshold and above it. A child
   * below 0 is the leaf with the index -1 - child. The first node is the root.
   */
  readonly nodes: readonly number[];
  readonly leaves: readonly number[];
}

/** The probability, from 0 to 1. */
export function scoreOf({ bias, trees }: BoostedTrees, features: ArrayLike<number>): number {
  let logOdds = bias;
  for (const tree of trees) logOdds += leafOf(tree, features);
  return 1 / (1 + Math.exp(-logOdds));
}

function leafOf({ nodes, leaves }: Tree, features: ArrayLike<number>): number {
  let node = 0;
  while (node >= 0) {
    const at = node * 4;
    const value = features[nodes[at] ?? 0] ?? 0;
    node = nodes[at + (value <= (nodes[at + 1] ?? 0) ? 2 : 3)] ?? -1;
  }
  return leaves[-1 - node] ?? 0;
}
