/** What Plimsoll does not know stays in every request, byte for byte, whatever is taken out around it. */

import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { type Request, requestsOf, WIRES } from "../../test/generate/conversations.ts";
import {
  openWith,
  type Passed,
  passAll,
  violationsOf,
  withMessages,
} from "../../test/generate/rehearsal.ts";
import { type Script, scripts } from "../../test/generate/script.ts";
import { write } from "../../test/generate/texts.ts";
import { tries } from "../../test/harness/effort.ts";
import { isObject, type Json, type JsonObject, type Wire } from "../../test/harness/json.ts";
import { truncate, truncateKeeping } from "../compact/strategies/truncate.ts";
import type { Config } from "../config/schema.ts";
import type { Engine, EngineOptions } from "../engine.ts";
import type { Strategy } from "../message/strategy.ts";
import { sha256 } from "../store/body.ts";

const LIMIT = 2500;
const seed = 20261115;
const script = scripts({ roundsMin: 10, roundsMax: 14 }).map(
  // An answer must come back as it was given, or the one with something unknown in it would be another one.
  (one): Script => ({ ...one, hasMarks: false, isReworded: false }),
);

const greedy: Strategy = {
  name: "greedy",
  propose: ({ messages }) =>
    messages.slice(1, -1).map((_, index) => ({
      kind: "remove" as const,
      first: index + 1,
      last: index + 1,
      reason: "It wants everything.",
      textFor: ({ handle }: { readonly handle: string }) => handle,
    })),
};

type Opening = Omit<EngineOptions, "store">;
type Order = NonNullable<NonNullable<Config["context_config"]>["breaking_strategy"]>["chain_order"];
const chain = (...order: NonNullable<Order>): Opening => ({
  config: { context_config: { breaking_strategy: { chain_order: order } } },
});

/** Each rung of the ladder, alone. */
const rungs: Readonly<Record<string, Opening>> = {
  "the usual chain": {},
  "older copies and a cut by half": {
    config: {
      context_config: {
        breaking_strategy: {
          chain_order: ["truncate"],
          file_reads: "last",
          truncate: { keep: "half" },
        },
      },
    },
  },
  summarize_old: chain("summarize_old"),
  prioritize_recent: chain("prioritize_recent"),
  content_type_chunking: chain("content_type_chunking"),
  discard_low_rel: chain("discard_low_rel"),
  hybrid: chain("hybrid"),
  truncation: { parts: { strategies: [truncate] } },
  "truncation by units": { parts: { strategies: [truncateKeeping("quarter")] } },
  "a fresh start": { parts: { strategies: [] } },
  "a truncation in recovery": {
    parts: { strategies: [] },
    config: { context_config: { recovery_mode: "truncate" } },
  },
  "a strategy of somebody else": { parts: { strategies: [greedy, truncate] } },
};

/** A conversation, and what in it nobody knows. */
interface Strange {
  readonly requests: readonly Request[];
  /** For each request, the texts of what stands in it that Plimsoll does not know. */
  readonly unknown: readonly (readonly string[])[];
}

function strangeOf(wire: Wire, generated: Script): Strange {
  const unknown: string[][] = [];
  const requests = requestsOf(wire, generated).map((request): Request => {
    const found: JsonObject[] = [];
    const grown = (message: JsonObject): readonly JsonObject[] => {
      const { messages, added } = withUnknown(wire, message);
      found.push(...added);
      return messages;
    };
    const messages = request.messages
      .flatMap((text) => grown(JSON.parse(text) as JsonObject))
      .map((message) => write(message, generated.style));
    unknown.push(found.map((one) => write(one, generated.style)));
    const answer = request.answer.flatMap((message) => withUnknown(wire, message).messages);
    const body = withMessages(wire, new TextDecoder().decode(request.body), messages);
    return { ...request, messages, answer, body: new TextEncoder().encode(body) };
  });
  return { requests, unknown };
}

interface Grown {
  readonly messages: readonly JsonObject[];
  readonly added: readonly JsonObject[];
}

