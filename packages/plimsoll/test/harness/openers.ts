/** Several processes that open one data folder at the same moment. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Opened } from "../engine/store-opener.ts";
import { within } from "./waiting.ts";

const OPENER = fileURLToPath(new URL("../engine/store-opener.ts", import.meta.url));
const LIMIT_MS = 40_000;

export interface Openers {
  /** How it went, for each process. */
  open(data: string): Promise<readonly Opened[]>;
  close(): Promise<void>;
}

export async function startOpeners(count: number): Promise<Openers> {
  const all = await Promise.all(Array.from({ length: count }, startOpener));
  return {
    open: (data) => Promise.all(all.map((opener) => opener.open(data))),
    close: async () => {
      await Promise.all(all.map((opener) => opener.close()));
    },
  };
}

interface Opener {
  open(data: string): Promise<Opened>;
  close(): Promise<void>;
}

async function startOpener(): Promise<Opener> {
  const child = spawn(process.execPath, [OPENER], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => {
    const { value, done } = await within(LIMIT_MS, "a line of the opener", lines.next());
    if (done === true) throw new Error("The opener ended.");
    return value;
  };
  await nextLine();
  return {
    open: async (data) => {
      child.stdin.write(`${data}\n`);
      return JSON.parse(await nextLine()) as Opened;
    },
    close: async () => {
      const gone = once(child, "exit");
      child.stdin.end();
      await gone;
    },
  };
}
