// The rooms of the product, in order: a room may import only rooms before it, types included. Each row has the name of the
// room, the file at which to start reading, and the purpose. This list is the source of the lint rules (biome.gen.mjs), the
// checks of tidy.mjs, the table in ARCHITECTURE.md and the list of all files (map.mjs).

export const source = "packages/plimsoll/src";

/** A pure room does no I/O: it receives time, network, files and processes as parameters. */
const pure = true;

export const rooms = [
  [
    "bounds",
    "bounded-map.ts",
    "Caches with a size limit, growing pauses between tries, bounded queues",
    pure,
  ],
  [
    "text",
    "for-models.ts",
    "Formatting digits and sentences, matching wildcards, and every text that a model reads",
    pure,
  ],
  ["message", "message.ts", "The basic types: messages, edits, events and errors", pure],
  [
    "search",
    "collect-passages.ts",
    "Finds passages, messages and tools by words and by meaning",
    pure,
  ],
  [
    "budget",
    "guard.ts",
    "Counts tokens, computes limits, and decides in the guard whether a request fits",
    pure,
  ],
  [
    "prompt",
    "cache-plan.ts",
    "The provider's cache: cache marks, prices, and when a compaction saves money",
    pure,
  ],
  [
    "offload",
    "own-tools.ts",
    "Content outside the window: references, and Plimsoll's own tools to read it",
    pure,
  ],
  ["workers", "with-timeout.ts", "Worker threads, and time limits for work that may hang"],
  ["store/forget", "forgetting.ts", "Deletes sessions from all files"],
  ["store", "store.ts", "The append-only store: SQLite in worker threads, or memory"],
  [
    "watch",
    "event-stream.ts",
    "Shared by all screens, also in a browser: reading events, formatting figures and words",
    pure,
  ],
  [
    "wire/format",
    "wire.ts",
    "The interface of a wire; reading JSON and event streams byte by byte",
    pure,
  ],
  ["wire/anthropic", "anthropic.ts", "The wire of Anthropic Messages", pure],
  ["wire/openai-chat", "openai-chat.ts", "The wire of OpenAI Chat Completions", pure],
  ["wire/openai-responses", "openai-responses.ts", "The wire of OpenAI Responses", pure],
  ["wire/gemini", "gemini.ts", "The wire of Gemini", pure],
  ["wire/validate/rules", "rule.ts", "The interface of a validation rule", pure],
  ["wire/validate/anthropic", "messages.ts", "Anthropic's rules", pure],
  ["wire/validate/openai", "chat.ts", "The rules of OpenAI and of compatible servers", pure],
  ["wire/validate/gemini", "gemini.ts", "Gemini's rules", pure],
  ["wire/validate/any", "texts.ts", "Plimsoll's own rules, for every wire", pure],
  [
    "wire/validate",
    "validate.ts",
    "The validator: rejects an edited request that breaks a rule",
    pure,
  ],
  ["wire", "wires.ts", "Finds a wire by name, and recognises bodies and errors", pure],
  ["wire/translate", "translate.ts", "Translates between the wires of Anthropic and OpenAI", pure],
  [
    "compact/units",
    "fixed-units.ts",
    "Which units may be taken out, and the notices that replace them",
    pure,
  ],
  ["compact/relevance", "relevance.ts", "How relevant a message is to the task", pure],
  ["compact/content/cut", "compressor.ts", "Shortens a text by lines and pieces", pure],
  ["compact/content/json", "json.ts", "Shortens JSON", pure],
  ["compact/content/code", "code.ts", "Shortens source code by its syntax", pure],
  ["compact/content/kinds", "log.ts", "Shortens logs, diffs, tables, traces and prose", pure],
  [
    "compact/content",
    "content.ts",
    "Recognises the kind of a text and picks the code that shortens it",
    pure,
  ],
  [
    "compact/evidence",
    "evidence.ts",
    "Facts in a text (names, figures, errors, decisions), and the receipts of compactions",
    pure,
  ],
  [
    "compact/summary",
    "summary.ts",
    "Summaries, by quotation or by a model, and the checks before one is used",
    pure,
  ],
  ["compact/story", "story.ts", "The story so far: requests, outcomes, effects and failures", pure],
  [
    "compact/excerpt",
    "excerpt.ts",
    "The excerpt: keeps the lines that later turns are likely to need",
    pure,
  ],
  ["compact/strategies", "truncate.ts", "The other strategies, one file each", pure],
  ["compact", "chain.ts", "The chain: which strategies run, in which order", pure],
  ["simulate", "simulate.ts", "Simulates conversations", pure],
  ["config", "schema.ts", "The configuration, its sources, and the data folder"],
  [
    "session/log",
    "log.ts",
    "One session: its tree of messages, its branches, edits and view, and saving them",
  ],
  ["session/measure", "target.ts", "The tokens, target, calibration and prices of a request"],
  ["session/identify", "find-session.ts", "Finds the session and branch that a request continues"],
  [
    "session/models",
    "summariser.ts",
    "Other models that Plimsoll uses: summariser, embedder, word vectors",
  ],
  [
    "session/tools",
    "own-tools-offer.ts",
    "The tools of a request: the client's and Plimsoll's own",
  ],
  [
    "session/draft",
    "draft.ts",
    "A request before it is sent: view, patches, size, projection, validation",
  ],
  ["session/threads", "job-thread.ts", "Long work, in separate threads"],
  [
    "session/fit",
    "fit.ts",
    "Makes a request fit: defers tools, offloads results, compacts, recovers",
  ],
  [
    "session/lookup",
    "answer-own-call.ts",
    "Answers lookups in the archive: read_result, recall, grep",
  ],
  ["session/turn", "turn.ts", "One request, from start to end: start reading here"],
  ["session/inspect", "window.ts", "Pictures, figures and reports of a session"],
  ["session/steer", "steer.ts", "Changes by hand: undo, restore, pin, compact"],
  ["session/library", "session.ts", "The library's Session"],
  [".", "plimsoll.ts", "The engine, which puts the parts together, and the public API"],
  ["replay", "replay.ts", "Replays recorded conversations under other policies"],
  ["server/http", "route.ts", "HTTP requests and answers: bodies, routes, checks"],
  ["server/proxy", "model-route.ts", "Sends requests to the provider and relays the answers"],
  ["server/api", "api.ts", "The HTTP API and the stream of events"],
  ["server/mcp", "mcp.ts", "The MCP server"],
  ["server/telemetry", "telemetry.ts", "Metrics and traces"],
  ["server", "server.ts", "The service: routes, dashboard, listening"],
  ["cli/console", "terminal.ts", "Shared by all commands: terminal, store, signals"],
  ["cli/report", "report.ts", "The report as one HTML page"],
  ["cli/top", "top.ts", "`plimsoll top`"],
  ["cli/run", "run.ts", "`plimsoll run`: starts an agent and the service, and prints the totals"],
  ["cli/commands", "serve.ts", "The commands, one file each"],
  ["cli", "main.ts", "The command line"],
].map(([name, front, purpose, isPure = false]) => ({ name, front, purpose, isPure }));

/** Maximum number of files in a room. Tests are not counted. */
export const mostFiles = 25;
