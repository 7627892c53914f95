/**
 * The dashboard's files, built into the package. They are read once and served from memory, with a policy that blocks all foreign
 * content (threat T17).
 */

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { PlimsollError } from "../message/error.ts";

/** Files by the path that a browser requests. */
export type Dashboard = ReadonlyMap<string, DashboardFile>;

interface DashboardFile {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly packed: Uint8Array;
  readonly tag: string;
  /** True if the file's name changes with its content. Browsers may then keep the file for good. */
  readonly isLasting: boolean;
}

const builtFolder = fileURLToPath(new URL("../../dashboard/", import.meta.url));

const types: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
]);

/** Maximum number of files to read. The dashboard never has more. */
const maxFiles = 100;

/** Reads the dashboard's files. The result is empty if the dashboard was not built. */
export function loadDashboard(folder: string = builtFolder): Dashboard {
  if (!existsSync(join(folder, "index.html"))) return new Map();
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => types.has(extname(name)))
    .slice(0, maxFiles);
  return new Map(
    names.map((name) => {
      const path = `/${name.replaceAll("\\", "/")}`;
      return [path === "/index.html" ? "/" : path, readOne(join(folder, name), path)];
    }),
  );
}

function readOne(file: string, path: string): DashboardFile {
  const bytes = readFileSync(file);
  return {
    type: types.get(extname(file)) ?? "application/octet-stream",
    bytes,
    packed: gzipSync(bytes),
    tag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`,
    isLasting: path.startsWith("/assets/"),
  };
}

/**
 * The content security policy. It allows only scripts and styles of the service, and only requests to the service. Text can never
 * become markup.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types svelte-trusted-html",
].join("; ");

export function serveDashboard(
  dashboard: Dashboard,
  path: string,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): void {
  const file = dashboard.get(path);
  if (file === undefined)
    throw new PlimsollError("NOT_FOUND", "There is nothing at this path.", { status: 404 });
  const isKnown = request.headers["if-none-match"] === file.tag;
  const isPacked = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(
    String(request.headers["accept-encoding"] ?? ""),
  );
  const body = isPacked ? file.packed : file.bytes;
  response.writeHead(isKnown ? 304 : 200, {
    etag: file.tag,
    "cache-control": file.isLasting ? "public, max-age=31536000, immutable" : "no-cache",
    "content-security-policy": policy,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    vary: "accept-encoding",
    ...(isKnown
      ? {}
      : {
          "content-type": file.type,
          "content-length": body.length,
          ...(isPacked ? { "content-encoding": "gzip" } : {}),
        }),
  });
  response.end(isKnown || request.method === "HEAD" ? undefined : body);
}
