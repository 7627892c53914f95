/** Retry policies: how often something is tried again, and how long to wait in between. */

import { setTimeout as sleep } from "node:timers/promises";
import { type GrowingPause, pauseAfter } from "../bounds/growing-pause.ts";
import type { Config } from "./schema.ts";

export interface RetryPolicy extends GrowingPause {
  readonly attempts: number;
}

/** People take longer to answer than machines. */
const questionPolicy = { max_attempts: 4, backoff_base_seconds: 10 };

/**
 * The policy for a tool. Each value comes from the settings of the tool, from Plimsoll's own policy for questions, from the
 * settings for all tools, or else from the defaults.
 */
export function retryPolicyOf(config: Config, tool?: string): RetryPolicy {
  const { default: usual = {}, per_tool: perTool = {} } =
    config.context_config?.retry_policies ?? {};
  const own = {
    ...(tool === "askQuestion" ? questionPolicy : {}),
    ...new Map(Object.entries(perTool)).get(tool ?? ""),
  };
  return {
    attempts: own.max_attempts ?? usual.max_attempts ?? 3,
    baseMs: (own.backoff_base_seconds ?? usual.backoff_base_seconds ?? 5) * 1000,
    maxMs: (own.max_delay_seconds ?? usual.max_delay_seconds ?? 60) * 1000,
  };
}

/**
 * Whether the proxy asks an overloaded provider again. A configuration without a policy does not ask for it, and a client that
 * tries again by itself would multiply the attempts.
 */
export function upstreamRetriesOf({ context_config: own }: Config): "auto" | "always" | "never" {
  const { upstream, default: usual } = own?.retry_policies ?? {};
  return upstream ?? (usual === undefined ? "never" : "auto");
}

/** Contract: rejects with the last error once all attempts have failed. */
export async function retrying<T>(
  policy: RetryPolicy,
  work: (attempt: number) => Promise<T>,
  wait: (ms: number) => Promise<unknown> = sleep,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt >= policy.attempts) throw error;
      await wait(pauseAfter(policy, attempt - 1));
    }
  }
}
