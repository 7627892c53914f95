/**
 * Finds the call that a streamed piece belongs to. OpenAI numbers the calls, but compatible servers give every call the number 0
 * (BerriAI/litellm#11558), or none at all.
 */

import { isObject, type JsonObject, numberOr, stringOr } from "../../message/json.ts";

export interface CallSorter {
  /**
   * The number of the call that this piece belongs to. It is the server's own number, if the server's numbers distinguish the
   * calls.
   */
  callOf(piece: JsonObject): number;
}

interface Opened {
  readonly number: number;
  id: string;
  name: string;
}

export function createCallSorter(): CallSorter {
  /** The latest call for each number that the server has used. */
  const byIndex = new Map<number, Opened>();
  const opened: Opened[] = [];

  const knownFor = (index: number | undefined, id: string): Opened | undefined => {
    if (index !== undefined) return byIndex.get(index);
    return id === "" ? opened.at(-1) : opened.find((call) => call.id === id);
  };

  const open = (index: number | undefined): Opened => {
    const isFree = index !== undefined && opened.every(({ number }) => number !== index);
    const next = opened.reduce((most, { number }) => Math.max(most, number + 1), 0);
    const call = { number: isFree ? index : next, id: "", name: "" };
    opened.push(call);
    return call;
  };

  return {
    callOf: (piece) => {
      const index = numberOr(piece["index"], undefined);
      const id = stringOr(piece["id"], "");
      const called = piece["function"] ?? piece["custom"];
      const name = isObject(called) ? stringOr(called["name"], "") : "";
      const known = knownFor(index, id);
      const isOther =
        known === undefined ||
        isAnother(known.id, id) ||
        (id === "" && isAnother(known.name, name));
      const call = isOther ? open(index) : known;
      call.id ||= id;
      call.name ||= name;
      if (index !== undefined) byIndex.set(index, call);
      return call.number;
    },
  };
}

/** A piece with a different id or name begins another call. Some servers repeat the id or name with every piece of a call. */
function isAnother(known: string, given: string): boolean {
  return known !== "" && given !== "" && known !== given;
}
