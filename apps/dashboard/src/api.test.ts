import { expect, test } from "vitest";
import { ApiError, createApi } from "./api.ts";

interface Asked {
  readonly url: string;
  readonly method: string | undefined;
  readonly body: unknown;
  readonly headers: Headers;
}

function asking(answer: () => Response | Promise<Response>) {
  const asked: Asked[] = [];
  const api = createApi(
    () => "secret",
    async (input, init) => {
      asked.push({
        url: String(input),
        method: init?.method,
        body: init?.body,
        headers: new Headers(init?.headers),
      });
      init?.signal?.throwIfAborted();
      return answer();
    },
  );
  return { api, asked };
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "none",
    (error: unknown) => error instanceof ApiError && `${error.status} ${error.code}`,
  );

test("calls carry the token, and what somebody else named cannot leave its place", async () => {
  const { api, asked } = asking(() => Response.json({ items: [] }));
  await api.window("a/../b?c", { at: "cp_7" });
  await api.sessions();
  await api.search("x & y", "s1");
  expect(asked.map(({ url }) => url)).toEqual([
    "/api/sessions/a%2F..%2Fb%3Fc/window?at=cp_7",
    "/api/sessions",
    "/api/search?q=x+%26+y&session=s1",
  ]);
  expect(asked[0]?.headers.get("authorization")).toBe("Bearer secret");
});

test("what is read of a branch says which", async () => {
  const { api, asked } = asking(() => Response.json({ items: [] }));
  await api.window("s1", { branch: "br_2" });
  await api.messages("s1", { first: 1, last: 9, branch: "br_2" });
  await api.diff("s1", { from: "cp_7", branch: "br_2" });
  await api.window("s1");
  await api.turns("s1");
  expect(asked.map(({ url }) => url.replace("/api/sessions/s1/", ""))).toEqual([
    "window?branch=br_2",
    "messages?first=1&last=9&branch=br_2",
    "diff?from=cp_7&branch=br_2&form=text",
    "window",
    "turns?limit=10000",
  ]);
});

test("what changes something is sent as JSON", async () => {
  const { api, asked } = asking(() => Response.json({}));
  await api.steer("s1", "undo", { edit: 3 });
  await api.saveConfig({ revision: "r" });
  expect(asked).toMatchObject([
    { url: "/api/sessions/s1/undo", method: "POST", body: '{"edit":3}' },
    { url: "/api/config", method: "PUT", body: '{"revision":"r"}' },
  ]);
  expect(asked[0]?.headers.get("content-type")).toBe("application/json");
});

test("errors are the service's own sentence", async () => {
  const { api } = asking(() =>
    Response.json({ error: { code: "CONFIG_CHANGED", message: "Look again." } }, { status: 409 }),
  );
  expect(await failureOf(api.config())).toBe("409 CONFIG_CHANGED");
  await expect(api.config()).rejects.toThrow("Look again.");
});

test("a service that is away, and one that is another program, are told apart", async () => {
  const away = asking(() => Promise.reject(new TypeError("Failed to fetch")));
  expect(await failureOf(away.api.agents())).toBe("0 OFFLINE");
  const other = asking(() => new Response("<html>", { status: 502 }));
  expect(await failureOf(other.api.agents())).toBe("502 NOT_JSON");
  const odd = asking(() => Response.json(null, { status: 500 }));
  expect(await failureOf(odd.api.agents())).toBe("500 UNKNOWN");
});

test("a call that nobody waits for any more is no failure of the service", async () => {
  const { api } = asking(() => Response.json({}));
  expect(await failureOf(api.cost(undefined, AbortSignal.abort()))).toBe("0 ABORTED");
});
