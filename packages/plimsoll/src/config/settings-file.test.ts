import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { configChange, openSettingsFile, readConfigAnswer, writeConfig } from "./settings-file.ts";

let folder: string;
const file = (): string => join(folder, "config.yaml");
const read = (): string => readFileSync(file(), "utf8");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "plimsoll-config-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const written = `# mine
providers:
  anthropic: { baseUrl: "https://a-gateway-with-a-very-long-name.example.invalid/and/a/long/path/to/the/messages/of/all" } # ours
context_config:
  per_agent:
    coder: 20000 # the coder needs it
    docs: 4000
  per_llm:
    - type: claude-small # the small one
      limit: 9000
progress:
  detail: normal # enough
`;

test("only what was changed is written: comments, forms and absent defaults stay", () => {
  writeFileSync(file(), written);
  const { revision, progress, limits } = readConfigAnswer(file());
  writeConfig(file(), {
    revision,
    progress: { ...progress, auto_hide_seconds: 5 },
    limits: { ...limits, per_agent: { ...limits.per_agent, docs: 5000 } },
  });
  expect(read()).toBe(
    written
      .replace("docs: 4000", "docs: 5000")
      .replace("detail: normal # enough\n", "detail: normal # enough\n  auto_hide_seconds: 5\n"),
  );
});

test("agents and kinds of models come and go", () => {
  writeFileSync(file(), written);
  const first = readConfigAnswer(file());
  const kinds = [...first.limits.per_llm, { type: "gpt", limit: 7000, follow_default: true }];
  writeConfig(file(), {
    revision: first.revision,
    limits: { ...first.limits, per_agent: { coder: 20_000, reviewer: 6000 }, per_llm: kinds },
  });
  const second = readConfigAnswer(file());
  expect(second.limits.per_agent).toEqual({ coder: 20_000, reviewer: 6000 });
  expect(second.limits.per_llm).toEqual(kinds);
  expect(read()).toContain("the coder needs it");
  writeConfig(file(), {
    revision: second.revision,
    limits: { ...second.limits, per_agent: {}, per_llm: [] },
  });
  expect(readConfigAnswer(file()).limits).toMatchObject({ per_agent: {}, per_llm: [] });
});

test("the models of a type stay when its limit changes", () => {
  writeFileSync(
    file(),
    'context_config:\n  per_llm:\n    - { type: local_14b, limit: 9000, models: [ Qwen3-14B, "Phi-4*" ] }\n',
  );
  const { revision, limits } = readConfigAnswer(file());
  const kinds = limits.per_llm.map((kind) => ({ ...kind, limit: 8000 }));
  writeConfig(file(), { revision, limits: { ...limits, per_llm: kinds } });
  expect(read()).toContain('limit: 8000, models: [ Qwen3-14B, "Phi-4*" ]');
});

test("a file that is not there is made for its owner alone; one that is keeps who may read it", () => {
  const { revision, progress } = readConfigAnswer(file());
  writeConfig(file(), { revision, progress: { ...progress, show: false } });
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(read()).toBe("progress:\n  show: false\n");
  const other = join(folder, "other.yaml");
  writeFileSync(other, "# shared\n", { mode: 0o644 });
  writeConfig(other, {
    revision: readConfigAnswer(other).revision,
    progress: { ...progress, show: false },
  });
  expect(statSync(other).mode & 0o777).toBe(0o644);
});

test("a link stays a link, and what it points to is written", () => {
  const target = join(folder, "dotfiles.yaml");
  writeFileSync(target, "# in a repository of mine\n");
  symlinkSync(target, file());
  const { revision, progress } = readConfigAnswer(file());
  writeConfig(file(), { revision, progress: { ...progress, highlight_p1: false } });
  expect(lstatSync(file()).isSymbolicLink()).toBe(true);
  expect(readFileSync(target, "utf8")).toContain("highlight_p1: false");
});

test("what cannot be read or written is said in a sentence that names the file", () => {
  mkdirSync(file());
  expect(() => readConfigAnswer(file())).toThrow(/config\.yaml cannot be read/);
});

test("names with blanks around them, and a type that is named twice, are refused", () => {
  const { revision, limits } = readConfigAnswer(file());
  const twice = ["gpt", "GPT"].map((type) => ({ type, limit: 5000, follow_default: false }));
  for (const wrong of [{ per_agent: { " coder": 5000 } }, { per_llm: twice }])
    expect(configChange.safeParse({ revision, limits: { ...limits, ...wrong } }).success).toBe(
      false,
    );
});

test("a service knows its file by the changes that it made itself, and not by those of others", () => {
  writeFileSync(file(), written);
  const service = openSettingsFile(file());
  const isCurrent = (): boolean => {
    const { revision, loadedRevision } = service.read();
    return revision === loadedRevision;
  };
  const hide = (seconds: number): void => {
    const { revision, progress } = service.read();
    service.write({ revision, progress: { ...progress, auto_hide_seconds: seconds } });
  };
  hide(5);
  expect(isCurrent()).toBe(true);
  writeFileSync(file(), `${read()}# another line\n`);
  expect(isCurrent()).toBe(false);
  hide(6);
  expect(isCurrent()).toBe(false);
});
