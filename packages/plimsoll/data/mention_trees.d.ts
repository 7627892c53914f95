/** Which mentions later turns use, learned by `npm run train`. Undefined if nothing was learned that is better than the weights by hand. */
export const trees:
  | {
      readonly features: readonly string[];
      readonly bias: number;
      readonly average: number;
      readonly trees: readonly { readonly nodes: readonly number[]; readonly leaves: readonly number[] }[];
    }
  | undefined;