/** The same for the same message, whichever request it stands in. */
function withUnknown(wire: Wire, message: JsonObject): Grown {
  const hash = sha256(JSON.stringify(message));
  const dice = Number.parseInt(hash.slice(0, 8), 16) % 6;
  const part: JsonObject = { type: "future_part", serial: 0, note: hash.slice(0, 12) };
  if (dice === 0 && message["role"] === "user") {
    const item = itemFor(wire, hash);
    if (item !== undefined) return { messages: [item, message], added: [item] };
  }
  if (dice > 1) return { messages: [message], added: [] };
  const unknown: JsonObject = wire === "gemini" ? { futurePart: part } : part;
  for (const field of ["content", "output", "parts"]) {
    const list = message[field];
    if (!Array.isArray(list) || list.length === 0) continue;
    return { messages: [{ ...message, [field]: grownList(list, unknown) }], added: [unknown] };
  }
  return { messages: [message], added: [] };
}

/** Inside a result where there is one with parts, else before the last part. */
function grownList(list: readonly Json[], part: JsonObject): Json {
  const at = list.findIndex((one) => isObject(one) && Array.isArray(one["content"]));
  const result = list[at];
  if (isObject(result)) {
    const content = [...(result["content"] as readonly Json[]), part];
    return list.with(at, { ...result, content });
  }
  return [...list.slice(0, -1), part, ...list.slice(-1)];
}

function itemFor(wire: Wire, hash: string): JsonObject | undefined {
  const note = hash.slice(0, 12);
  switch (wire) {
    case "anthropic":
    case "gemini":
      return undefined;
    case "openai-chat":
      return { role: "future_role", content: `Somebody else says ${note}.`, serial: 0 };
    case "openai-responses": {
      const content = [
        { type: "input_text", text: `Task ${note}: ${"load the ship. ".repeat(9)}` },
      ];
      return Number.parseInt(note, 16) % 2 === 0
        ? { type: "agent_message", author: "/root", recipient: `/root/${note}`, content }
        : { type: "future_item", serial: 0, note };
    }
  }
}

const open: Engine[] = [];
afterEach(async () => {
  for (const plimsoll of open.splice(0)) await plimsoll.close();
});

function lostIn({ sentText }: Passed, unknown: readonly string[]): readonly string[] {
  return unknown.filter((text) => !sentText.includes(text));
}

const cutters = new Set(["compacted", "recovered"]);

describe.each(WIRES)("%s", (wire) => {
  test.each(Object.entries(rungs))(
    "with %s, everything of an unknown type is still there, and the request is valid",
    async (_name, opening) => {
      let cuts = 0;
      await fc.assert(
        fc.asyncProperty(script, async (generated) => {
          const { requests, unknown } = strangeOf(wire, generated);
          const plimsoll = await openWith(LIMIT, opening);
          open.push(plimsoll);
          const passed = await passAll(plimsoll, wire, requests);
          for (const [index, one] of passed.entries()) {
            const wanted = unknown[index] ?? [];
            expect(lostIn(one, wanted)).toEqual([]);
            expect(violationsOf(one)).toEqual([]);
            if (cutters.has(one.turn.fitted.outcome) && wanted.length > 0) cuts++;
          }
        }),
        tries({ runs: 1, soak: 6, seed }),
      );
      expect(cuts).toBeGreaterThan(0);
    },
  );

  test.each(["none", "lastTwo", "half", "quarter"] as const)(
    "a truncation by hand that keeps %s goes around what is unknown",
    async (keep) => {
      await fc.assert(
        fc.asyncProperty(script, async (generated) => {
          const { requests, unknown } = strangeOf(wire, generated);
          const plimsoll = await openWith(LIMIT * 40);
          open.push(plimsoll);
          const passed = await passAll(plimsoll, wire, requests.slice(0, -1));
          const session = passed[0]?.turn.session ?? "";
          await plimsoll.steering.compact(session, { keep }).catch(nothingToDo);
          const [last] = await passAll(plimsoll, wire, requests.slice(-1));
          if (last === undefined) throw new Error("Nothing was sent.");
          expect(lostIn(last, unknown.at(-1) ?? [])).toEqual([]);
          expect(violationsOf(last)).toEqual([]);
        }),
        tries({ runs: 1, soak: 6, seed }),
      );
    },
  );
});

function nothingToDo(error: unknown): void {
  if (
    !(error instanceof Error) ||
    !/nothing to take out|Nothing was taken out/i.test(error.message)
  )
    throw error;
}
