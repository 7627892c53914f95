/**
 * Reads, checks and writes the parts of the user's configuration file that people can change on the dashboard. Comments in the
 * file are kept.
 */

import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, extname } from "node:path";
import { type Document, isCollection, parseDocument } from "yaml";
import { z } from "zod";
import type {
  BudgetSettings,
  ConfigAnswer,
  LimitSettings,
  ProgressSettings,
} from "../message/api.ts";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { isObject } from "../message/json.ts";
import { usualSettings } from "../watch/row-state.ts";
import { parseConfig } from "./config.ts";
import { budgetOf, defaultOf, floorOf, thresholdsOf } from "./limits.ts";
import type { Config } from "./schema.ts";

const tokens = z.number().int().min(1).max(100_000_000);
const name = z
  .string()
  .regex(/^\S(.*\S)?$/, "text that is not empty, and does not begin or end with a space")
  .max(200);

/** The settings that /api can change. */
export const configChange = z.strictObject({
  revision: z.string().max(100).describe("The `revision` that GET /api/config returned."),
  progress: z
    .strictObject({
      show: z.boolean().describe("Whether compactions are shown while they run."),
      detail: z.enum(["minimal", "normal", "detailed"]).describe("How much detail to show."),
      auto_hide_seconds: z
        .number()
        .int()
        .min(1)
        .max(10)
        .describe("Seconds until a finished compaction is hidden."),
      highlight_p1: z.boolean().describe("Whether areas with priority 1 are highlighted."),
    })
    .describe("How compactions are shown.")
    .optional(),
  agent: z
    .strictObject({
      context_budget: z
        .union([tokens, z.enum(["auto", "window"])])
        .describe("Maximum size of every request: a number of tokens, `auto`, or `window`."),
    })
    .describe("The budget of every request.")
    .optional(),
  limits: z
    .strictObject({
      min_limit: tokens.describe(
        "The lowest possible limit of an agent or of a type of model. Smaller limits are raised to it.",
      ),
      default_limit: tokens.describe("Limit for entries with `follow_default`."),
      warning_threshold: z
        .number()
        .min(0)
        .max(1)
        .describe("Share of the limit at which people and the model are warned."),
      per_agent: z
        .record(name, tokens)
        .refine((agents) => Object.keys(agents).length <= 200, "it may have at most 200 agents")
        .describe("Limits for agents, by the name in `x-plimsoll-agent`."),
      per_llm: z
        .array(
          z.strictObject({
            type: name.describe(
              "A provider, a model, or `provider/model`. With `models`, the name of the group.",
            ),
            models: z
              .array(name)
              .max(200)
              .describe("The models of the group. Without it, the entry loses its models.")
              .optional(),
            limit: tokens.describe("The limit in tokens."),
            follow_default: z
              .boolean()
              .describe("Whether `default_limit` applies instead of `limit`."),
          }),
        )
        .max(200)
        .refine(
          (kinds) => new Set(kinds.map(({ type }) => type.toLowerCase())).size === kinds.length,
          "a list that names each type once",
        )
        .describe("Limits for providers or models."),
    })
    .refine(({ min_limit, default_limit }) => default_limit >= min_limit, {
      path: ["default_limit"],
      message: "at least min_limit",
    })
    .describe("Limits for agents and models.")
    .optional(),
});

export interface ConfigChange {
  readonly revision: string;
  readonly progress?: ProgressSettings | undefined;
  readonly agent?: BudgetSettings | undefined;
  readonly limits?: LimitSettings | undefined;
}

function progressOf({ progress }: Config): ProgressSettings {
  const usual = usualSettings.progress;
  return {
    show: progress?.show ?? usual.show,
    detail: progress?.detail ?? usual.detail,
    auto_hide_seconds: progress?.auto_hide_seconds ?? usual.auto_hide_seconds,
    highlight_p1: progress?.highlight_p1 ?? usual.highlight_p1,
  };
}

function limitsOf(config: Config): LimitSettings {
  const { context_config: own } = config;
  return {
    min_limit: floorOf(config),
    default_limit: defaultOf(config),
    warning_threshold: thresholdsOf(config).warn,
    per_agent: own?.per_agent ?? {},
    per_llm: (own?.per_llm ?? []).map(({ type, models, limit, follow_default = false }) => ({
      type,
      ...(models === undefined ? {} : { models }),
      limit,
      follow_default,
    })),
  };
}

/** The configuration file of a running service. */
export interface SettingsFile {
  read(): ConfigAnswer;
  /** Contract: returns the configuration that the file contains after the change. If it throws, the file is unchanged. */
  write(wish: ConfigChange): Config;
}

