/**
 * What a route is: who may call it, which arguments it takes, and who answers. A route that is in no table does not exist, and one
 * that does not say who may call it does not compile.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { z } from "zod";
import type { Given, nothing } from "./arguments.ts";
import type { Caller } from "./checks.ts";

/**
 * everyone: no token is asked for. client: an agent, by a token in `x-plimsoll-token` or in its path; on this machine its provider's
 * credential is enough. token: any token. owner: the owner's token.
 */
export type Who = "everyone" | "client" | "token" | "owner";

/** GET answers HEAD, too. */
export type Method = "GET" | "POST" | "PUT";

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface Call<World, W extends Who, Q extends z.ZodType, B extends z.ZodType>
  extends Exchange {
  readonly world: World;
  /** Nobody is known where nobody is asked. */
  readonly caller: W extends "everyone" ? undefined : Caller;
  /** What stands in the path for `{id}` and the like. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Given<z.output<Q>>;
  readonly body: Given<z.output<B>>;
}

interface Declared<W extends Who> {
  readonly method: Method;
  /** `/api/sessions/{id}/log`; `{…}` stands for one segment, `{rest…}` for all that follow. */
  readonly path: string;
  readonly who: W;
  /** What it does and answers, for docs/http.md. */
  readonly about: string;
}

/** A route as it is written down. */
export interface RouteSpec<World, W extends Who, Q extends z.ZodType, B extends z.ZodType>
  extends Declared<W> {
  /** Absent: it takes none. any: it looks at none, and refuses none. */
  readonly query?: Q | "any";
  /** Absent: it reads no body, or reads it itself. */
  readonly body?: B;
  /** json: what it gives is sent as JSON. own: it sends its answer itself. */
  readonly reply: "json" | "own";
  readonly handle: (call: Call<World, W, Q, B>) => unknown;
}

/** A route as it is looked up. */
export interface Route<World> extends Declared<Who> {
  readonly query?: z.ZodType | "any";
  readonly body?: z.ZodType;
  readonly reply: "json" | "own";
  readonly handle: (call: AnyCall<World>) => unknown;
}

/** Its arguments fit the schemas of its route. */
export interface AnyCall<World> extends Exchange {
  readonly world: World;
  readonly caller: Caller | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
}

/** For routes that work on one world. */
export function routesOn<World>() {
  return <
    const W extends Who,
    Q extends z.ZodType = typeof nothing,
    B extends z.ZodType = typeof nothing,
  >(
    spec: RouteSpec<World, W, Q, B>,
  ): Route<World> => spec as unknown as Route<World>;
}

export interface Match<World> {
  readonly route: Route<World>;
  readonly params: Readonly<Record<string, string>>;
}

/** All routes at this path, whatever their methods. A slash at its end does not matter. */
export function matchesOf<World>(
  table: readonly Route<World>[],
  path: string,
): readonly Match<World>[] {
  const segments = segmentsOf(path);
  return table.flatMap((route) => {
    const params = paramsIn(segmentsOf(route.path), segments);
    return params === undefined ? [] : [{ route, params }];
  });
}

/** The beginnings of all paths: what begins otherwise is a provider's, or nobody's. */
export function areasOf<World>(table: readonly Route<World>[]): ReadonlySet<string> {
  return new Set(table.flatMap(({ path }) => segmentsOf(path).slice(0, 1)));
}

function segmentsOf(path: string): readonly string[] {
  const segments = path.split("/").slice(1);
  return segments.length > 1 && segments.at(-1) === "" ? segments.slice(0, -1) : segments;
}

function paramsIn(
  pattern: readonly string[],
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index];
    const name = /^\{(\w+)(…?)\}$/.exec(part);
    if (segment === undefined || (name === null && segment !== part)) return undefined;
    if (name?.[2] === "…") return { ...params, [name[1] ?? ""]: segments.slice(index).join("/") };
    if (name !== null && segment === "") return undefined;
    if (name !== null) params[name[1] ?? ""] = segment;
  }
  return segments.length === pattern.length ? params : undefined;
}
