/** Settings that an agent, a model, a provider and the defaults may have. The first of these levels that has a setting decides. */

import type { WhoAsks } from "./limits.ts";
import type { Config } from "./schema.ts";

export type LevelSettings = NonNullable<Config["agents"]>[string];

/** How much a model thinks before it answers. */
export type Effort = NonNullable<LevelSettings["reasoning"]>;

export type Asker = Pick<WhoAsks, "agent" | "provider" | "model">;

export function settingOf<Key extends keyof LevelSettings>(
  config: Config,
  asker: Asker,
  key: Key,
): LevelSettings[Key] | undefined {
  for (const level of levelsOf(config, asker)) {
    if (level?.[key] !== undefined) return level[key];
  }
  return undefined;
}

/** Whether the setting is for exactly this model or this agent, and not for a group of models. */
export function isMeant(config: Config, asker: Asker, key: keyof LevelSettings): boolean {
  const [agent, model] = levelsOf(config, asker);
  return agent?.[key] !== undefined || model?.[key] !== undefined;
}

function levelsOf(
  { agents = {}, providers = {}, defaults }: Config,
  { agent, provider, model }: Asker,
): readonly (LevelSettings | undefined)[] {
  const ofProvider = own(providers, provider);
  const ofAgent = agent === undefined ? undefined : own(agents, agent);
  return [ofAgent, own(ofProvider?.models ?? {}, model), ofProvider, defaults];
}

/** Clients choose the names, so inherited properties must not be found. */
function own<T>(values: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** Results over this many bytes are offloaded on arrival if `result_offload` says so. The number is from the documents. */
const usualThreshold = 4096;

/** Results with more bytes than this are offloaded as soon as they arrive. Undefined if no setting says so. */
export function arrivalBytesOf(config: Config, asker: Asker): number | undefined {
  const { result_offload: when, result_offload_threshold: threshold } = config.agent ?? {};
  const ofResults = when === "on-arrival" ? (threshold ?? usualThreshold) : undefined;
  return settingOf(config, asker, "toolResponseMaxBytes") ?? ofResults;
}
