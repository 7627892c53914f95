/** The user's configuration file, as far as it is changed from a page: read, checked, and written with its comments kept. */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, extname } from "node:path";
import { parseDocument } from "yaml";
import { z } from "zod";
import type { ConfigAnswer, LimitSettings, ProgressSettings } from "../message/api.ts";
import { PlimsollError } from "../message/error.ts";
import { parseConfig } from "./config.ts";
import type { Config } from "./config-schema.ts";

const tokens = z.number().int().min(1).max(100_000_000);
const name = z.string().trim().min(1).max(200);

const change = z.strictObject({
  revision: z.string().max(100),
  progress: z
    .strictObject({
      show: z.boolean(),
      detail: z.enum(["minimal", "normal", "detailed"]),
      auto_hide_seconds: z.number().int().min(1).max(10),
      highlight_p1: z.boolean(),
    })
    .optional(),
  limits: z
    .strictObject({
      min_limit: tokens,
      default_limit: tokens,
      warning_threshold: z.number().min(0).max(1),
      per_agent: z
        .record(name, tokens)
        .refine((agents) => Object.keys(agents).length <= 200, "at most 200 agents"),
      per_llm: z
        .array(z.strictObject({ type: name, limit: tokens, follow_default: z.boolean() }))
        .max(200),
    })
    .refine(
      ({ min_limit, default_limit }) => default_limit >= min_limit,
      "default_limit must not be below min_limit",
    )
    .optional(),
});

function progressOf({ progress }: Config): ProgressSettings {
  return {
    show: progress?.show ?? true,
    detail: progress?.detail ?? "normal",
    auto_hide_seconds: progress?.auto_hide_seconds ?? 3,
    highlight_p1: progress?.highlight_p1 ?? true,
  };
}

function limitsOf({ context_config: own }: Config): LimitSettings {
  return {
    min_limit: own?.min_limit ?? 3500,
    default_limit: own?.default_limit ?? 5000,
    warning_threshold: own?.warning_threshold ?? 0.8,
    per_agent: own?.per_agent ?? {},
    per_llm: (own?.per_llm ?? []).map(({ type, limit, follow_default = false }) => ({
      type,
      limit,
      follow_default,
    })),
  };
}

export function readConfigAnswer(file: string): ConfigAnswer {
  const text = textOf(file);
  const config = parseConfig(text, file);
  const readOnly = readOnlyReason(file);
  return {
    revision: revisionOf(text),
    file,
    ...(readOnly === undefined ? {} : { readOnly }),
    progress: progressOf(config),
    limits: limitsOf(config),
  };
}

/** Contract: gives the configuration as it is in the file then; when it rejects, the file is as it was. */
export function writeConfig(file: string, wish: unknown): Config {
  const { revision, progress, limits } = checkChange(wish);
  const readOnly = readOnlyReason(file);
  if (readOnly !== undefined) throw new PlimsollError("USAGE", readOnly, { status: 409 });
  const text = textOf(file);
  if (revisionOf(text) !== revision)
    throw new PlimsollError(
      "CONFIG_CHANGED",
      "The settings were changed meanwhile: look at them as they are now, then save again.",
      { status: 409 },
    );
  // What is wrong already is said as it is; what we would make of it is checked as a whole.
  parseConfig(text, file);
  const document = parseDocument(text);
  if (progress !== undefined) document.setIn(["progress"], document.createNode(progress));
  for (const [key, value] of Object.entries(limits ?? {}))
    document.setIn(["context_config", key], document.createNode(value));
  const changed = document.toString();
  const config = parseConfig(changed, file);
  replaceFile(file, changed);
  return config;
}

function checkChange(wish: unknown): z.infer<typeof change> {
  const result = change.safeParse(wish);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") ?? "";
  throw new PlimsollError(
    "BODY_INVALID",
    `${where === "" ? "The body" : `\`${where}\``} is not right: ${issue?.message ?? "see docs/interface.md"}.`,
    { status: 400 },
  );
}

function readOnlyReason(file: string): string | undefined {
  return extname(file) === ".toml"
    ? `${file} is TOML, whose comments cannot be kept: change it by hand, then start the service again.`
    : undefined;
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

function revisionOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

/** Whole or not at all. */
function replaceFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const beside = `${file}.${process.pid}.new`;
  writeFileSync(beside, text, { mode: 0o600 });
  renameSync(beside, file);
}
