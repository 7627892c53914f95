import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openPlimsoll } from "../plimsoll.ts";
import { isPlanted, openDataFolder } from "./data-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "plimsoll-folder-"));
afterAll(() => rmSync(folder, { recursive: true }));

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

function foreignFolder(name: string, mode: number): string {
  const path = join(folder, name);
  mkdirSync(path);
  writeFileSync(join(path, "theirs.txt"), "theirs", { mode: 0o644 });
  chmodSync(path, mode);
  return path;
}

test.each([
  ["shared with a group", 0o755, /can see which files are in .* but cannot read them/],
  ["for everybody's temporary files", 0o1777, /can see which files are in/],
  ["that everybody may write to", 0o777, /can delete or replace files in/],
])("a folder %s keeps its mode, and what is put into it is private", async (name, mode, notice) => {
  const path = foreignFolder(name, mode);
  await (await openPlimsoll({ data: path })).close();
  expect(modeOf(path)).toBe(mode.toString(8));
  expect(modeOf(join(path, "theirs.txt"))).toBe("644");
  const ours = readdirSync(path).filter((file) => file !== "theirs.txt");
  expect(ours).toEqual(expect.arrayContaining(["key", "plimsoll.db", "token"]));
  expect(new Set(ours.map((file) => modeOf(join(path, file))))).toEqual(new Set(["600"]));
  expect(openDataFolder(path).notices).toEqual([expect.stringMatching(notice)]);
});

test("a folder that Plimsoll makes is private, and nothing has to be said of it", () => {
  const path = join(folder, "made", "below");
  expect(openDataFolder(path).notices).toEqual([]);
  expect([modeOf(path), modeOf(join(folder, "made"))]).toEqual(["700", "700"]);
});

test.each(["", "half-a-secret"])("secrets that a broken start left as %j are made anew", (left) => {
  const path = mkdtempSync(join(folder, "torn-"));
  for (const name of ["key", "token"]) writeFileSync(join(path, name), left);
  // The database file was created, but its first page was never written.
  writeFileSync(join(path, "plimsoll.db"), "");
  const { key, token } = openDataFolder(path);
  expect([key.length, token.length]).toEqual([32, 43]);
  expect(openDataFolder(path)).toMatchObject({ key, token });
});

test("with a database, a secret that is too short is left alone, and said", () => {
  const path = mkdtempSync(join(folder, "short-"));
  writeFileSync(join(path, "key"), "half-a-secret");
  writeFileSync(join(path, "plimsoll.db"), "some pages");
  expect(() => openDataFolder(path)).toThrowError(/too short\. Restore the correct file/);
  expect(readFileSync(join(path, "key"), "utf8")).toBe("half-a-secret");
});

test("what broken starts left behind is removed, and nothing else", () => {
  const path = mkdtempSync(join(folder, "left-"));
  const deadPid = 2 ** 22 + 1;
  const left = [
    `key.${deadPid}-0123456789ab.tmp`,
    `plimsoll.db.v1.bak.${deadPid}-0123456789ab.tmp`,
    `plimsoll.db.v1.bak.${deadPid}-0123456789ab.tmp-journal`,
  ];
  const others = [
    `token.${process.ppid}-0123456789ab.tmp`,
    `theirs.${deadPid}-0123456789ab.tmp`,
    "key.tmp",
    "plimsoll.db.v1.bak",
  ];
  for (const name of [...left, ...others]) writeFileSync(join(path, name), "");
  openDataFolder(path);
  expect(left.filter((name) => existsSync(join(path, name)))).toEqual([]);
  expect(others.filter((name) => existsSync(join(path, name)))).toEqual(others);
});

test.each([
  ["of another user in a folder for all", { file: 7, folder: 0, mode: 0o1777 }, true],
  ["of our own in a folder for all", { file: 5, folder: 0, mode: 0o1777 }, false],
  ["of the folder's owner", { file: 0, folder: 0, mode: 0o777 }, false],
  ["of another user where only the owner writes", { file: 7, folder: 0, mode: 0o755 }, false],
])("a file %s: planted, or not", (_, { file, folder: owner, mode }, expected) => {
  expect(isPlanted({ uid: file }, { uid: owner, mode }, 5)).toBe(expected);
});
