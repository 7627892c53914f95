/**
 * Finds the credentials of a request, and removes them from texts. An upstream that refuses a key often quotes it. In everything
 * that Plimsoll stores, announces, logs or exports, a mark replaces the credential. The client gets the text unchanged.
 */

import { isObject, type JsonValue } from "../../message/json.ts";

/** Names of headers and query fields whose values are secret. */
const secretName = /key|token|secret|auth|cookie|password|credential|signature/i;
/** Minimum length of a credential. Shorter values are not real secrets, and also occur in harmless text. */
const minChars = 8;
/** Maximum number of credentials to collect. Headers have at most 64 kB together, and real requests never have this many. */
const maxValues = 100;
const mark = "[credential]";

/** `headers` contains names and values alternately, as they came. `url` is the path with the query. */
export function credentialsOf(headers: readonly string[], url: string): readonly string[] {
  const found: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? "";
    if (secretName.test(name)) found.push(...headerSecrets(name, headers[index + 1] ?? ""));
  }
  const query = url.slice(url.indexOf("?") + 1 || url.length);
  for (const field of query.split("&")) {
    const [name = "", value = ""] = splitOnce(field, "=");
    if (secretName.test(decoded(name))) found.push(value, decoded(value.replaceAll("+", " ")));
  }
  const long = found.filter(({ length }) => length >= minChars);
  return [...new Set(long)].slice(0, maxValues);
}

function headerSecrets(name: string, value: string): readonly string[] {
  if (/cookie/i.test(name))
    return value.split(";").flatMap((pair) => {
      const [, cookie = ""] = splitOnce(pair.trim(), "=");
      return [cookie, decoded(cookie)];
    });
  const [scheme = "", rest = ""] = splitOnce(value.trim(), " ");
  const token = rest.trim();
  if (scheme.toLowerCase() !== "basic") return token === "" ? [value.trim()] : [token, value];
  const pair = unpackedBase64(token);
  return [token, pair, splitOnce(pair, ":")[1] ?? ""];
}

/** Removes credentials in every form in which they may be quoted: plain, URL-encoded or as JSON, in upper or lower case. */
export function withoutCredentials(text: string, credentials: readonly string[]): string {
  const forms = credentials.flatMap((value) => [value, urlEncoded(value), inJson(value)]);
  if (forms.length === 0) return text;
  // Longer spellings come first, because a long spelling may contain a shorter one.
  const sources = [...new Set(forms)].sort((one, other) => other.length - one.length);
  return text.replace(new RegExp(sources.map(literal).join("|"), "gi"), mark);
}

/** Removes credentials from every string in a JSON value, including field names. */
export function withoutCredentialsInside<T extends JsonValue | undefined>(
  value: T,
  credentials: readonly string[],
): T {
  const clean = (inner: JsonValue | undefined): JsonValue | undefined => {
    if (typeof inner === "string") return withoutCredentials(inner, credentials);
    if (Array.isArray(inner)) return inner.map((item) => clean(item) ?? null);
    if (!isObject(inner)) return inner;
    return Object.fromEntries(
      Object.entries(inner).map(([name, field]) => [
        withoutCredentials(name, credentials),
        clean(field),
      ]),
    );
  };
  return credentials.length === 0 ? value : (clean(value) as T);
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function literal(value: string): string {
  return value.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

function urlEncoded(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    // Half a surrogate pair cannot be URL-encoded.
    return value;
  }
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function unpackedBase64(value: string): string {
  try {
    return atob(value);
  } catch {
    return "";
  }
}
