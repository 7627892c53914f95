// Writes docs/http.md from the tables of routes that the service goes by, so that the two cannot differ. With --check it only says whether
// the page is as it should be. Run from the repository root.
import { readFileSync, writeFileSync } from "node:fs";
import { argumentsSchema } from "../packages/plimsoll/src/server/http/arguments.ts";
import { ownRoutes, providerRoutes } from "../packages/plimsoll/src/server/routes.ts";
import { rowsOf } from "./schema-words.mjs";

const page = "docs/http.md";

const who = {
  everyone: "no token",
  client:
    "an agent: a token in `x-plimsoll-token` or in the path as `/t/{token}/…`; on this machine its provider's credential is enough",
  token: "any token, as `Authorization: Bearer …`; it reaches what is its tenant's",
  owner: "the owner's token, likewise",
};

function argumentRows(schema, place) {
  if (schema === undefined || schema === "any") return [];
  const json = argumentsSchema(schema);
  const required = new Set(json.required ?? []);
  return rowsOf(json, "").map(([name, kind, text]) => {
    const usual = json.properties?.[name]?.usual;
    const says = [
      text,
      required.has(name) ? "Required." : "",
      usual === undefined ? "" : `${usual} where it is left out.`,
    ];
    const cells = [`\`${name}\``, place, kind, says.filter(Boolean).join(" ")];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
}

function section(title, { who: name, about }, rows) {
  const table =
    rows.length === 0 ? [] : ["", "| argument | in | takes | |", "|---|---|---|---|", ...rows];
  return [`### ${title}`, `For: ${name}. ${about}`, ...table, ""].join("\n");
}

const providers = Object.values(providerRoutes).map((route) => {
  const title = route.paths.map((path) => (path.startsWith("POST") ? `\`${path}\`` : path));
  return section(title.join(", "), route, []);
});
const own = ownRoutes.map((route) => {
  const rows = [...argumentRows(route.query, "query"), ...argumentRows(route.body, "body")];
  return section(`\`${route.method} ${route.path}\``, route, rows);
});

const text = `# HTTP
Every route of the service. Whatever is not on this page is 404, another method on one of these paths 405 (GET answers HEAD, too), an upgrade to WebSocket 426.
An argument of another type, and one that is not listed, is 400: the error names it and says what is allowed. Errors are \`{ error: { code, message } }\`, on the
routes of a provider in that provider's own shape.

This page is made from the service's own table of routes by \`node scripts/http-reference.mjs\`; \`npm test\` fails when the two differ.

| for | means |
|---|---|
${Object.entries(who)
  .map(([name, meaning]) => `| ${name} | ${meaning} |`)
  .join("\n")}

A caller who has no token, or a wrong one, gets 401; one whose token is not enough, 403.

## Of the providers
${providers.join("\n")}
## Of the service
${own.join("\n")}`.trimEnd();

if (process.argv.includes("--check")) {
  if (readFileSync(page, "utf8") === `${text}\n`) process.exit(0);
  console.error(`${page} is not what the service does: run \`node scripts/http-reference.mjs\`.`);
  process.exit(1);
}
writeFileSync(page, `${text}\n`);
