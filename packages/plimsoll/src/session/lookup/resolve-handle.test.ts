import fs, { existsSync, mkdtempSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { called, offload, result, said, tell } from "../../../test/generate/told-sessions.ts";
import { tries } from "../../../test/harness/effort.ts";
import { openSqliteStore } from "../../store/sqlite.ts";
import type { Store } from "../../store/store.ts";
import { createReferenceReader } from "./resolve-handle.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-references-"));
let store: Store;
/** By session: the handle of its only result. */
const handles = new Map<string, string>();
const sessions = [
  { session: "ses_a1", tenant: "a" },
  { session: "ses_a2", tenant: "a" },
  { session: "ses_b1", tenant: "b" },
];

beforeAll(async () => {
  store = await openSqliteStore({ file: join(folder, "store.db") });
  for (const owner of sessions) {
    const secret = `secret of ${owner.session}`;
    const messages = [said("user", "go"), called("c", "cat", {}), result("c", secret)];
    await tell(store, { ...owner, messages });
    const source = { kind: "part", seq: 3, part: 0 } as const;
    handles.set(owner.session, await offload(store, owner, source));
  }
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

const handleOf = (session: string): string => handles.get(session) ?? "";

/** A store that records which of its methods were called, and with which arguments. */
function watched(): { readonly store: Store; readonly calls: (readonly [string, unknown[]])[] } {
  const calls: (readonly [string, unknown[]])[] = [];
  const proxy = new Proxy(store, {
    get: (target, name: keyof Store) => {
      const member: unknown = target[name];
      if (typeof member !== "function") return member;
      return (...given: unknown[]) => {
        calls.push([name, given]);
        return (member as (...all: unknown[]) => unknown).apply(target, given);
      };
    },
  });
  return { store: proxy, calls };
}

describe("what a reference opens", () => {
  test("a handle, a message by its handle and number, a message of the known session", async () => {
    const references = createReferenceReader(store);
    const owner = { tenant: "a", session: "ses_a1" };
    const texts: string[] = [];
    for (const name of [handleOf("ses_a1"), `${handleOf("ses_a1")}#1`, "#3"]) {
      const opened = await references.open(owner, name);
      texts.push(opened.kind === "text" ? new TextDecoder().decode(opened.bytes) : opened.kind);
    }
    expect(texts).toEqual(["secret of ses_a1", "go", "secret of ses_a1"]);
    references.close();
  });

  test.each([
    ["another tenant", { tenant: "b", session: undefined }, ""],
    ["another tenant in a session of its own", { tenant: "b", session: "ses_b1" }, ""],
    ["another tenant that names the session", { tenant: "b", session: "ses_a1" }, ""],
    ["another session of the tenant", { tenant: "a", session: "ses_a2" }, ""],
    ["another session of the tenant, by number", { tenant: "a", session: "ses_a2" }, "#1"],
    ["the owner in another session", { tenant: undefined, session: "ses_b1" }, ""],
    ["nobody known", { tenant: "", session: undefined }, ""],
  ])("nothing, for %s", async (_, owner, suffix) => {
    const references = createReferenceReader(store);
    // Even after it was opened by an owner who may open it.
    await references.open({ tenant: "a", session: "ses_a1" }, `${handleOf("ses_a1")}${suffix}`);
    const opened = await references.open(owner, `${handleOf("ses_a1")}${suffix}`);
    expect(opened).toEqual({ kind: "absent" });
    references.close();
  });

  test("a number opens nothing without a session, in a foreign one, or where there is no such message", async () => {
    const references = createReferenceReader(store);
    const absent = { kind: "absent" };
    expect(await references.open({ tenant: "a", session: undefined }, "#1")).toEqual(absent);
    expect(await references.open({ tenant: "b", session: "ses_a1" }, "#1")).toEqual(absent);
    expect(await references.open({ tenant: "a", session: "ses_a1" }, "#4")).toEqual(absent);
    references.close();
  });

  test("the owner, who is in no session, may open all", async () => {
    const references = createReferenceReader(store);
    for (const { session } of sessions) {
      const owner = { tenant: undefined, session: undefined };
      expect(await references.open(owner, handleOf(session))).toMatchObject({ kind: "text" });
    }
    references.close();
  });
});

describe("two tenants at once", () => {
  test("see their own and nothing else, in whatever order they ask", async () => {
    const references = createReferenceReader(store);
    const ask = fc.record({
      asker: fc.nat(2),
      wanted: fc.nat(2),
      suffix: fc.constantFrom("", "#3"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(ask, { minLength: 1, maxLength: 30 }), async (asks) => {
        const opened = await Promise.all(
          asks.map(({ asker, wanted, suffix }) => {
            const owner = sessions[asker] ?? { tenant: "", session: "" };
            return references.open(owner, `${handleOf(sessions[wanted]?.session ?? "")}${suffix}`);
          }),
        );
        const seen = opened.map((one) =>
          one.kind === "text" ? new TextDecoder().decode(one.bytes) : one.kind,
        );
        expect(seen).toEqual(
          asks.map(({ asker, wanted }) =>
            asker === wanted ? `secret of ${sessions[wanted]?.session}` : "absent",
          ),
        );
      }),
      tries({ runs: 50, seed: 20261116 }),
    );
    references.close();
  });
});

/** Names that mean something to a file system, a shell, a database, or code that decodes too much. */
const hostile = [
  ...["../", "..\\", "/etc/passwd", "....//", "%2e%2e%2f", "%252e", "\0", "pl_\0", "file:///", "~"],
  ...[
    "CON",
    "NUL",
    "COM1",
    "/dev/zero",
    "/proc/self/environ",
    "\u2024\u2024\u2215",
    "\uff0e\uff0e\uff0f",
  ],
  ...[
    "' OR 1=1 --",
    "'; DROP TABLE archive; --",
    "%",
    "_",
    "*",
    "pl_%",
    "1 UNION SELECT * FROM archive",
  ],
  ...[
    "$(id)",
    "`id`",
    "{{7*7}}",
    "__proto__",
    "constructor",
    "#0",
    "#-1",
    "#1e3",
    "#99999999999",
    "##1",
  ],
];

/** 100,000 forged handles, the same in every run. */
function* forged(real: string): Generator<string> {
  const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  let state = 12_345;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let n = 0; n < 100_000; n++) {
    const word = hostile[n % hostile.length] ?? "";
    const at = next(real.length - 3) + 3;
    const old = letters.indexOf(real[at] ?? "");
    const other = letters[(old + 1 + next(61)) % 62] ?? "";
    switch (next(8)) {
      case 0:
        yield word.repeat(1 + next(20));
        break;
      case 1:
        yield `${word}${real}`;
        break;
      case 2:
        yield `${real}${word}`;
        break;
      case 3:
        yield real.slice(0, next(real.length));
        break;
      case 4:
        yield `${real.slice(0, at)}${word}${real.slice(at)}`;
        break;
      case 5:
        yield `${real.slice(0, at)}${other}${real.slice(at + 1)}`;
        break;
      case 6:
        yield `pl_${Array.from({ length: 22 }, () => letters[next(62)]).join("")}${next(2) === 0 ? "" : "#1"}`;
        break;
      default:
        yield next(2) === 0 ? real.toUpperCase() : encodeURIComponent(`${real}${word}`);
    }
  }
}

function seenCalls(
  spies: readonly { readonly mock: { readonly calls: readonly unknown[] } }[],
): readonly unknown[] {
  return spies.flatMap(({ mock }) => mock.calls);
}

test("100,000 forged references open nothing, and reach nothing but the lookup of handles", async () => {
  const opened = [
    "open",
    "openSync",
    "readFile",
    "readFileSync",
    "stat",
    "statSync",
    "lstatSync",
    "realpathSync",
    "existsSync",
    "createReadStream",
    "opendirSync",
    "readdirSync",
  ] as const;
  const spies = opened.map((name) => vi.spyOn(fs, name));
  const later = (["open", "readFile", "stat", "readdir"] as const).map((name) =>
    vi.spyOn(fs.promises, name),
  );
  syncBuiltinESMExports();
  const { store: seen, calls } = watched();
  // The spies notice access to a file.
  existsSync(folder);
  expect(seenCalls(spies)).toEqual([[folder]]);
  for (const spy of spies) spy.mockClear();
  const references = createReferenceReader(seen);
  const real = handleOf("ses_a1");
  const kinds = new Map<string, number>();
  let waiting: Promise<{ readonly kind: string }>[] = [];
  const settle = async (): Promise<void> => {
    for (const { kind } of await Promise.all(waiting)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    waiting = [];
  };
  for (const name of forged(real)) {
    if (name === real) throw new Error("a genuine handle is among the forged ones");
    waiting.push(references.open({ tenant: "a", session: undefined }, name));
    if (waiting.length === 1000) await settle();
  }
  await settle();
  expect([...kinds]).toEqual([["absent", 100_000]]);
  expect(new Set(calls.map(([name]) => name))).toEqual(new Set(["archived"]));
  const asked = calls.map(([, given]) => given);
  expect(asked.length).toBeGreaterThan(20_000);
  expect(asked.every(([tenant]) => tenant === "a")).toBe(true);
  expect(asked.filter(([, handle]) => !/^pl_[0-9A-Za-z]{22}$/.test(String(handle)))).toEqual([]);
  expect(seenCalls([...spies, ...later])).toEqual([]);
  references.close();
});
