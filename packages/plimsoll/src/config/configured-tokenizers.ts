/** Lists the tokenizers that a configuration names, for providers and for single models. */

import type { Config } from "./schema.ts";

export function configuredTokenizers({ providers = {} }: Config): ReadonlySet<string> {
  const settings = Object.values(providers).flatMap((provider) => [
    provider,
    ...Object.values(provider.models ?? {}),
  ]);
  return new Set(settings.flatMap(({ tokenizer }) => (tokenizer === undefined ? [] : [tokenizer])));
}
