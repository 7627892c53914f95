/** `plimsoll doctor`: checks the set-up and says how to fix problems. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isHuggingFace, loadTokenizer } from "../../budget/tokenizer.ts";
import { strategiesIn } from "../../config/breaking-strategy.ts";
import { type Flags, loadSettings, type Settings } from "../../config/config.ts";
import { configuredTokenizers } from "../../config/configured-tokenizers.ts";
import { accessTo, databaseName, noticesOf, unreadable } from "../../config/data-folder.ts";
import { contradictions, unusedSettings } from "../../config/doubtful-settings.ts";
import { raisedLimits } from "../../config/limits.ts";
import { unusedTargets } from "../../config/next-providers.ts";
import { installedFor } from "../../config/package-versions.ts";
import type { Config } from "../../config/schema.ts";
import { errorMessage } from "../../message/error.ts";
import {
  loadOptional,
  type OptionalUse,
  optionalPackages,
} from "../../message/optional-packages.ts";
import { signalsOf } from "../../server/telemetry/telemetry.ts";
import { readJson } from "../../session/measure/token-counter.ts";
import { harmless, harmlessJson } from "../../text/unseen.ts";
import { fullWindows, knownLimits } from "../console/known-limits.ts";
import { openToRead } from "../console/open-store.ts";
import { withProgress } from "../console/progress.ts";
import { findService, olderConfiguration, serviceFileName } from "../console/running.ts";

interface Finding {
  readonly check: string;
  readonly isGood: boolean;
  readonly message: string;
}

export async function runDoctor(flags: Flags & { readonly json?: boolean }): Promise<void> {
  const findings = await withProgress("Checking", { json: flags.json }, () => examine(flags));
  if (flags.json === true) console.log(harmlessJson({ findings }));
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
  return [
    node,
    { check: "configuration", isGood: true, message: configurationOf(settings) },
    ...checkSettings(settings.config),
    ...(await checkTokenizers(settings.config)),
    ...[...knownLimits(settings.config), ...raisedLimits(settings.config)].map(
      (message): Finding => ({ check: "limit", isGood: true, message }),
    ),
    ...unusedTargets(settings.config, process.env).map(
      (message): Finding => ({ check: "targets", isGood: false, message }),
    ),
    ...(await Promise.all(uses.map((use) => checkPackages(use, settings)))),
    ...checkEmbedder(settings),
    checkFolder(settings),
    await checkStore(settings),
    await checkService(settings),
  ];
}

function checkSettings(config: Config): readonly Finding[] {
  const check = "settings";
  return [
    ...unusedSettings(config).map((message) => ({ check, isGood: true, message })),
    ...[...contradictions(config), ...fullWindows(config)].map((message) => ({
      check,
      isGood: false,
      message,
    })),
  ];
}

/** Tries every configured tokenizer, because the service does not start if one of them does not exist. */
function checkTokenizers(config: Config): Promise<readonly Finding[]> {
  return Promise.all([...configuredTokenizers(config)].map(checkTokenizer));
}

async function checkTokenizer(id: string): Promise<Finding> {
  const check = "tokenizer";
  try {
    const { problem } = await loadTokenizer(id, readJson);
    return { check, isGood: problem === undefined, message: problem ?? id };
  } catch (error) {
    return { check, isGood: false, message: errorMessage(error) };
  }
}

function configurationOf({ config, configFile }: Settings): string {
  const providers = Object.entries(config.providers ?? {}).map(
    ([name, { baseUrl }]) => `${name} → ${baseUrl ?? "the vendor"}`,
  );
  const addresses =
    providers.length === 0
      ? "no providers, so requests go to the vendors' own addresses"
      : providers.join(", ");
  return existsSync(configFile)
    ? `${configFile}: ${addresses}`
    : "none; requests go to the vendors' own addresses";
}

/** The files of a sentence model, so that a folder without them is found before a compaction needs it. */
const modelFiles = ["config.json", "tokenizer.json", join("onnx", "model.onnx")];