/** The service has loaded the file as it is now. */
export function openSettingsFile(file: string): SettingsFile {
  let loadedRevision = revisionOf(textOf(file));
  return {
    read: () => ({ ...readConfigAnswer(file), loadedRevision }),
    write: (wish) => {
      const config = writeConfig(file, wish);
      // The service takes these changes over, but no other change that somebody made in the file before.
      if (wish.revision === loadedRevision) loadedRevision = revisionOf(textOf(file));
      return config;
    },
  };
}

type FileAnswer = Omit<ConfigAnswer, "loadedRevision">;

export function readConfigAnswer(file: string): FileAnswer {
  return readAnswer(textOf(file), file);
}

function readAnswer(text: string, file: string): FileAnswer {
  const config = parseConfig(text, file);
  const readOnly = readOnlyReason(file);
  return {
    revision: revisionOf(text),
    file,
    ...(readOnly === undefined ? {} : { readOnly }),
    progress: progressOf(config),
    agent: { context_budget: budgetOf(config) },
    limits: limitsOf(config),
  };
}

/** Contract: returns the configuration that the file contains after the change. If it throws, the file is unchanged. */
export function writeConfig(file: string, wish: ConfigChange): Config {
  const { revision, progress, agent, limits } = wish;
  const readOnly = readOnlyReason(file);
  if (readOnly !== undefined) throw new PlimsollError("USAGE", readOnly, { status: 409 });
  const text = textOf(file);
  if (revisionOf(text) !== revision)
    throw new PlimsollError(
      "CONFIG_CHANGED",
      "The settings were changed in the meantime. Reload them, then save again.",
      { status: 409 },
    );
  // Throws if the file already contained errors before the change. The changed text is checked below.
  parseConfig(text, file);
  const document = parseDocument(text);
  const now = readAnswer(text, file);
  if (progress !== undefined) setChanged(document, ["progress"], now.progress, progress);
  if (agent !== undefined) setChanged(document, ["agent"], now.agent, agent);
  if (limits !== undefined) setChanged(document, ["context_config"], now.limits, limits);
  const changed = document.toString({ lineWidth: 0 });
  const config = parseConfig(changed, file);
  replaceFile(file, changed);
  return config;
}

/** Writes only the values that changed. Default values are not written. All other text keeps its comments and formatting. */
function setChanged(
  document: Document,
  path: readonly (string | number)[],
  was: unknown,
  is: unknown,
): void {
  if (JSON.stringify(was) === JSON.stringify(is)) return;
  const isList = Array.isArray(was) && Array.isArray(is);
  const node = document.getIn(path);
  const canDescend = (isList || (isObject(was) && isObject(is))) && isCollection(node);
  if (!canDescend && !(path.length === 1 && isObject(was) && isObject(is))) {
    document.setIn(path, document.createNode(is));
    return;
  }
  const [before, after] = [Object.entries(was as object), Object.entries(is as object)];
  const key = (name: string): string | number => (isList ? Number(name) : name);
  for (const [name, value] of after)
    setChanged(document, [...path, key(name)], Object.fromEntries(before)[name], value);
  // Deletes from the end, so that deleting a list entry does not change the index of the entries that are deleted later.
  for (const [name] of before.toReversed())
    if (!after.some(([other]) => other === name)) document.deleteIn([...path, key(name)]);
}

function readOnlyReason(file: string): string | undefined {
  return extname(file) === ".toml"
    ? `${file} is a TOML file, and Plimsoll cannot keep the comments in it. Change it by hand, then restart the service.`
    : undefined;
}

function textOf(file: string): string {
  try {
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  } catch (cause) {
    throw new PlimsollError(
      "CONFIG_INVALID",
      `${file} cannot be read (${errorMessage(cause)}). Make sure that it is a file and that you may read it.`,
      { status: 409, cause },
    );
  }
}

function revisionOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

/**
 * Replaces the file as a whole, so that it is never half written. If the file is a link, the file that it points to is replaced.
 * The permissions stay the same.
 */
function replaceFile(file: string, text: string): void {
  try {
    const isThere = existsSync(file);
    const place = isThere ? realpathSync(file) : file;
    if (isThere) accessSync(place, constants.W_OK);
    const mode = isThere ? statSync(place).mode & 0o777 : 0o600;
    mkdirSync(dirname(place), { recursive: true });
    const beside = `${place}.${process.pid}.new`;
    writeFileSync(beside, text, { mode });
    renameSync(beside, place);
  } catch (cause) {
    throw new PlimsollError(
      "CONFIG_INVALID",
      `${file} cannot be written (${errorMessage(cause)}). Change the permissions of the file and its folder, or edit the file by hand.`,
      { status: 409, cause },
    );
  }
}
