/** The write side of /api: undo, restore, checkpoint, pin, compact and reset. */

import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { Engine } from "../../engine.ts";
import { PlimsollError } from "../../message/error.ts";
import { type Caller, checkJson } from "../http/checks.ts";
import { readBody } from "../http/read-body.ts";
import { findSession } from "./api.ts";

const number = z.number().int().nonnegative();
const branch = z.string().max(200).optional();

const schemas = {
  undo: z.strictObject({ edit: number.optional(), branch }),
  restore: z.strictObject({
    checkpoint: z.string().max(100).optional(),
    seq: number.optional(),
    at: number.optional(),
    branch,
  }),
  checkpoint: z.strictObject({ label: z.string().max(500).optional(), branch }),
  pin: z.union([
    z.strictObject({ first: number, last: number.optional(), branch }),
    z.strictObject({ release: number }),
  ]),
  compact: z.strictObject({
    keep: z.enum(["none", "lastTwo", "half", "quarter"]).optional(),
    budget: number.optional(),
    branch,
  }),
  reset: z.strictObject({
    reason: z.string().max(500).optional(),
    task: z.string().max(200).optional(),
    branch,
  }),
};

/** The names in `docs/interface.md`. */
export const steerRoutes: readonly string[] = Object.keys(schemas).map(
  (action) => `/api/sessions/{id}/${action}`,
);

interface SteerRequest {
  readonly request: IncomingMessage;
  readonly segments: readonly string[];
  readonly caller: Caller;
}

/** Contract: rejects with a PlimsollError that carries the status. */
export async function steerSession(
  { store, steering }: Engine,
  { request, segments, caller }: SteerRequest,
): Promise<unknown> {
  const [area, id = "", action = "", ...rest] = segments;
  if (area !== "sessions" || !isAction(action) || rest.length > 0)
    throw new PlimsollError("METHOD_NOT_ALLOWED", "This path accepts only GET.", { status: 405 });
  const { id: session } = await findSession(store, caller, id);
  const asked = await readJson(request);
  switch (action) {
    case "undo":
      return steering.undo(session, checked(schemas.undo, asked));
    case "restore":
      return steering.restore(session, checked(schemas.restore, asked));
    case "checkpoint":
      return steering.checkpoint(session, checked(schemas.checkpoint, asked));
    case "compact":
      return steering.compact(session, checked(schemas.compact, asked));
    case "reset":
      return steering.reset(session, checked(schemas.reset, asked));
    case "pin": {
      const pin = checked(schemas.pin, asked);
      return "release" in pin
        ? steering.release(session, { pin: pin.release })
        : steering.pin(session, pin);
    }
  }
}

function isAction(name: string): name is keyof typeof schemas {
  return Object.hasOwn(schemas, name);
}

/** A missing body means default options. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
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

/** `undefined` and absent mean the same here, but not to the compiler. */
type Given<T> = T extends unknown ? { [K in keyof T]: Exclude<T[K], undefined> } : never;

function checked<T>(schema: z.ZodType<T>, asked: unknown): Given<T> {
  const result = schema.safeParse(asked);
  if (result.success) return result.data as Given<T>;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") ?? "";
  throw new PlimsollError(
    "BODY_INVALID",
    `${where === "" ? "The body" : `\`${where}\``} is not valid: ${issue?.message ?? "see docs/interface.md"}.`,
    { status: 400 },
  );
}
