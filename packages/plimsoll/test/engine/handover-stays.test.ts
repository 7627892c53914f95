/** The handover of a fresh start is of priority 1: later compactions, of any chain, leave it as it is. */

import { afterEach, describe, expect, test } from "vitest";
import { diceOf } from "../../demo/dice.ts";
import { type Config, openPlimsoll, type Plimsoll } from "../../src/index.ts";
import { prose } from "../harness/words.ts";

const open: Plimsoll[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

type Session = Awaited<ReturnType<Plimsoll["session"]>>;
type Breaking = NonNullable<NonNullable<Config["context_config"]>["breaking_strategy"]>;

const small = {
  contextWindow: 12_000,
  contextWindowBufferTokens: 500,
  maxOutputTokens: 1_000,
  tokenizer: "tiktoken:o200k_base",
};
const target = "anthropic/small";
const decisions = [1, 2, 3, 4];

async function sessionWith(texts: "plimsoll" | "documents", breaking: Breaking): Promise<Session> {
  const plimsoll = await openPlimsoll({
    store: "memory",
    config: {
      texts,
      providers: { anthropic: { models: { small } } },
      context_config: { breaking_strategy: breaking },
    },
  });
  open.push(plimsoll);
  return plimsoll.session();
}

const said = (text: string) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text }],
  stop_reason: "end_turn",
});

/** One turn: what happened to it, and what the model reads. */
async function turn(
  session: Session,
  content: string,
  answer: string,
): Promise<{ readonly kind: string; readonly sent: string }> {
  await session.append({ role: "user", content });
  const { outcome, request } = await session.prepare({ target, cacheMarks: false });
  await session.commit(said(answer));
  return { kind: outcome.kind, sent: JSON.stringify(request["messages"]) };
}

async function decide(session: Session): Promise<void> {
  for (const at of [0, ...decisions])
    await turn(
      session,
      `Please check area-${at}. ${prose(diceOf(at), 150)}`,
      `I decided to use module-${at}. ${prose(diceOf(70 + at), 100)}`,
    );
}

/** From its opening to the end of the text, as JSON spells it. */
function handoverIn(sent: string): string {
  return /(?:Handover\.|Resuming from overflow:)[^"]*/.exec(sent)?.[0] ?? "";
}

/** Talks until so many compactions have happened, and returns what the model read after each of them. */
async function afterCompactions(session: Session, wanted: number): Promise<readonly string[]> {
  const views: string[] = [];
  for (let at = 0; at < 120 && views.length < wanted; at++) {
    const { kind, sent } = await turn(
      session,
      prose(diceOf(200 + at), 500),
      prose(diceOf(400 + at), 200),
    );
    if (kind === "compacted") views.push(sent);
  }
  return views;
}

const chains: readonly (readonly [string, Breaking])[] = [
  ["the default chain", {}],
  ["summarize_old", { chain_order: ["summarize_old"] }],
  ["prioritize_recent", { chain_order: ["prioritize_recent"] }],
  [
    "discard_low_rel",
    { chain_order: ["discard_low_rel"], discard_low_rel: { relevance: "cosine" } },
  ],
  [
    "the chain of document A",
    {
      chain_order: [
        "summarize_old",
        "prioritize_recent",
        "content_type_chunking",
        "discard_low_rel",
        "hybrid",
      ],
      chain_stops: "at_limit",
    },
  ],
];

describe("later compactions leave the handover as it is", () => {
  test.each(chains)("%s", async (_, breaking) => {
    for (const texts of ["plimsoll", "documents"] as const) {
      const session = await sessionWith(texts, breaking);
      await decide(session);
      await session.reset({ task: "SHIP-77" });
      const { sent } = await turn(session, "Go on.", "Yes.");
      const handover = handoverIn(sent);
      expect(handover).toContain("Continue task SHIP-77.");
      for (const at of decisions.slice(0, 3)) expect(handover).toContain(`module-${at}`);
      const views = await afterCompactions(session, 3);
      expect(views.length).toBe(3);
      for (const view of views) expect(handoverIn(view)).toBe(handover);
    }
  });
});

test("the next fresh start writes a new handover from the last one", async () => {
  const session = await sessionWith("plimsoll", {});
  await decide(session);
  await session.reset({ task: "SHIP-77" });
  await afterCompactions(session, 1);
  await session.reset({ task: "SHIP-78" });
  const { sent } = await turn(session, "Go on.", "Yes.");
  expect(sent.split("Handover.")).toHaveLength(2);
  expect(handoverIn(sent)).toContain("Continue task SHIP-78.");
  expect(handoverIn(sent)).not.toContain("SHIP-77");
  expect(handoverIn(sent)).toContain("area-1");
});
