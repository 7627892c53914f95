/** Finds the route of a request, checks the caller, the method and the arguments, and then calls the route. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { PlimsollError } from "../../message/error.ts";
import { checkBody, nothing, readQuery } from "./arguments.ts";
import {
  type Access,
  type Caller,
  checkBearer,
  checkJson,
  checkModelCaller,
  checkOwner,
} from "./checks.ts";
import { readBody } from "./read-body.ts";
import { sendJson } from "./reply.ts";
import { type Exchange, type Match, matchesOf, type Route, type Who } from "./route-table.ts";

export interface Asked extends Exchange {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly pathToken?: string;
}

/** Contract: rejects with a PlimsollError that has the HTTP status. A path that is not in the table is refused. */
export async function dispatch<World>(
  table: readonly Route<World>[],
  world: World,
  access: Access,
  asked: Asked,
): Promise<void> {
  const { request, response } = asked;
  const { route, params } = choose(matchesOf(table, asked.path), access, asked);
  const caller = authorise(route.who, request, access, asked.pathToken);
  const query = route.query === "any" ? {} : readQuery(route.query ?? nothing, asked.query);
  const body = route.body === undefined ? {} : checkBody(route.body, await readJsonBody(request));
  const answer = await route.handle({ request, response, world, caller, params, query, body });
  if (route.reply === "json") sendJson(response, 200, answer);
}

function choose<World>(
  matches: readonly Match<World>[],
  access: Access,
  { request, response, path, pathToken }: Asked,
): Match<World> {
  const [first] = matches;
  if (first === undefined) {
    // A caller without a token must not learn which paths exist.
    if (path.startsWith("/api/")) authorise("token", request, access);
    throw new PlimsollError("NOT_FOUND", "There is nothing at this path.", { status: 404 });
  }
  const method = request.method === "HEAD" ? "GET" : request.method;
  const found = matches.find(({ route }) => route.method === method);
  if (found !== undefined) return found;
  authorise(first.route.who, request, access, pathToken);
  throw methodNotAllowed(
    response,
    matches.map(({ route }) => route.method),
  );
}

function methodNotAllowed(response: ServerResponse, methods: readonly string[]): PlimsollError {
  response.setHeader("allow", methods.join(", "));
  return new PlimsollError(
    "METHOD_NOT_ALLOWED",
    `This path accepts only ${methods.join(" and ")}.`,
    {
      status: 405,
    },
  );
}

/** Contract: throws the error to send to the caller. Returns undefined on a route that is open to everyone. */
export function authorise(
  who: Exclude<Who, "everyone">,
  request: IncomingMessage,
  access: Access,
  pathToken?: string,
): Caller;
export function authorise(
  who: Who,
  request: IncomingMessage,
  access: Access,
  pathToken?: string,
): Caller | undefined;
export function authorise(
  who: Who,
  request: IncomingMessage,
  access: Access,
  pathToken?: string,
): Caller | undefined {
  switch (who) {
    case "everyone":
      return undefined;
    case "client":
      return checkModelCaller(request, access, pathToken);
    case "token":
      return checkBearer(request, access);
    case "owner":
      return checkOwner(checkBearer(request, access));
  }
}

/** Reads a JSON body. An empty body is read as `{}`, so that all defaults apply. */
async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const { headers } = request;
  const isEmpty =
    headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0;
  if (isEmpty) return {};
  checkJson(request);
  const body = await readBody(request);
  try {
    return JSON.parse(new TextDecoder().decode(body.json)) as unknown;
  } catch (cause) {
    throw new PlimsollError("BODY_INVALID", "The body is not valid JSON.", { status: 400, cause });
  } finally {
    body.release();
  }
}
