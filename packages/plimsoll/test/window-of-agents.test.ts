/** The window of real agents, by their recorded requests: everything that they send is in the picture. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Replay, replayAgent } from "./agent-shapes/replay.ts";

interface Picture {
  readonly tokens: number;
  readonly limit: number;
  readonly window: number;
  readonly windowLimit?: number;
  readonly units: readonly {
    readonly id: string;
    readonly tokens: number;
    readonly segments: readonly { readonly kind: string; readonly tokens: number }[];
  }[];
}

interface Measured {
  readonly components: Readonly<Record<string, number>>;
}

describe.each(["claude-code", "claude-code-opus", "codex", "goose"])("%s", (agent) => {
  let replay: Replay;
  let picture: Picture;
  const ofKind = (wanted: string): number =>
    picture.units
      .flatMap(({ segments }) => segments)
      .filter(({ kind }) => kind === wanted)
      .reduce((sum, { tokens }) => sum + tokens, 0);

  beforeAll(async () => {
    replay = await replayAgent({ agent, windowTokens: 1_000_000 });
    picture = await replay.service.api(`/api/sessions/${replay.session}/window`);
  });
  afterAll(() => replay.close());

  test("the system prompt and the tools are in the picture, as large as they were measured", async () => {
    const { components } = await replay.service.api<Measured>(
      `/api/sessions/${replay.session}/measurement`,
    );
    expect(components["system"]).toBeGreaterThan(0);
    const [unit] = picture.units.filter(({ id }) => id === "system");
    // Claude Code has a prompt of its own. The others send it as their first messages.
    if (agent.startsWith("claude-code"))
      expect(unit?.tokens).toBeGreaterThanOrEqual(0.9 * (components["system"] ?? 0));
    // System messages after the user's first are part of the conversation, so there may be more.
    expect(ofKind("system")).toBeGreaterThanOrEqual(0.9 * (components["system"] ?? 0));
    expect(ofKind("tools")).toBeGreaterThanOrEqual(0.9 * (components["tools"] ?? 0));
  });
});

describe("the limit and the window of Claude Code", () => {
  test.each([
    ["with the whole window", "window"],
    ["with a budget", 100_000],
    ["with the usual budget", 200_000],
  ])("%s, the picture says what the window alone would allow", async (_, budget) => {
    const replay = await replayAgent({
      agent: "claude-code",
      windowTokens: 1_000_000,
      ...(budget === 200_000 ? {} : { config: { agent: { context_budget: budget } } }),
    });
    try {
      const { limit, windowLimit, window } = await replay.service.api<Picture>(
        `/api/sessions/${replay.session}/window`,
      );
      expect(window).toBe(1_000_000);
      if (budget === "window") {
        expect(windowLimit).toBeUndefined();
        expect(limit).toBeGreaterThan(900_000);
      } else {
        expect(limit).toBe(budget);
        expect(windowLimit).toBeGreaterThan(900_000);
      }
    } finally {
      await replay.close();
    }
  });
});
