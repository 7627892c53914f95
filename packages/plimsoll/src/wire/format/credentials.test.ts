/** Credentials of a request, and texts that quote them. */

import { expect, test } from "vitest";
import { credentialsOf, withoutCredentials, withoutCredentialsInside } from "./credentials.ts";

const key = "sk-ant-api03-Canary_0/plus+and=";

test.each<[string, readonly string[], string, string]>([
  ["a key in its header", ["x-api-key", key], "/v1/messages", key],
  ["a bearer", ["Authorization", `Bearer ${key}`], "/", key],
  ["the key of another vendor", ["x-goog-api-key", key], "/", key],
  ["what was meant for a proxy", ["Proxy-Authorization", `Digest ${key}`], "/", key],
  [
    "a password as it is sent",
    ["authorization", `Basic ${btoa("me:open sesame")}`],
    "/",
    btoa("me:open sesame"),
  ],
  [
    "a name and password",
    ["authorization", `Basic ${btoa("me:open sesame")}`],
    "/",
    "me:open sesame",
  ],
  ["a password alone", ["authorization", `Basic ${btoa("me:open sesame")}`], "/", "open sesame"],
  ["a cookie among others", ["cookie", `theme=dark; sid=${key}; a=b`], "/", key],
  ["a key in the address", [], `/v1/models?alt=sse&key=${encodeURIComponent(key)}`, key],
  [
    "a key in the address, as it stands there",
    [],
    `/?key=${encodeURIComponent(key)}`,
    encodeURIComponent(key),
  ],
  ["a key in capitals", ["x-api-key", key], "/", key.toUpperCase()],
])("%s is not repeated", (_name, headers, url, quoted) => {
  const text = `invalid credential: ${quoted}, sorry`;
  expect(withoutCredentials(text, credentialsOf(headers, url))).toBe(
    "invalid credential: [credential], sorry",
  );
});

test("a key is found in JSON and in an address, wherever it stands there", () => {
  const awkward = 'quote"back\\slash';
  const credentials = credentialsOf(["x-api-key", awkward], "/");
  const text = `${JSON.stringify({ got: awkward })} at https://up/?key=${encodeURIComponent(awkward)}.`;
  expect(withoutCredentials(text, credentials)).toBe(
    '{"got":"[credential]"} at https://up/?key=[credential].',
  );
  const value = { [awkward]: [`x ${awkward}`, 7, null] };
  expect(withoutCredentialsInside(value, credentials)).toEqual({
    "[credential]": ["x [credential]", 7, null],
  });
});

test("short values and other headers hit no innocent text", () => {
  const headers = ["x-api-key", "dummy", "cookie", "a=1; b=true", "user-agent", "claude-cli/2.0"];
  const text = "a dummy key is true for claude-cli/2.0";
  expect(withoutCredentials(text, credentialsOf(headers, "/?key=x&alt=streaming"))).toBe(text);
});

test("a value that is a pattern is taken as it is written", () => {
  const credentials = credentialsOf(["x-api-key", "(a+)+$.*[b]{2}"], "/%%?key=%E0%A4%A");
  expect(withoutCredentials("aaaa (a+)+$.*[b]{2} %E0%A4%A aab", credentials)).toBe(
    "aaaa [credential] [credential] aab",
  );
});