function checkEmbedder({ config: { embedder } }: Settings): readonly Finding[] {
  if (embedder === undefined || !("folder" in embedder)) return [];
  const missing = modelFiles.find((name) => !existsSync(join(embedder.folder, name)));
  const message =
    missing === undefined
      ? embedder.folder
      : `${embedder.folder} has no ${missing}, so word vectors are used instead. Put the model there, or remove \`embedder\`.`;
  return [{ check: "embedder", isGood: missing === undefined, message }];
}

const uses = Object.keys(optionalPackages) as readonly OptionalUse[];

/** A missing package is a problem only if the configuration needs it. */
async function checkPackages(use: OptionalUse, { config }: Settings): Promise<Finding> {
  const check = "packages";
  const installed = installedFor(use);
  const names = Object.keys(optionalPackages[use].versions);
  const usable =
    installed.kind === "unusable"
      ? installed
      : await loadOptional(use, () => Promise.all(names.map((name) => import(name))));
  return usable.kind === "unusable"
    ? { check, isGood: !isWanted(use, config), message: usable.sentence }
    : { check, isGood: true, message: `${optionalPackages[use].purpose}: installed` };
}

function isWanted(use: OptionalUse, config: Config): boolean {
  switch (use) {
    case "code":
      return strategiesIn(config.context_config?.breaking_strategy?.chain_order ?? []).has(
        "content_type_chunking",
      );
    case "telemetry":
      return Object.values(signalsOf(process.env)).includes(true);
    case "tokenizers":
      return [...configuredTokenizers(config)].some(isHuggingFace);
    case "embeddings":
      return config.embedder !== undefined;
  }
}

function checkFolder({ data }: Settings): Finding {
  const check = "data folder";
  const access = accessTo(data);
  if (access === "unreadable") return { check, isGood: false, message: unreadable(data).message };
  if (access === "missing")
    return {
      check,
      isGood: true,
      message: `${data} does not exist yet; \`plimsoll serve\` creates it`,
    };
  const [notice] = noticesOf(data, statSync(data));
  const token = process.env["PLIMSOLL_TOKEN"] ? "PLIMSOLL_TOKEN" : join(data, "token");
  const where = `The owner's token is in ${token}`;
  return notice === undefined
    ? { check, isGood: true, message: `${data}. ${where}` }
    : { check, isGood: false, message: `${notice} ${where}` };
}

async function checkStore(settings: Settings): Promise<Finding> {
  const check = "store";
  if (accessTo(join(settings.data, databaseName)) === "missing")
    return { check, isGood: true, message: "nothing recorded yet" };
  try {
    const store = await openToRead(settings);
    const { sessions, messages } = await store.figures();
    await store.close();
    return { check, isGood: true, message: `${sessions} sessions, ${messages} messages` };
  } catch (error) {
    return { check, isGood: false, message: errorMessage(error) };
  }
}

/** The owner's token. Empty if there is none, because `doctor` makes nothing. */
function tokenIn(data: string): string {
  const file = join(data, "token");
  return accessTo(file) === "readable" ? readFileSync(file, "utf8").trim() : "";
}

async function checkService({ data, token }: Settings): Promise<Finding> {
  const check = "service";
  const file = join(data, serviceFileName);
  if (accessTo(file) === "unreadable")
    return { check, isGood: false, message: unreadable(file).message };
  const running = await findService(data);
  if (running === undefined)
    return {
      check,
      isGood: true,
      message: "not running on this data folder; `plimsoll run` or `plimsoll serve` starts it",
    };
  const { pid, url, problems } = running;
  const older = await olderConfiguration(url, token ?? tokenIn(data));
  const found = [...problems, ...(older === undefined ? [] : [older])];
  return {
    check,
    isGood: found.length === 0,
    message: [`process ${pid} on ${url}`, ...found].join(". "),
  };
}
