// Writes docs/http.md from the service's own tables of routes, so that the two cannot differ. With --check, it only checks
// whether the page is up to date. Run from the repository root.
import { readFileSync, writeFileSync } from "node:fs";
import { argumentsSchema } from "../packages/plimsoll/src/server/http/arguments.ts";
import { ownRoutes, providerRoutes } from "../packages/plimsoll/src/server/routes.ts";
import { rowsOf } from "./schema-words.mjs";

const page = "docs/http.md";

const who = {
  everyone: "anyone; no token is needed",
  client:
    "an agent that sends a token in `x-plimsoll-token`, or in the path as `/t/{token}/…`. On this machine, its provider's credential is enough",
  token:
    "any token, as `Authorization: Bearer …`. A tenant's token reaches only the data of that tenant",
  owner: "the owner's token, as `Authorization: Bearer …`. It reaches the data of all tenants",
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
      usual === undefined ? "" : `Default: ${usual}.`,
    ];
    const cells = [`\`${name}\``, place, kind, says.filter(Boolean).join(" ")];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
}

function section(title, { who: name, about }, rows) {
  const table =
    rows.length === 0
      ? []
      : ["", "| argument | in | value | meaning |", "|---|---|---|---|", ...rows];
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
This page lists every route of the service. Any other path answers 404, any other method on one of these paths 405, and an upgrade to WebSocket 426. Every GET route also
answers HEAD. An argument that is not listed, or has the wrong type, answers 400; the error names the argument and says what is allowed. An error is
\`{ error: { code, message } }\`. On the routes of a provider, it has that provider's own shape.

\`node scripts/http-reference.mjs\` makes this page from the service's own table of routes. \`npm test\` fails if the two differ.

| for | means |
|---|---|
${Object.entries(who)
  .map(([name, meaning]) => `| ${name} | ${meaning} |`)
  .join("\n")}

A caller with no token, or with a wrong one, gets 401. A caller whose token is not allowed to use the route gets 403.

## Routes of the providers
${providers.join("\n")}
## Routes of the service
${own.join("\n")}`.trimEnd();

if (process.argv.includes("--check")) {
  if (readFileSync(page, "utf8") === `${text}\n`) process.exit(0);
  console.error(`${page} is out of date. Run \`node scripts/http-reference.mjs\`.`);
  process.exit(1);
}
writeFileSync(page, `${text}\n`);
