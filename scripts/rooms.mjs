// The rooms of the product, in the order in which they may import each other: a room imports only rooms before it, types
// included. Each has one file to start reading at. From this list come the lint rules (biome.gen.mjs), the checks of
// tidy.mjs, the table in ARCHITECTURE.md and the list of all files (map.mjs).

export const source = "packages/plimsoll/src";

/** A pure room takes whatever is not pure (time, network, files, processes) as a parameter. */
const pure = true;

export const rooms = [
  ["bounds", "bounded-map.ts", "Bounds: caches that forget, pauses that grow, queues", pure],
  [
    "text",
    "for-models.ts",
    "Digits, sentences and wildcards; and every sentence that Plimsoll writes for a model",
    pure,
  ],
  [
    "message",
    "message.ts",
    "Messages, edits, events and errors: the words that all others use",
    pure,
  ],
  [
    "search",
    "collect-passages.ts",
    "Finding passages, messages and tools by words and meaning",
    pure,
  ],
  ["budget", "guard.ts", "Counting tokens, limits, and the guard that compares the two", pure],
  [
    "prompt",
    "cache-plan.ts",
    "The provider's cache: where marks go, what tokens cost, when a compaction pays",
    pure,
  ],
  [
    "offload",
    "own-tools.ts",
    "Texts and tools outside the window: references, and the tools to read them",
    pure,
  ],
  ["workers", "with-timeout.ts", "Worker threads, and time limits for work that may never end"],
  ["store", "store.ts", "The append-only store: SQLite in a thread, or memory"],
  [
    "watch",
    "event-stream.ts",
    "What screens share: events, figures and words, also in a browser",
    pure,
  ],
  ["wire/format", "wire.ts", "What a wire is, and JSON and event streams byte by byte", pure],
  ["wire/anthropic", "anthropic.ts", "Anthropic Messages", pure],
  ["wire/openai-chat", "openai-chat.ts", "OpenAI Chat Completions", pure],
  ["wire/openai-responses", "openai-responses.ts", "OpenAI Responses", pure],
  ["wire/validate/rules", "rule.ts", "What a provider's rule is", pure],
  ["wire/validate/anthropic", "messages.ts", "Rules of Anthropic", pure],
  ["wire/validate/openai", "chat.ts", "Rules of OpenAI, and of servers that speak like it", pure],
  ["wire/validate/gemini", "gemini.ts", "Rules of Gemini", pure],
  ["wire/validate/any", "texts.ts", "Rules of Plimsoll's own, on every wire", pure],
  ["wire/validate", "validate.ts", "The validator: no request that breaks a rule leaves", pure],
  ["wire", "wires.ts", "The wires by name; what a body or an error is", pure],
  [
    "compact/units",
    "fixed-units.ts",
    "What of a conversation may move, and the notices that stand for it",
    pure,
  ],
  ["compact/relevance", "relevance.ts", "How much a message has to do with the task", pure],
  ["compact/content/cut", "compressor.ts", "Shortening a text by lines and pieces", pure],
  ["compact/content/json", "json.ts", "Shortening JSON", pure],
  ["compact/content/code", "code.ts", "Shortening source code by its syntax", pure],
  ["compact/content/kinds", "log.ts", "Shortening logs, diffs, tables, traces and prose", pure],
  ["compact/content", "content.ts", "The kind of a text, and who shortens it", pure],
  [
    "compact/evidence",
    "evidence.ts",
    "What a text states: names, figures, errors, decisions; receipts of what left",
    pure,
  ],
  [
    "compact/summary",
    "summary.ts",
    "Summaries by quotation or by a model, and whether they may be trusted",
    pure,
  ],
  [
    "compact/excerpt",
    "excerpt.ts",
    "The excerpt: the lines of a conversation that later turns need",
    pure,
  ],
  ["compact/strategies", "truncate.ts", "The strategies, one file each", pure],
  ["compact", "chain.ts", "Strategies in their order", pure],
  ["config", "schema.ts", "The configuration, its sources, and the data folder"],
  [
    "session/log",
    "log.ts",
    "One session: its tree of messages, branches, edits and view, and how it is saved",
  ],
  ["session/measure", "target.ts", "Tokens, targets, calibration and prices of a request"],
  ["session/identify", "find-session.ts", "Which session and branch a request continues"],
  ["session/models", "summariser.ts", "Models from outside: summariser, embedder, word vectors"],
  [
    "session/tools",
    "own-tools-offer.ts",
    "The tools of a request: the client's, and Plimsoll's beside them",
  ],
  [
    "session/draft",
    "draft.ts",
    "What is about to be sent: view, patches, size, projection, validation",
  ],
  ["session/threads", "job-thread.ts", "Work that takes long, in threads of its own"],
  ["session/fit", "fit.ts", "The load line: defer, offload, compact, recover, last resort"],
  [
    "session/lookup",
    "answer-own-call.ts",
    "What left the window, read again: read_result, recall, grep",
  ],
  ["session/turn", "turn.ts", "One request through the system: start reading here"],
  ["session/inspect", "window.ts", "What people are shown of a session"],
  ["session/steer", "steer.ts", "Undo, restore, pin, compact by hand"],
  ["session/library", "session.ts", "The Session of the library"],
  [".", "plimsoll.ts", "The parts put together: the engine, and the public API in front of it"],
  ["replay", "replay.ts", "The replay lab: recorded traffic under other policies"],
  ["server/http", "route.ts", "Requests and answers over HTTP: bodies, routes, checks"],
  ["server/proxy", "model-route.ts", "The way to the provider and back"],
  ["server/api", "api.ts", "The HTTP API and the stream of events"],
  ["server/mcp", "mcp.ts", "The MCP server"],
  ["server/telemetry", "telemetry.ts", "Metrics and traces"],
  ["server", "server.ts", "The service: routes, dashboard, listening"],
  ["cli/console", "terminal.ts", "What all commands share: terminal, store, signals"],
  ["cli/report", "report.ts", "The report as one HTML page"],
  ["cli/top", "top.ts", "`plimsoll top`"],
  ["cli/commands", "serve.ts", "The commands, one file each"],
  ["cli", "main.ts", "The command line"],
].map(([name, front, purpose, isPure = false]) => ({ name, front, purpose, isPure }));

/** No room has more files than this, tests aside. */
export const mostFiles = 25;
