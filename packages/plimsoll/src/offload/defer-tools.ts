/**
 * Chooses the tools that stay if the tool list is too large. MCP tools are deferred first, then skills. Built-in tools are never
 * deferred.
 */

import { deferredToolsNote } from "../text/for-models.ts";
import { matchesWildcard } from "../text/wildcard.ts";

export type ToolClass = "builtin" | "skill" | "mcp";

export interface WeighedTool {
  /** Undefined if the tool has no name. Such a tool is never deferred. */
  readonly name?: string;
  readonly class: ToolClass;
  readonly tokens: number;
}

/** The tools that could be deferred but stay in the tool list. */
export interface SelectedTools {
  /** Names of the tools that stayed from the start, in the client's order. */
  readonly kept: readonly string[];
  /** Tools that were loaded after a search. They come after all other tools, in the order in which they were loaded. */
  readonly loaded: readonly string[];
}

/** Room for the tools that may be deferred: the number of tokens and tools that are left after all other tools. */
export interface ToolRoom {
  readonly tokens: number;
  readonly count: number;
}

/** Returns a number that is higher the later the tool was last called, or undefined if it was never called. */
export type LastUse = (name: string) => number | undefined;

/** The classes in the order in which they get room. Skills come before MCP tools. */
const inOrder: readonly ToolClass[] = ["skill", "mcp"];

export function mayBeDeferred({ name, class: kind }: WeighedTool): boolean {
  return name !== undefined && kind !== "builtin";
}

/** Names of tools that are listed even if there is no room for them. */
export type StayingTools = (name: string) => boolean;

const noneStays: StayingTools = () => false;

/**
 * Selects as many tools as there is room for. The tools that stay come first. In each class, the most recently called tools come
 * next, then the others in the client's order.
 */
export function selectTools(
  tools: readonly WeighedTool[],
  room: ToolRoom,
  lastUse: LastUse,
  stays: StayingTools = noneStays,
): SelectedTools {
  let { tokens, count } = room;
  const kept = new Set<string>();
  for (const kind of inOrder) {
    for (const tool of namedOf(tools, kind)) {
      if (!stays(tool.name)) continue;
      kept.add(tool.name);
      tokens -= tool.tokens;
      count -= tool.count;
    }
  }
  for (const kind of inOrder) {
    for (const tool of byUse(namedOf(tools, kind), lastUse)) {
      if (kept.has(tool.name) || tool.tokens > tokens || tool.count > count) continue;
      kept.add(tool.name);
      tokens -= tool.tokens;
      count -= tool.count;
    }
  }
  return { kept: inClientsOrder(tools, kept), loaded: [] };
}

/**
 * Adds the tools in `names` to the list. If the list gets too large, the tools that were unused for the longest time are
 * deferred, except those that stay.
 */
export function withLoaded(
  tools: readonly WeighedTool[],
  selected: SelectedTools,
  { names, stays = noneStays, room, lastUse }: LoadedTools,
): SelectedTools {
  const selectedNames = new Set([...selected.kept, ...selected.loaded]);
  const added = names.filter((name) => !selectedNames.has(name));
  const grown: SelectedTools = { ...selected, loaded: [...selected.loaded, ...added] };
  const all = new Set([...selectedNames, ...added]);
  const isListed = (tool: WeighedTool): boolean => mayBeDeferred(tool) && all.has(tool.name ?? "");
  const candidates = inOrder
    .toReversed()
    .flatMap((kind) => byUse(namedOf(tools, kind), lastUse).toReversed())
    .filter(({ name }) => all.has(name) && !names.includes(name) && !stays(name));
  const gone = firstToGo(candidates, taken(room, tools.filter(isListed)));
  const isLeft = (name: string): boolean => !gone.has(name);
  return { kept: grown.kept.filter(isLeft), loaded: grown.loaded.filter(isLeft) };
}

export interface LoadedTools {
  readonly names: readonly string[];
  readonly stays?: StayingTools;
  readonly room: ToolRoom;
  readonly lastUse: LastUse;
}

/** The names of the tools to defer. They are taken from the start of `candidates` until the other tools fit into the room. */
function firstToGo(candidates: readonly NamedTools[], room: ToolRoom): ReadonlySet<string> {
  const gone = new Set<string>();
  let left = room;
  for (const { name, tokens, count } of candidates) {
    if (left.tokens >= 0 && left.count >= 0) break;
    gone.add(name);
    left = { tokens: left.tokens + tokens, count: left.count + count };
  }
  return gone;
}

function taken(room: ToolRoom, tools: readonly WeighedTool[]): ToolRoom {
  const tokens = tools.reduce((left, tool) => left - tool.tokens, room.tokens);
  return { tokens, count: room.count - tools.length };
}

/** All tools with one name. They are listed together or not at all, because a search can only return the name. */
interface NamedTools {
  readonly name: string;
  readonly tokens: number;
  readonly count: number;
}

function namedOf(tools: readonly WeighedTool[], kind: ToolClass): readonly NamedTools[] {
  const byName = new Map<string, NamedTools>();
  for (const { name, class: own, tokens } of tools) {
    if (name === undefined || own !== kind) continue;
    const known = byName.get(name) ?? { name, tokens: 0, count: 0 };
    byName.set(name, { name, tokens: known.tokens + tokens, count: known.count + 1 });
  }
  return [...byName.values()];
}

/** Sorts tools: first the most recently called tools, then the tools that were never called, in the given order. */
function byUse(tools: readonly NamedTools[], lastUse: LastUse): readonly NamedTools[] {
  const useOf = ({ name }: NamedTools): number => lastUse(name) ?? -1;
  return tools.toSorted((one, other) => useOf(other) - useOf(one));
}

function inClientsOrder(
  tools: readonly WeighedTool[],
  names: ReadonlySet<string>,
): readonly string[] {
  const listed = tools.flatMap(({ name }) => (name !== undefined && names.has(name) ? name : []));
  return [...new Set(listed)];
}

/** Compares the name with patterns such as `mcp__*`, where a star matches anything. */
export function classOf(name: string, patterns: ToolPatterns): ToolClass {
  if (patterns.mcp.some((pattern) => matchesWildcard(pattern, name))) return "mcp";
  return patterns.skill.some((pattern) => matchesWildcard(pattern, name)) ? "skill" : "builtin";
}

export interface ToolPatterns {
  readonly mcp: readonly string[];
  readonly skill: readonly string[];
}

/** Maximum number of servers that the note names. */
const namedServersMax = 24;

/** The note that describes the deferred tools to the model. It is part of the definition of `tool_search`. */
export function deferralNote(
  deferred: readonly { readonly name: string; readonly server?: string }[],
  searchName: string,
): string {
  const names = new Set(deferred.map(({ name }) => name));
  const servers = new Map<string, number>();
  for (const { server } of deferred)
    if (server !== undefined) servers.set(server, (servers.get(server) ?? 0) + 1);
  const listed = [...servers]
    .slice(0, namedServersMax)
    .map(([server, count]) => `${server} (${count})`);
  return deferredToolsNote({
    count: names.size,
    searchTool: searchName,
    servers: listed,
    moreServers: Math.max(0, servers.size - namedServersMax),
  });
}
