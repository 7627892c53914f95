/** `plimsoll doctor`: is everything in place, and if not, what to do. */

import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { type Flags, loadSettings, type Settings } from "../session/config.ts";
import { databaseName } from "../session/data-folder.ts";
import { openSqliteStore } from "../store/sqlite.ts";
import { harmless } from "./terminal.ts";

interface Finding {
  readonly check: string;
  readonly isGood: boolean;
  readonly message: string;
}

const timeoutMs = 2000;

export async function runDoctor(flags: Flags & { readonly json?: boolean }): Promise<void> {
  const findings = await examine(flags);
  if (flags.json === true) console.log(JSON.stringify({ findings }));
  else
    for (const { check, isGood, message } of findings)
      console.log(harmless(`${isGood ? "ok  " : "FAIL"} ${check.padEnd(13)} ${message}`));
  if (findings.some(({ isGood }) => !isGood)) process.exitCode = 1;
}

async function examine(flags: Flags): Promise<readonly Finding[]> {
  const node: Finding = { check: "node", isGood: true, message: process.version };
  let settings: Settings;
  try {
    settings = loadSettings(flags, process.env);
  } catch (error) {
    return [node, { check: "configuration", isGood: false, message: errorMessage(error) }];
  }
  const providers = Object.entries(settings.config.providers ?? {}).map(
    ([name, { baseUrl }]) => `${name} → ${baseUrl ?? "the vendor"}`,
  );
  return [
    node,
    {
      check: "configuration",
      isGood: true,
      message: providers.length === 0 ? "none: requests go to the vendors" : providers.join(", "),
    },
    checkFolder(settings),
    await checkStore(settings),
    await checkService(settings),
  ];
}

function checkFolder({ data }: Settings): Finding {
  const check = "data folder";
  if (!existsSync(data))
    return { check, isGood: true, message: `${data} will be made by \`plimsoll serve\`` };
  const isPrivate = (statSync(data).mode & 0o077) === 0;
  const token = join(data, "token");
  return isPrivate
    ? {
        check,
        isGood: true,
        message: `${data}; the owner's token is in ${existsSync(token) ? token : "PLIMSOLL_TOKEN"}`,
      }
    : { check, isGood: false, message: `${data} can be read by other users: chmod 700 ${data}` };
}

async function checkStore({ data }: Settings): Promise<Finding> {
  const check = "store";
  const file = join(data, databaseName);
  if (!existsSync(file)) return { check, isGood: true, message: "nothing recorded yet" };
  try {
    const store = await openSqliteStore({ file, isReadOnly: true });
    const { sessions, messages } = await store.figures();
    await store.close();
    return { check, isGood: true, message: `${sessions} sessions, ${messages} messages` };
  } catch (error) {
    return { check, isGood: false, message: errorMessage(error) };
  }
}

async function checkService({ host, port }: Settings): Promise<Finding> {
  const check = "service";
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(timeoutMs) });
    const health = (await response.json()) as { status?: string; version?: string };
    if (health.status !== "ok")
      throw new PlimsollError("NOT_FOUND", `something else answers on ${url}`);
    return { check, isGood: true, message: `version ${health.version} on ${url}` };
  } catch (error) {
    const reason = PlimsollError.is(error) ? error.message : `none on ${url}`;
    return {
      check,
      isGood: false,
      message: `${reason}: start it with \`plimsoll serve\`, or name its --port`,
    };
  }
}
