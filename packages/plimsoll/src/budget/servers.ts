/** What is known of servers, whichever model they run. */

/** Ollama keeps the end of what is longer than its `num_ctx`, and answers as if that were all (docs, "context length", 2026-11). */
export function cutsSilently(provider: string, baseUrl = ""): boolean {
  return /ollama/i.test(provider) || /:11434(?:\/|$)/.test(baseUrl);
}
