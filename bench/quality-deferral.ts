/** What a request carries of a large catalogue of real tools, and what it carries after a search: on every wire. */

import { readFileSync } from "node:fs";
import { openEngine } from "../packages/plimsoll/src/engine.ts";
import { isObject, type JsonObject } from "../packages/plimsoll/src/message/json.ts";
import type { ToolDefinition } from "../packages/plimsoll/src/message/tool.ts";
import type { WireName } from "../packages/plimsoll/src/wire/format/wire.ts";
import { wires } from "../packages/plimsoll/src/wire/wires.ts";
import { figure, type Table } from "./report.ts";

const windowTokens = 200_000;
const set = "livemcp:agent_query";
const models: Readonly<Record<WireName, string>> = {
  anthropic: "claude-sonnet-4-5",
  "openai-chat": "gpt-4.1",
  "openai-responses": "gpt-4.1",
  gemini: "gemini-2.5-pro",
};

/** The catalogue of the cases, with names as MCP clients give them. */
function catalogueIn(cases: string): readonly ToolDefinition[] {
  const lines = readFileSync(cases, "utf8").split("\n");
  const line = lines.find(
    (one) => one.startsWith('{"kind":"catalogue"') && one.includes("livemcp"),
  );
  const { tools = [] } = JSON.parse(line ?? "{}") as { readonly tools?: readonly JsonObject[] };
  return tools.map(({ name, server, description, parameters }) => ({
    name: `mcp__${plain(server)}__${plain(name)}`.slice(0, 64),
    ...(typeof description === "string" ? { description } : {}),
    parameters: isObject(parameters) ? parameters : {},
  }));
}

function plain(name: unknown): string {
  return String(name).replaceAll(/[^A-Za-z0-9_-]+/g, "_");
}

export interface Carried {
  readonly wire: WireName;
  readonly tools: number;
  readonly allTokens: number;
  readonly told: number;
  readonly toldTokens: number;
}

export async function measureDeferral(cases: string): Promise<readonly Carried[]> {
  const tools = catalogueIn(cases);
  const carried: Carried[] = [];
  for (const name of Object.keys(models) as WireName[]) carried.push(await carriedOn(name, tools));
  return carried;
}

async function carriedOn(name: WireName, tools: readonly ToolDefinition[]): Promise<Carried> {
  const wire = wires[name];
  const model = models[name];
  const provider = name === "anthropic" ? "anthropic" : "openai";
  const settings = {
    contextWindow: windowTokens,
    models: { [model]: { contextWindow: windowTokens } },
  };
  const measured = async (threshold: number): Promise<{ tokens: number; told: number }> => {
    const engine = await openEngine({
      store: "memory",
      config: {
        agent: { tool_deferral_threshold: threshold },
        providers: { [provider]: { ...settings, native_tool_deferral: false } },
      },
    });
    const body = wire.body.compose({
      model,
      messages: wire.messages.encode([
        { role: "user", parts: [{ kind: "text", text: "Good morning." }] },
      ]),
      tools,
      maxOutputTokens: 8_000,
    });
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    const hints = { clientKey: "one", isCompacted: false };
    const turn = await engine.receive({ tenant: "t", provider, wire, body: bytes, hints });
    const sent = JSON.parse(new TextDecoder().decode(turn.body ?? bytes)) as JsonObject;
    const { tools: tokens } = turn.fitted.measurement;
    await turn.end({ status: "aborted" });
    await engine.close();
    return { tokens, told: Array.isArray(sent["tools"]) ? sent["tools"].length : 0 };
  };
  const [all, usual] = [await measured(1), await measured(0.1)];
  return {
    wire: name,
    tools: all.told,
    allTokens: all.tokens,
    told: usual.told,
    toldTokens: usual.tokens,
  };
}

export function deferralTable(carried: readonly Carried[]): Table {
  return {
    title: `What a request carries of the catalogue of ${set}, at a window of ${windowTokens.toLocaleString("en-US")} tokens; as we count`,
    columns: ["wire", "tools", "tokens", "told, ours among them", "tokens", "% of the window"],
    rows: carried.map(({ wire, tools, allTokens, told, toldTokens }) => [
      wire,
      String(tools),
      allTokens.toLocaleString("en-US"),
      String(told),
      toldTokens.toLocaleString("en-US"),
      figure((100 * toldTokens) / windowTokens),
    ]),
  };
}

export function isUnderATenth(carried: readonly Carried[]): boolean {
  return carried.length > 0 && carried.every(({ toldTokens }) => toldTokens < windowTokens / 10);
}
