// Only wire/ knows provider JSON. This file lists words that belong to one provider or one wire, and the few files outside
// wire/ that may use them. tidy.mjs fails if any other file uses them.

/** Rooms outside wire/ that contain data about models and their servers. */
const rooms = ["wire/", "budget/", "prompt/"];

/** Files that may use such words, with the reason. */
const allowed = {
  "cli/run/clients.ts": "says how to install each agent",
  "cli/commands/recall.ts": "reads lines of its own format, which has `messages`",
  "cli/commands/replay.ts": "names a model to replay on, where a recording names none",
  "cli/commands/tool-search.ts": "reads lines of its own format, which has `tools`",
  "compact/evidence/speech.ts": "knows the tags that people paste around what a tool printed",
  "compact/summary/forbidden-text.ts": "knows what a summary must not smuggle in, on any wire",
  "config/providers.ts": "says in the words of the documentation what a setting is for",
  "config/schema.ts": "says in the words of the documentation who can write summaries",
  "config/summariser.ts": "names who can write summaries",
  "server/telemetry/content.ts": "writes the names of OpenTelemetry's GenAI conventions",
  "store/sql-store.ts": "reads a column of that name",
  "store/record.ts": "holds examples of records, for a better compression",
};

const patterns = [
  // Fields, blocks, stop reasons and headers.
  /\b(?:tool_choice|tool_calls?|tool_call_id|tool_use|tool_use_id|tool_result|tool_reference|defer_loading|input_schema)\b/g,
  /\b(?:previous_response_id|item_reference|function_call(?:_output)?|encrypted_content|reasoning_content|redacted_thinking)\b/g,
  /\b(?:cache_control|prompt_cache_\w+|max_completion_tokens|budget_tokens|stop_reason|finish_reason|end_turn|pause_turn|content_filter)\b/g,
  /\banthropic-\w+|\bcontext-1m/g,
  /["'](?:max_tokens|max_output_tokens|cache_|instructions|model_context_window_exceeded)["']/g,
  // Names of body fields. A type is written with a capital letter, so it does not match.
  /\b[a-z]\w*(?:\?\.)?\["(?:tools|system|messages|input)"\]|\.(?:get|has|set)\("(?:tools|system|messages|input|model)"/g,
  // Tests for a provider's name. Code should test for a capability instead.
  /(?:[!=]==|case)\s*"(?:anthropic|openai|gemini|ollama)[\w-]*"/g,
  /\b(?:claude-(?!code)|gpt-)|mistral|deepseek|ollama/gi,
];

const comments = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;

/** Whether a file may use none of these words. */
function isBound(name) {
  return !name.endsWith(".test.ts") && !rooms.some((room) => name.startsWith(room));
}

/** The problems in these files, given as `[name, text]`. An exception that no file needs is also a problem. */
export function providerWords(files) {
  const found = new Map();
  for (const [name, text] of files) {
    if (!isBound(name)) continue;
    const code = text.replace(comments, (comment) => comment.replace(/[^\n]/g, " "));
    const hits = patterns.flatMap((pattern) => [...code.matchAll(pattern)]);
    const lineOf = (at) => code.slice(0, at).split("\n").length;
    if (hits.length > 0)
      found.set(
        name,
        hits.map(({ 0: word, index }) => `${name}:${lineOf(index)}: ${word} belongs into wire/`),
      );
  }
  const idle = Object.keys(allowed).filter((name) => !found.has(name));
  return [
    ...[...found].flatMap(([name, problems]) => (Object.hasOwn(allowed, name) ? [] : problems)),
    ...idle.map((name) => `provider-words.mjs allows ${name}, which has no need of it`),
  ];
}
