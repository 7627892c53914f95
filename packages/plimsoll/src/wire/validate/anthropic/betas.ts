/** Anthropic Messages: features that need a beta header, and beta blocks that only the server may write. */
import type { JsonObject } from "../../../message/json.ts";
import { cacheMarks, canonical, isGiven } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";
import { betaList, betasOf, counterparts, type Turn, turnsOf } from "./turns.ts";

/**
 * A22: the beta that each type of block needs. Betas are named without their date, because a later version of a beta also allows
 * the block.
 */
const betaOfBlock: Readonly<Record<string, string>> = {
  compaction: "compact-",
  fallback: "server-side-fallback-",
  tool_addition: "mid-conversation-tool-changes-",
  tool_removal: "mid-conversation-tool-changes-",
};

/** A24: the betas that allow each body field. One of them is enough. */
const betasOfField: Readonly<Record<string, readonly string[]>> = {
  context_management: ["context-management-", "compact-"],
  mcp_servers: ["mcp-client-"],
  fallbacks: ["server-side-fallback-"],
};

/**
 * A22: compaction, fallback, tool_addition and tool_removal blocks stay unchanged, and the request has the beta header that they
 * need.
 */
function* betaBlocksFit(input: RuleInput): Generator<Finding> {
  yield* blocksWithoutBeta(input);
  if (input.original === undefined) return;
  const before = turnsOf(input.original);
  const written = new Set(before.flatMap(betaBlocks));
  const kept = new Set<string>();
  for (const turn of turnsOf(input.body))
    for (const block of betaBlocks(turn)) {
      kept.add(block);
      if (!written.has(block))
        yield {
          rule: "A22",
          message: "a block written by the server was changed",
          place: turn.place,
        };
    }
  const counterpartOf = counterparts(input.original, input.body);
  for (const turn of before)
    if (betaBlocks(turn).some((block) => !kept.has(block)) && counterpartOf(turn) !== undefined)
      yield { rule: "A22", message: "a block written by the server is missing", place: turn.place };
}

function* blocksWithoutBeta(input: RuleInput): Generator<Finding> {
  const betas = betasOf(input);
  if (betas === undefined) return;
  for (const turn of turnsOf(input.body))
    for (const block of turn.blocks) {
      const beta = betaOfBlock[String(block["type"])];
      if (beta !== undefined && !betas.some((name) => name.startsWith(beta)))
        yield { rule: "A22", message: `${block["type"]} needs a beta header`, place: turn.place };
    }
}

function betaBlocks(turn: Turn): readonly string[] {
  const isOfBeta = (block: JsonObject) => betaOfBlock[String(block["type"])] !== undefined;
  return turn.blocks.filter(isOfBeta).map((block) => canonical(block, cacheMarks));
}

/** A24: a body field that needs a beta comes with the beta's header. Unknown betas are kept. */
function* fieldsAndBetasMatch(input: RuleInput): Generator<Finding> {
  const betas = betasOf(input);
  if (betas === undefined) return;
  for (const [field, names] of Object.entries(betasOfField)) {
    const isAllowed = names.some((name) => betas.some((beta) => beta.startsWith(name)));
    if (isGiven(input.body[field]) && !isAllowed)
      yield { rule: "A24", message: `${field} needs a beta header`, place: `/${field}` };
  }
  const paired = Object.values(betasOfField).flat();
  for (const beta of betaList(input.originalHeaders ?? {}))
    if (!betas.includes(beta) && !paired.some((name) => beta.startsWith(name)))
      yield { rule: "A24", message: `beta ${beta} was lost` };
}

export const anthropicBetaRules: Rules = { A22: betaBlocksFit, A24: fieldsAndBetasMatch };
