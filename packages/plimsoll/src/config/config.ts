/**
 * Reads the configuration from a YAML or TOML file, the environment and the command line. The keys keep the spelling that users
 * know.
 */

import { existsSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { extname, isAbsolute, join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { errorMessage, PlimsollError } from "../message/error.ts";
import { isObject } from "../message/json.ts";
import { type Config, configSchema } from "./schema.ts";

/** Maximum size of a configuration file in bytes. The bound also limits the time for parsing. */
const maxConfigBytes = 256 * 1024;
const forbiddenKeys = new Set(["__proto__", "constructor", "prototype"]);

export interface Settings {
  readonly config: Config;
  /** Path of the configuration file, which may not exist yet. */
  readonly configFile: string;
  readonly data: string;
  readonly host: string;
  readonly port: number;
  /** The value of PLIMSOLL_TOKEN. If it is not set, Plimsoll makes a token and keeps it in the data folder. */
  readonly token?: string;
}

export interface Flags {
  readonly config?: string;
  readonly data?: string;
  readonly host?: string;
  readonly port?: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Flags override the environment, the environment overrides the file, and the file overrides the defaults. */
export function loadSettings(flags: Flags, environment: Environment): Settings {
  if ((environment["PLIMSOLL_DATABASE_URL"] ?? "") !== "")
    throw noDatabaseUrl("PLIMSOLL_DATABASE_URL");
  const data = flags.data ?? environment["PLIMSOLL_DATA"] ?? usualData();
  const named = flags.config ?? environment["PLIMSOLL_CONFIG"];
  const file =
    named ??
    ["config.yaml", "config.yml", "config.toml"].map((name) => join(data, name)).find(existsSync);
  const config = file === undefined ? {} : readConfigFile(file);
  const token = environment["PLIMSOLL_TOKEN"];
  return {
    config,
    configFile: file ?? join(data, "config.yaml"),
    data,
    host: flags.host ?? environment["PLIMSOLL_HOST"] ?? config.server?.host ?? "127.0.0.1",
    port: flags.port ?? readPort(environment["PLIMSOLL_PORT"]) ?? config.server?.port ?? 4141,
    ...(token === undefined || token === "" ? {} : { token }),
  };
}

function usualData(): string {
  const home = homedir();
  if (isAbsolute(home)) return join(home, ".plimsoll");
  throw new PlimsollError(
    "CONFIG_INVALID",
    "Plimsoll does not know your home folder, because HOME is empty. Set HOME, or choose a data folder with --data.",
  );
}

/** Without this error, the data would be somewhere else than the user believes. */
export function noDatabaseUrl(name: string): PlimsollError {
  return invalid(
    `${name} is set, but Plimsoll does not support PostgreSQL yet. Remove it; Plimsoll then keeps its data in SQLite, in the data folder.`,
  );
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw invalid(`PLIMSOLL_PORT is "${text}". Set it to a number from 0 to 65535.`);
}

function readConfigFile(file: string): Config {
  let text: string;
  try {
    if (statSync(file).size > maxConfigBytes) {
      throw invalid(
        `${file} is larger than ${maxConfigBytes} bytes, so it cannot be a configuration file. Check the path given by --config.`,
      );
    }
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if (PlimsollError.is(cause)) throw cause;
    throw invalid(
      `${file} cannot be read (${errorMessage(cause)}). Check the path given by --config.`,
    );
  }
  return parseConfig(text, file);
}

/** Contract: throws CONFIG_INVALID with one sentence that names the file and the key, and says what to do. */
export function parseConfig(text: string, file: string): Config {
  let raw: unknown;
  try {
    raw = extname(file) === ".toml" ? parseToml(text) : parseYaml(text, { maxAliasCount: 20 });
  } catch (cause) {
    const reason = errorMessage(cause).split("\n")[0];
    throw invalid(`${file} is not valid ${extname(file) === ".toml" ? "TOML" : "YAML"}: ${reason}`);
  }
  return checkConfig(raw ?? {}, file);
}

export function checkConfig(raw: unknown, file: string): Config {
  const forbidden = findForbiddenKey(raw);
  if (forbidden !== undefined)
    throw invalid(`${file}: the key "${forbidden}" is not allowed. Remove it.`);
  const result = configSchema.safeParse(raw);
  if (result.success) return result.data;
  const issue = innermost(result.error.issues[0]);
  if (issue === undefined) throw invalid(`${file} is not a valid configuration.`);
  const place = issue.path.join(".");
  if (issue.code === "unrecognized_keys") throw unknownKey(file, issue.path, issue.keys[0] ?? "");
  throw invalid(`${file}: ${place === "" ? "the file" : place} is wrong: ${issue.message}.`);
}

type Issue = z.core.$ZodIssue;

/** If a value may have several forms and has keys, the mistake is inside the form with keys. */
function innermost(issue: Issue | undefined): Issue | undefined {
  if (issue?.code !== "invalid_union") return issue;
  const inside = issue.errors
    .map(([first]) => first)
    .find((first) => first !== undefined && isInside(first));
  return inside === undefined ? issue : { ...inside, path: [...issue.path, ...inside.path] };
}

function isInside({ code, path }: Issue): boolean {
  return path.length > 0 || code === "unrecognized_keys" || code === "custom";
}

function findForbiddenKey(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.map(findForbiddenKey).find((key) => key !== undefined);
  if (!isObject(value)) return undefined;
  for (const key of Object.keys(value)) {
    if (forbiddenKeys.has(key)) return key;
    const inside = findForbiddenKey(value[key]);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

function unknownKey(file: string, path: readonly PropertyKey[], key: string): PlimsollError {
  const known = knownKeys(path);
  const nearest = known.toSorted((left, right) => distance(key, left) - distance(key, right))[0];
  const place = path.length === 0 ? "" : ` in ${path.join(".")}`;
  const isMeant = nearest !== undefined && isNear(key, nearest);
  const advice = isMeant ? `did you mean "${nearest}"?` : othersThan(known);
  return invalid(`${file}: unknown key "${key}"${place}: ${advice}`);
}

/** A word with up to a third of other letters, or one that is the beginning of the other. */
function isNear(key: string, known: string): boolean {
  const [one, other] = [key.toLowerCase(), known.toLowerCase()];
  const mistakes = Math.max(2, Math.floor(Math.min(one.length, other.length) / 3));
  const isBeginning = Math.min(one.length, other.length) > 3;
  if (isBeginning && (one.startsWith(other) || other.startsWith(one))) return true;
  return distance(one, other) <= mistakes;
}

function othersThan(known: readonly string[]): string {
  return known.length === 0 ? "remove it" : `remove it; the keys here are ${known.join(", ")}.`;
}

/** The keys that the schema allows at a path. A record allows any key, so the search continues with the schema of its values. */
function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  let at: unknown = configSchema;
  for (const step of path) {
    const inner = unwrapped(at);
    if (inner instanceof z.ZodObject) at = inner.shape[String(step)];
    else if (inner instanceof z.ZodRecord) at = inner.valueType;
    else if (inner instanceof z.ZodArray) at = inner.element;
  }
  const end = unwrapped(at);
  return end instanceof z.ZodObject ? Object.keys(end.shape) : [];
}

function unwrapped(type: unknown): unknown {
  if (type instanceof z.ZodUnion)
    return type.options.find((option) => option instanceof z.ZodObject) ?? type;
  return type instanceof z.ZodOptional ? unwrapped(type.unwrap()) : type;
}

/** Edit distance between two words. It is used only to suggest a key, so both words are short. */
function distance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const change = left[row - 1] === right[column - 1] ? 0 : 1;
      current.push(
        Math.min(
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (previous[column - 1] ?? 0) + change,
        ),
      );
    }
    previous = current;
  }
  return previous[right.length] ?? right.length;
}

function invalid(message: string): PlimsollError {
  return new PlimsollError("CONFIG_INVALID", message, { status: 400 });
}
