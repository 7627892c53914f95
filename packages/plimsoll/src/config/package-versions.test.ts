import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type OptionalUse, optionalPackages } from "../message/optional-packages.ts";
import { installedFor } from "./package-versions.ts";

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
}
const manifest = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as Manifest;
const uses = Object.keys(optionalPackages) as readonly OptionalUse[];

test("what may be missing is what package.json calls an optional peer, in the same versions", () => {
  const versions = Object.assign({}, ...uses.map((use) => optionalPackages[use].versions));
  expect(versions).toEqual(manifest.peerDependencies);
  for (const name of Object.keys(versions)) {
    expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
    expect(manifest.dependencies).not.toHaveProperty(name);
  }
});

test("tests have all of it but the half gigabyte of sentence models", () => {
  for (const use of uses)
    expect([use, installedFor(use).kind]).toEqual([
      use,
      use === "embeddings" ? "unusable" : "fitting",
    ]);
});

describe("the sentence", () => {
  test("names what is not installed, what to run, and what happens until then", () => {
    expect(installedFor("tokenizers", () => undefined)).toEqual({
      kind: "unusable",
      sentence:
        'Counting with a tokenizer.json of your own (hf:FILE) is off, because @huggingface/tokenizers is not installed: run "npm install @huggingface/tokenizers@^0.2.0". Until then its tokens are estimated.',
    });
  });

  test("names the one package of several that is missing, and installs all", () => {
    const lacksRust = (name: string): string | undefined =>
      name === "@ast-grep/lang-rust" ? undefined : optionalPackages.code.versions[name]?.slice(1);
    expect(installedFor("code", lacksRust)).toMatchObject({
      sentence: expect.stringMatching(
        /because @ast-grep\/lang-rust is not installed: run "npm install @ast-grep\/napi@.+lang-rust@\^0\.0\.7"/,
      ),
    });
  });
});

describe("a version", () => {
  const of = (use: OptionalUse, version: string): string => installedFor(use, () => version).kind;

  test.each([
    ["4.0.0", "fitting"],
    ["4.0.1", "fitting"],
    ["4.9.0", "fitting"],
    ["4.1.0-beta.2", "fitting"],
    ["3.9.9", "unusable"],
    ["5.0.0", "unusable"],
    ["0.4.0", "unusable"],
    ["nonsense", "unusable"],
  ])("%s of a package that has to be ^4.0.0 is %s", (version, kind) => {
    expect(of("embeddings", version)).toBe(kind);
  });

  test.each([
    ["0.2.0", "fitting"],
    ["0.2.9", "fitting"],
    ["0.3.0", "unusable"],
    ["0.1.9", "unusable"],
    ["1.2.0", "unusable"],
  ])("%s of a package that has to be ^0.2.0 is %s", (version, kind) => {
    expect(of("tokenizers", version)).toBe(kind);
  });

  test("that does not fit is named", () => {
    expect(installedFor("tokenizers", () => "0.1.0")).toMatchObject({
      sentence: expect.stringContaining(
        "because version 0.1.0 of @huggingface/tokenizers does not fit: run",
      ),
    });
  });
});
