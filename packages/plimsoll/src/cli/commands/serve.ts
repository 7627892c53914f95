/** `plimsoll serve`: runs the service until a signal stops it. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import { openDataFolder } from "../../config/data-folder.ts";
import { contradictions, unusedSettings } from "../../config/doubtful-settings.ts";
import { raisedLimits } from "../../config/limits.ts";
import { unusedTargets } from "../../config/next-providers.ts";
import { openEngine } from "../../engine.ts";
import { errorMessage } from "../../message/error.ts";
import type { BudgetRaisedEvent } from "../../message/event.ts";
import { startServer, upstreamsOf } from "../../server/server.ts";
import { openTelemetry } from "../../server/telemetry/telemetry.ts";
import { grouped } from "../../text/digits.ts";
import { harmless } from "../../text/unseen.ts";
import { fullWindows, knownLimits } from "../console/known-limits.ts";
import { removeServiceFile, takeService, writeServiceFile } from "../console/running.ts";
import { onStopSignals, signalCodes } from "../console/stop-signals.ts";
import { growYoungHeap } from "../console/young-heap.ts";

function warn(message: string): void {
  console.error(harmless(`plimsoll: ${message}`));
}

export interface ServeFlags extends Flags {
  /** After so many minutes without a request, the service ends by itself. */
  readonly idleMinutes?: number;
}

export async function runServe(flags: ServeFlags, version: string): Promise<void> {
  outliveReaders();
  growYoungHeap();
  const settings = loadSettings(flags, process.env);
  const folder = openDataFolder(settings.data);
  const { config, host, port } = settings;
  const token = settings.token ?? folder.token;
  const lock = takeService(settings.data);
  const isNewStore = !existsSync(folder.database);
  const engine = await openEngine({ data: settings.data, config, isService: true });
  let isStopping = false;
  engine.on("store-error", ({ message }) =>
    warn(`not stored${isStopping ? "" : ", will be retried"}: ${message}`),
  );
  engine.on("store-spoilt", ({ message }) => warn(message));
  engine.on("retention-spared", ({ message }) => warn(message));
  for (const sentence of [
    ...unusedSettings(config),
    ...contradictions(config),
    ...fullWindows(config),
    ...raisedLimits(config),
    ...unusedTargets(config, process.env),
    ...folder.notices,
  ])
    warn(sentence);
  engine.on("budget-raised", (raised) => warn(raisedBudgetSentence(raised)));
  engine.on("degraded", ({ reason, session }) => warn(`${session}: ${reason}`));
  const telemetry = await openTelemetry({
    engine,
    upstreams: upstreamsOf(config),
    version,
    env: process.env,
    warn,
  });
  await engine.warmUp();
  // Checks the store's whole file in the background, in a thread of its own. A new store has nothing to check.
  if (!isNewStore) void engine.health.check();
  const server = await startServer({
    engine,
    config,
    host,
    port,
    token,
    storeKey: folder.key,
    configFile: settings.configFile,
    version,
    warn,
  });
  announce(settings.data, server.url, warn);
  console.log(readyLines(server.url, settings, token).join("\n"));

  await Promise.race([
    toldToStop(warn),
    ...(flags.idleMinutes === undefined ? [] : [server.unused(flags.idleMinutes * 60_000)]),
  ]);
  removeServiceFile(settings.data);
  await server.close();
  isStopping = true;
  await engine.close();
  lock.release();
  // An exporter that is still trying to reach its collector must not keep the process alive.
  if ((await telemetry.close()) === "unsent") process.exit();
}

function raisedBudgetSentence({
  session,
  budget,
  limit,
  preambleTokens,
}: BudgetRaisedEvent): string {
  return `${session}: system prompt and tools take ${grouped(preambleTokens)} of a budget of ${grouped(budget)} tokens, so the limit is ${grouped(limit)}. Give the agent a larger budget (agent.context_budget, context_config), or fewer tools.`;
}

function readyLines(url: string, settings: Settings, token: string): readonly string[] {
  const limits = knownLimits(settings.config).map((sentence) => `limit ${sentence}`);
  return [`plimsoll ready on ${url}`, dashboardLine(url, settings, token), ...limits];
}

/**
 * The line about the dashboard. It shows the owner's token only on a terminal, because any other output may be stored in journals
 * and files.
 */
function dashboardLine(url: string, settings: Settings, token: string): string {
  if (process.stdout.isTTY === true) return `dashboard ${url}/#token=${token}`;
  const place = settings.token === undefined ? join(settings.data, "token") : "PLIMSOLL_TOKEN";
  return `dashboard ${url}/ (its token is in ${place})`;
}

/** Writes the service file. If the file cannot be written, the service still runs. */
function announce(data: string, url: string, warn: (message: string) => void): void {
  try {
    writeServiceFile(data, url);
  } catch (error) {
    warn(`other commands will not find this service: ${errorMessage(error)}`);
  }
}

function toldToStop(warn: (message: string) => void): Promise<void> {
  return new Promise((resolve) =>
    onStopSignals(
      (signal) => {
        if (signal === "SIGINT" && process.stderr.isTTY === true)
          warn("stopping once the running answers are stored. Press Ctrl-C again to stop at once.");
        resolve();
      },
      (signal) => process.exit(signalCodes[signal]),
    ),
  );
}

/**
 * Other commands end when the reader of their output closes it. The service must not, because a reader may want only its first
 * line.
 */
function outliveReaders(): void {
  process.stdout.removeAllListeners("error");
  process.stdout.on("error", () => undefined);
}
