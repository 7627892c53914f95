/** Parts of answers on disk: nothing is overwritten, no link is followed, and nothing is written outside the folder. */

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { partialOf } from "../../work/cut-answer.ts";
import { savePartial, saveWhole } from "./save-partial.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "plimsoll-partial-"));
  folders.push(made);
  return made;
}

function writing(path: string, content = "half"): NonNullable<ReturnType<typeof partialOf>> {
  const partial = partialOf({
    text: "",
    call: { name: "Write", input: JSON.stringify({ path, content }) },
  });
  if (partial === undefined) throw new Error("There is no part.");
  return partial;
}

describe("in Plimsoll's own folder", () => {
  test("parts of the same name get numbers, and only the owner can read them", async () => {
    const own = join(folder(), "partials", "ses_1");
    for (const content of ["first", "second"])
      await savePartial(writing("src/LoginForm.tsx", content), { kind: "own", folder: own });
    expect(readdirSync(own).toSorted()).toEqual([
      "LoginForm.incomplete-2.tsx",
      "LoginForm.incomplete.tsx",
    ]);
    expect(readFileSync(join(own, "LoginForm.incomplete.tsx"), "utf8")).toBe("first");
    expect(statSync(join(own, "LoginForm.incomplete.tsx")).mode & 0o777).toBe(0o600);
  });

  test.each(["../../../etc/passwd", "a/..", "\u0000x", "con\nfig", "x".repeat(5000), "$(rm -rf)"])(
    "a target named %j stays in the folder",
    async (target) => {
      const root = folder();
      const own = join(root, "partials");
      const saved = await savePartial(writing(target), { kind: "own", folder: own });
      expect(saved.kind).toBe("saved");
      expect(readdirSync(root)).toEqual(["partials"]);
      expect(readdirSync(own)).toHaveLength(1);
    },
  );

  test("the whole goes next to its part, under the name of the file, and overwrites nothing", async () => {
    const own = folder();
    writeFileSync(join(own, "LoginForm.tsx"), "the user's own");
    const saved = await savePartial(writing("LoginForm.tsx"), { kind: "own", folder: own });
    const path = saved.kind === "saved" ? await saveWhole(saved.path, "whole") : undefined;
    expect(path).toBe(join(own, "LoginForm-2.tsx"));
    expect(readFileSync(join(own, "LoginForm.tsx"), "utf8")).toBe("the user's own");
  });
});

describe("beside the file that the answer was writing", () => {
  test("a target inside the folder is accepted, relative or absolute", async () => {
    const root = folder();
    mkdirSync(join(root, "src"));
    for (const target of ["src/a.ts", join(root, "src", "b.ts")])
      expect(await savePartial(writing(target), { kind: "beside", root })).toMatchObject({
        kind: "saved",
      });
    expect(readdirSync(join(root, "src"))).toEqual(["a.incomplete.ts", "b.incomplete.ts"]);
  });

  test("targets outside of the folder, behind a link, or in a folder that is not there are refused in a sentence", async () => {
    const [root, outside] = [folder(), folder()];
    symlinkSync(outside, join(root, "link"));
    writeFileSync(join(outside, "secret.ts"), "secret");
    symlinkSync(join(outside, "secret.ts"), join(root, "linked.ts"));
    for (const target of [
      "../a.ts",
      join(outside, "a.ts"),
      "link/a.ts",
      "linked.ts",
      "missing/a.ts",
    ])
      expect(await savePartial(writing(target), { kind: "beside", root }), target).toEqual({
        kind: "failed",
        reason: expect.stringMatching(/\.$/),
      });
    expect(readdirSync(outside)).toEqual(["secret.ts"]);
    expect(readdirSync(root).toSorted()).toEqual(["link", "linked.ts"]);
  });
});

test("a folder that cannot be made is refused in a sentence", async () => {
  const file = join(folder(), "file");
  writeFileSync(file, "");
  expect(
    await savePartial(writing("a.ts"), { kind: "own", folder: join(file, "partials") }),
  ).toEqual({
    kind: "failed",
    reason: "It could not be written (ENOTDIR).",
  });
});
