/** Turns a recorded conversation or a request body of any wire into a recording. */

import { PlimsollError } from "../message/error.ts";
import { isObject } from "../message/json.ts";
import { bodyOfMessages, wireOfBody } from "../wire/detect.ts";
import { wires } from "../wire/wires.ts";
import { impliedTools, promptIn, type Recording } from "./turns.ts";

/**
 * Accepts `{messages, tools?, meta?}`, a request body, or a plain list of messages. `place` names the source of the value in
 * error messages. Contract: throws USAGE if there are no messages.
 */
export function recordingOf(value: unknown, place: string): Recording {
  const body = Array.isArray(value) ? bodyOfMessages(value) : value;
  if (!isObject(body)) throw noMessages(place);
  const wire = wireOfBody(body);
  const { fields, modelPlace } = wires[wire];
  const { [fields.messages]: list, meta, ...head } = body;
  const messages = Array.isArray(list) ? list : [];
  if (messages.length === 0 || !messages.every(isObject)) throw noMessages(place);
  const named = isObject(meta) && typeof meta["id"] === "string" ? meta["id"] : undefined;
  const given = { id: named ?? place, wire, head, messages };
  // A body that names a model was sent by a client. A body without a model was written by hand, unless its path names the model:
  // then a body with tools was sent by a client.
  const proof = modelPlace === "path" ? fields.tools : fields.model;
  return head[fields.model] === undefined && head[proof] === undefined ? asSent(given) : given;
}

/**
 * Turns a conversation written by hand into a request as a client would send it: removes fields that the wire does not know, and
 * adds the tools that the conversation calls.
 */
function asSent({ id, wire, head, messages }: Recording): Recording {
  const { fields, messages: reading } = wires[wire];
  const bare: Recording = {
    id,
    wire,
    head: promptIn(head, fields),
    messages: messages.map(reading.withoutNotes),
  };
  if (head[fields.tools] !== undefined) return bare;
  const implied = impliedTools(bare);
  return implied === undefined
    ? bare
    : { ...bare, head: { ...bare.head, [fields.tools]: implied } };
}

function noMessages(place: string): PlimsollError {
  return new PlimsollError(
    "USAGE",
    `${place} contains no conversation. Give lines of JSON with \`messages\`, a request body, or a session id.`,
  );
}
