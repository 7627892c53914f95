/** Facts about servers that do not depend on the model. */

/** Ollama silently drops the beginning of a prompt longer than `num_ctx` and answers anyway (docs, "context length", 2026-11). */
export function cutsSilently(provider: string, baseUrl = ""): boolean {
  return /ollama/i.test(provider) || /:11434(?:\/|$)/.test(baseUrl);
}
