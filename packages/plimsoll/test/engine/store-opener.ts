/**
 * A process of its own that opens Plimsoll on a folder, says how that went, and closes it again: on the one that is its
 * argument (`breakStart`), or on one after the other, as the lines of its input name them (`startOpeners`, several at once).
 */

import { argv, stdin, stdout } from "node:process";
import { createInterface } from "node:readline";
import { openEngine } from "../../src/engine.ts";
import { signatureIn } from "./read-folder.ts";

/** What it says of each folder. */
export interface Opened {
  readonly data: string;
  /** The sentence of the failure. */
  readonly error?: string;
  /** What the folder's key makes of a text: the same in all processes that have the same key. */
  readonly signature?: string;
}

const say = (line: string): void => void stdout.write(`${line}\n`);

async function open(data: string): Promise<Opened> {
  try {
    return { data, signature: await signatureIn(data) };
  } catch (error) {
    return { data, error: error instanceof Error ? error.message : String(error) };
  }
}

const [, program, folder] = argv;
if (program === import.meta.filename && folder !== undefined) {
  say(JSON.stringify(await open(folder)));
} else if (program === import.meta.filename) {
  // Everything is loaded before the first folder, so that several of them open it at the same moment.
  await (await openEngine({ store: "memory" })).close();
  say("ready");
  for await (const data of createInterface({ input: stdin })) say(JSON.stringify(await open(data)));
}
