/** Asks the configured model one question over HTTP. Its error messages are written for people and never quote the key. */

import { errorMessage, PlimsollError } from "../../message/error.ts";
import type { JsonValue } from "../../message/json.ts";
import { withoutCredentials } from "../../wire/format/credentials.ts";
import {
  type AskedServer,
  needsKey,
  type OneAnswer,
  type OneQuestion,
  questionBody,
  questionHeaders,
  questionUrl,
  readAnswer,
} from "../../wire/one-question.ts";

export interface ModelSettings {
  readonly provider: AskedServer;
  readonly model: string;
  readonly baseUrl?: string;
  /** Name of the environment variable with the key. The key itself is never configured. Undefined if the server needs none. */
  readonly apiKeyEnv?: string;
}

export interface ModelOutside {
  readonly fetch?: typeof globalThis.fetch;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Question extends Omit<OneQuestion, "model"> {
  readonly signal: AbortSignal;
}

/** Maximum size of an answer in bytes. Answers within the token limit are much smaller. */
const maxBytes = 4_000_000;

/**
 * Asks once, without a second attempt and without following redirects. Contract: rejects if the answer is not in the provider's
 * format.
 */
export async function askModel(
  settings: ModelSettings,
  outside: ModelOutside,
  question: Question,
): Promise<OneAnswer> {
  const { apiKeyEnv = "" } = settings;
  const key = outside.env[apiKeyEnv]?.trim() || undefined;
  try {
    const response = await send(settings, outside, key, question);
    return await read(settings.provider, response);
  } catch (error) {
    if (question.signal.aborted) throw error;
    throw new Error(withoutCredentials(sentenceOf(error), key === undefined ? [] : [key]));
  }
}

function send(
  { provider, model, baseUrl, apiKeyEnv }: ModelSettings,
  outside: ModelOutside,
  key: string | undefined,
  { signal, ...question }: Question,
): Promise<Response> {
  if (key === undefined && needsKey(provider))
    throw new PlimsollError(
      "CONFIG_INVALID",
      apiKeyEnv === undefined
        ? "The summariser needs a key. Name its environment variable in apiKeyEnv."
        : `The summariser needs a key. Set ${apiKeyEnv}.`,
    );
  const url = questionUrl(provider, { baseUrl, model });
  if (url === undefined)
    throw new PlimsollError("CONFIG_INVALID", "The summariser has no address. Set its baseUrl.");
  if (url.username !== "" || url.password !== "")
    throw new PlimsollError(
      "CONFIG_INVALID",
      `The summariser's baseUrl must not contain a user name or a password. Put the key into ${apiKeyEnv ?? "a variable that apiKeyEnv names"}.`,
    );
  return (outside.fetch ?? fetch)(url, {
    method: "POST",
    headers: questionHeaders(provider, key),
    body: questionBody(provider, { ...question, model }),
    redirect: "manual",
    signal,
  });
}

async function read(provider: AskedServer, response: Response): Promise<OneAnswer> {
  const { status } = response;
  if (status >= 300 && status < 400) {
    await response.body?.cancel();
    throw new Error(
      `the model's server answered ${status}: Plimsoll does not follow redirects, so put the final address into baseUrl`,
    );
  }
  const text = await textOf(response);
  const json = parsed(text);
  const answer = json === undefined ? undefined : readAnswer(provider, json);
  if (status >= 400) {
    const words = answer?.error ?? text;
    throw new Error(`the model's server answered ${status}${words === "" ? "" : `: ${words}`}`);
  }
  if (answer === undefined) throw new Error("the model's server did not answer with JSON");
  if (answer.error !== undefined) throw new Error(`the model's server said: ${answer.error}`);
  return answer;
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`the model's answer has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The message of an error. An error of `fetch` says only "fetch failed", and has the reason in its `cause`. */
function sentenceOf(error: unknown): string {
  const cause = error instanceof Error && !PlimsollError.is(error) ? error.cause : undefined;
  if (!(cause instanceof Error)) return errorMessage(error);
  return `${errorMessage(error)}: ${cause.message || ("code" in cause ? String(cause.code) : cause.name)}`;
}
