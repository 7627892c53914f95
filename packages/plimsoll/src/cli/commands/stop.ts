/** `plimsoll stop`: stops the running service of a data folder, and waits until it has stored everything. */

import { setTimeout as pause } from "node:timers/promises";
import { type Flags, loadSettings } from "../../config/config.ts";
import { PlimsollError } from "../../message/error.ts";
import { isAlive } from "../../store/whole-file.ts";
import { findService } from "../console/running.ts";

const stopMs = 30_000;
const lookMs = 50;

export async function runStop(flags: Flags): Promise<void> {
  const { data } = loadSettings(flags, process.env);
  const running = await findService(data);
  if (running === undefined) {
    console.log(`No service is running on ${data}.`);
    return;
  }
  process.kill(running.pid, "SIGTERM");
  for (const deadline = Date.now() + stopMs; Date.now() < deadline; await pause(lookMs))
    if (!isAlive(running.pid)) {
      console.log(`The service on ${running.url} has stopped.`);
      return;
    }
  throw new PlimsollError(
    "SERVICE_RUNNING",
    `The service (process ${running.pid}) is still running after 30 seconds. A long answer may still be on its way: try again later.`,
  );
}
