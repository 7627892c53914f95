/**
 * A separate process that opens Plimsoll on a folder, reports the result, and closes it again. The folder is its argument
 * (`breakStart`), or it reads folders line by line from its input (`startOpeners` runs several such processes at once).
 */

import { argv, stdin, stdout } from "node:process";
import { createInterface } from "node:readline";
import { openEngine } from "../../src/engine.ts";
import { signatureIn } from "./read-folder.ts";

/** The result for each folder. */
export interface Opened {
  readonly data: string;
  /** The error message, if opening failed. */
  readonly error?: string;
  /** A text signed with the folder's key. Processes with the same key get the same signature. */
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
  // Load all code before the first folder, so that several processes open it at the same moment.
  await (await openEngine({ store: "memory" })).close();
  say("ready");
  for await (const data of createInterface({ input: stdin })) say(JSON.stringify(await open(data)));
}
