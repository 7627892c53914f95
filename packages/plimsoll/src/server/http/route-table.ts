/**
 * The declaration of a route: who may call it, which arguments it accepts, and which function answers. A route that is in no
 * table does not exist. A route without a declared caller does not compile.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { z } from "zod";
import type { Given, nothing } from "./arguments.ts";
import type { Caller } from "./checks.ts";

/**
 * The callers that a route accepts. everyone: no token is needed. client: an agent with a token in `x-plimsoll-token` or in its
 * path; on this machine, its provider's credential is enough. token: any token. owner: the owner's token.
 */
export type Who = "everyone" | "client" | "token" | "owner";

/** A route for GET also answers HEAD. */
export type Method = "GET" | "POST" | "PUT" | "DELETE";

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface Call<World, W extends Who, Q extends z.ZodType, B extends z.ZodType>
  extends Exchange {
  readonly world: World;
  /** The caller. Undefined on routes for everyone, because these routes ask for no token. */
  readonly caller: W extends "everyone" ? undefined : Caller;
  /** The segments of the path that match placeholders such as `{id}`, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Given<z.output<Q>>;
  readonly body: Given<z.output<B>>;
}

interface Declared<W extends Who> {
  readonly method: Method;
  /** The path, for example `/api/sessions/{id}/log`. `{id}` matches one segment, and `{rest…}` matches all remaining segments. */
  readonly path: string;
  readonly who: W;
  /** Sentences for docs/http.md that say what the route does and what it answers. */
  readonly about: string;
}

/** A route as it is declared. */
export interface RouteSpec<World, W extends Who, Q extends z.ZodType, B extends z.ZodType>
  extends Declared<W> {
  /** The schema of the query. If absent, the query must be empty. any: the query is ignored. */
  readonly query?: Q | "any";
  /** The schema of the body. Absent if the route needs no body, or reads the body itself. */
  readonly body?: B;
  /** json: the result of `handle` is sent as JSON. own: `handle` sends the answer itself. */
  readonly reply: "json" | "own";
  readonly handle: (call: Call<World, W, Q, B>) => unknown;
}

/** A route in a table, without the types of its arguments. */
export interface Route<World> extends Declared<Who> {
  readonly query?: z.ZodType | "any";
  readonly body?: z.ZodType;
  readonly reply: "json" | "own";
  readonly handle: (call: AnyCall<World>) => unknown;
}

/** A call of a route. Invariant: the arguments match the schemas of the route. */
export interface AnyCall<World> extends Exchange {
  readonly world: World;
  readonly caller: Caller | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
}

/** Returns a function that declares routes for this type of world. */
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

/** The routes at this path, for all methods. A slash at the end of the path does not matter. */
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

/** The first segments of all paths. A path that begins differently belongs to a provider, or does not exist. */
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
