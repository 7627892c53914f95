/** The tools of the demo's agents: a dozen typical ones, with schemas. */

export interface DemoTool {
  readonly name: string;
  readonly description: string;
  readonly schema: {
    readonly type: "object";
    readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
}

type Properties = DemoTool["schema"]["properties"];

function tool(name: string, description: string, properties: Properties): DemoTool {
  const required = Object.keys(properties).filter(
    (key) => properties[key]?.["default"] === undefined,
  );
  return {
    name,
    description,
    schema: { type: "object", properties, required, additionalProperties: false },
  };
}

const path = { type: "string", description: "From the root of the repository." };

export const demoTools: readonly DemoTool[] = [
  tool("read_file", "Reads a file. Long ones in parts: give first_line and lines.", {
    path,
    first_line: { type: "integer", minimum: 1, default: 1 },
    lines: { type: "integer", maximum: 2000, default: 400 },
  }),
  tool("list_directory", "Lists the files below a folder, with size and date.", { path }),
  tool("search_code", "Searches the repository for a regular expression. Gives path:line: text.", {
    pattern: { type: "string" },
    glob: { type: "string", description: "Only files that match, e.g. src/**/*.ts", default: "**" },
  }),
  tool("edit_file", "Replaces text in a file; old_text must stand there once. Gives the diff.", {
    path,
    old_text: { type: "string" },
    new_text: { type: "string" },
  }),
  tool("write_file", "Writes a whole file. Missing folders are made.", {
    path,
    content: { type: "string" },
  }),
  tool("run_tests", "Runs tests and gives what they print.", {
    path,
    filter: { type: "string", description: "Part of a test's name.", default: "" },
  }),
  tool("run_command", "Runs a command in the repository's root, for at most two minutes.", {
    command: { type: "string" },
    timeout_seconds: { type: "integer", maximum: 120, default: 60 },
  }),
  tool("query_database", "Asks the copy of the database. SELECT and EXPLAIN only.", {
    sql: { type: "string" },
    format: { type: "string", enum: ["table", "json"], default: "table" },
  }),
  tool("http_request", "Sends a request to the service under test.", {
    method: { type: "string", enum: ["GET", "POST", "PUT", "DELETE"] },
    path: { type: "string" },
    body: { type: "object", default: {} },
  }),
  tool("read_log", "Gives the log of a worker, the newest lines last.", {
    worker: { type: "string" },
    since: { type: "string", description: "A time, or 2h." },
    format: { type: "string", enum: ["text", "json"], default: "text" },
  }),
  tool("fetch_page", "Fetches a page of the service as HTML.", { url: { type: "string" } }),
  tool("take_screenshot", "Takes a picture of a page of the service.", {
    url: { type: "string" },
    width: { type: "integer", default: 1280 },
  }),
];
