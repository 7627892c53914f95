import { expect, test } from "vitest";
import { type RouteInput, routeRequest, upstreamUrl } from "./route.ts";

const providers: RouteInput["providers"] = new Map([
  ["anthropic", "anthropic"],
  ["openai", "openai"],
  ["gemini", "gemini"],
  ["vertex", "gemini"],
  ["ollama", "openai"],
]);
const ownAreas = new Set(["healthz", "metrics", "events", "mcp", "api", "assets"]);
const route = (url: string, changes: Partial<RouteInput> = {}) =>
  routeRequest({ method: "POST", url, headers: {}, providers, ownAreas, ...changes });

test.each([
  ["/v1/messages", "anthropic", "/v1/messages"],
  ["/messages", "anthropic", "/v1/messages"],
  ["/v1/messages?beta=true", "anthropic", "/v1/messages?beta=true"],
  ["/anthropic/v1/messages", "anthropic", "/v1/messages"],
  ["/v1/chat/completions", "openai", "/v1/chat/completions"],
  ["/chat/completions", "openai", "/v1/chat/completions"],
  ["/p/ollama/chat/completions", "ollama", "/v1/chat/completions"],
  ["/t/secret/p/ollama/v1/chat/completions", "ollama", "/v1/chat/completions"],
])("%s is a conversation with %s", (url, provider, path) => {
  expect(route(url).route).toMatchObject({ kind: "model", provider, path });
});

test.each([
  ["/v1/responses", "openai", "/v1/responses"],
  ["/responses?x=1", "openai", "/v1/responses?x=1"],
  ["/openai/responses", "openai", "/v1/responses"],
  ["/openai/v1/responses", "openai", "/v1/responses"],
  ["/p/ollama/responses", "ollama", "/v1/responses"],
  ["/t/secret/v1/responses", "openai", "/v1/responses"],
])("%s is a Responses conversation with %s", (url, provider, path) => {
  const wire = "openai-responses";
  expect(route(url).route).toEqual({ kind: "model", provider, wire, path });
});

test.each(["/", "/healthz", "/api/sessions/ses_1/log", "/assets/a.js"])(
  "%s is the service's own",
  (path) => {
    expect(route(`${path}?x=1`).route).toEqual({ kind: "own", path });
  },
);

const vertex = "/v1/projects/p/locations/us-central1/publishers/google/models";

test.each([
  ["/v1beta/models/gemini-3-pro:generateContent", "gemini", "gemini-3-pro"],
  ["/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", "gemini", "gemini-3-pro"],
  ["/v1/models/gemini-3-pro:generateContent", "gemini", "gemini-3-pro"],
  ["/gemini/v1beta/models/gemini-3-pro:generateContent?key=k", "gemini", "gemini-3-pro"],
  ["/t/secret/v1beta/models/gemini-3-pro:generateContent", "gemini", "gemini-3-pro"],
  ["/v1beta/tunedModels/mine-7:generateContent", "gemini", "tunedModels/mine-7"],
  [`/p/vertex${vertex}/gemini-3-pro:streamGenerateContent?alt=sse`, "vertex", "gemini-3-pro"],
  ["/p/vertex/v1/publishers/google/models/gemini-3-pro:generateContent", "vertex", "gemini-3-pro"],
  ["/p/vertex/v1/projects/p/locations/l/endpoints/12:generateContent", "vertex", "endpoints/12"],
])("%s is a Gemini conversation with %s", (url, provider, model) => {
  expect(route(url).route).toMatchObject({ kind: "model", wire: "gemini", provider, model });
  expect(route(url).route).not.toHaveProperty("framing");
});

test("a model that is no text is no conversation", () => {
  expect(route("/v1beta/models/%zz:generateContent").route).toMatchObject({ kind: "relay" });
});

test.each([
  ["/v1/models", { "x-goog-api-key": "k" }],
  ["/v1/models?key=k", {}],
  ["/v1/files", { "x-goog-api-key": "k" }],
  ["/v1/cachedContents", {}],
  ["/v1alpha/caches", {}],
  ["/v1beta1/models/x", {}],
  ["/upload/v1beta/files", {}],
  ["/download/v1beta/files/7:download", {}],
])("%s goes to Google, with Google's key", (url, headers) => {
  expect(route(url, { headers }).route).toMatchObject({ kind: "relay", provider: "gemini" });
});

test("a Gemini stream that is not of events is a JSON array, and counting is neither", () => {
  const path = "/v1beta/models/gemini-3-pro";
  expect(route(`${path}:streamGenerateContent`).route).toMatchObject({ framing: "json-array" });
  expect(route(`${path}:countTokens`).route).toMatchObject({ kind: "count", wire: "gemini" });
});

test("counting is told apart from conversing", () => {
  expect(route("/v1/messages/count_tokens").route).toEqual({
    kind: "count",
    provider: "anthropic",
    wire: "anthropic",
    path: "/v1/messages/count_tokens",
  });
});

test.each([
  ["/v1/embeddings", "openai"],
  ["/v1/responses/compact", "openai"],
  ["/responses/compact", "openai"],
  ["/v1/responses/input_tokens", "openai"],
  ["/v1/responses/resp_1/cancel", "openai"],
  ["/p/ollama/responses/resp_1", "ollama"],
  ["/anthropic/v1/responses", "anthropic"],
  ["/v1beta/models/gemini-3:embedContent", "gemini"],
  ["/gemini/v1beta/models/gemini-3:batchGenerateContent", "gemini"],
  ["/models", "openai"],
])("%s is relayed to %s", (url, provider) => {
  expect(route(url).route).toMatchObject({ kind: "relay", provider });
});

test("a conversation is posted; anything else at its path is relayed", () => {
  expect(route("/v1/messages", { method: "GET" }).route.kind).toBe("relay");
  expect(route("/v1/responses", { method: "GET" }).route.kind).toBe("relay");
});

test.each([
  "/nope",
  "/p/nobody/v1/messages",
  "/v2/messages",
  "//evil.test/v1/messages",
  "http://evil.test/v1/messages",
  "/t/token",
  "*",
])("%s leads nowhere", (url) => {
  expect(route(url).route.kind).toBe("unknown");
});

test("no path climbs out of its prefix", () => {
  expect(route("/p/ollama/../../api/sessions").route).toEqual({
    kind: "own",
    path: "/api/sessions",
  });
  expect(route("/anthropic/%2e%2e/metrics").route).toEqual({ kind: "own", path: "/metrics" });
});

test("the token of the path is taken off it", () => {
  expect(route("/t/abc/v1/messages").pathToken).toBe("abc");
  expect(route("/v1/messages").pathToken).toBeUndefined();
});

test.each([
  ["https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"],
  [
    "https://api.openai.com/v1",
    "/v1/chat/completions?x=1",
    "https://api.openai.com/v1/chat/completions?x=1",
  ],
  ["https://api.openai.com/v1/", "/v1/models", "https://api.openai.com/v1/models"],
  [
    "http://127.0.0.1:11434/v1",
    "/v1/chat/completions",
    "http://127.0.0.1:11434/v1/chat/completions",
  ],
  ["https://host/api/v1", "/v1/chat/completions", "https://host/api/v1/chat/completions"],
  [
    "https://g.test/v1beta",
    "/v1beta/models/x:generateContent",
    "https://g.test/v1beta/models/x:generateContent",
  ],
  ["https://api.test", "/v1/v1something", "https://api.test/v1/v1something"],
])("%s + %s", (base, path, url) => {
  expect(upstreamUrl(base, path).href).toBe(url);
});
