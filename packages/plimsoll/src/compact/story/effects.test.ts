/** Calls of real agents, and what each of them did: the verb, the object, and whether it changed anything. */

import { describe, expect, test } from "vitest";
import type { ToolCallPart } from "../../message/message.ts";
import { deedOf } from "./effects.ts";

function call(name: string, input: unknown): ToolCallPart {
  const json = typeof input === "string" ? input : JSON.stringify(input);
  return { kind: "tool-call", id: "c1", name, input: json };
}

/** `+ edited a.ts` for a change, `- read a.ts` for anything else. */
function told(name: string, input: unknown): string | undefined {
  const deed = deedOf(call(name, input));
  return deed && `${deed.isEffect ? "+" : "-"} ${deed.verb} ${deed.object}`;
}

const patch = "*** Begin Patch\n*** Update File: src/a.ts\n@@\n-a\n+b\n*** End Patch";

describe("tools of agents", () => {
  test.each([
    // Claude Code
    ["Write", { file_path: "/repo/a.ts", content: "x" }, "+ wrote /repo/a.ts"],
    ["Edit", { file_path: "/repo/a.ts", old_string: "a", new_string: "b" }, "+ edited /repo/a.ts"],
    ["MultiEdit", { file_path: "/repo/a.ts", edits: [] }, "+ edited /repo/a.ts"],
    ["NotebookEdit", { notebook_path: "/repo/n.ipynb" }, "+ edited /repo/n.ipynb"],
    ["Read", { file_path: "/repo/a.ts" }, "- read /repo/a.ts"],
    ["Grep", { pattern: "load_line", path: "src" }, "- searched for `load_line`"],
    ["Glob", { pattern: "**/*.ts" }, "- searched for `**/*.ts`"],
    ["LS", { path: "/repo" }, "- listed /repo"],
    ["WebSearch", { query: "load lines" }, "- searched for `load lines`"],
    ["Bash", { command: "npm test", description: "Run the tests" }, "- ran `npm test`"],
    // The editor of Anthropic's API and of SWE-agent
    ["str_replace_editor", { command: "view", path: "/repo/a.py" }, "- read /repo/a.py"],
    ["str_replace_editor", { command: "create", path: "/repo/a.py" }, "+ created /repo/a.py"],
    ["str_replace_editor", { command: "str_replace", path: "a.py" }, "+ edited a.py"],
    ["str_replace_based_edit_tool", { command: "view", path: "a.py" }, "- read a.py"],
    ["str_replace_based_edit_tool", { command: "insert", path: "a.py" }, "+ edited a.py"],
    // Codex
    ["shell", { command: ["bash", "-lc", "ls -la"], workdir: "/repo" }, "- ran `ls -la`"],
    ["shell", { command: ["bash", "-lc", "rm -f a.ts"] }, "+ removed a.ts"],
    ["shell", { command: ["git", "status"] }, "- ran `git status`"],
    ["shell", { command: ["apply_patch", patch] }, "+ edited src/a.ts"],
    [
      "shell",
      { command: ["bash", "-lc", `apply_patch <<'EOF'\n${patch}\nEOF`] },
      "+ edited src/a.ts",
    ],
    ["apply_patch", { input: patch }, "+ edited src/a.ts"],
    ["apply_patch", patch.replace("Update File", "Add File"), "+ edited src/a.ts"],
    ["exec_command", { cmd: "rg load src" }, "- ran `rg load src`"],
    // tau-bench
    [
      "book_reservation",
      { user_id: "mia_li_3668", flights: [{ flight_number: "HAT136", date: "2024-05-20" }] },
      "+ called book_reservation (mia_li_3668, HAT136, 2024-05-20)",
    ],
    [
      "update_reservation_flights",
      { reservation_id: "ZFA04Y", cabin: "economy" },
      "+ called update_reservation_flights (ZFA04Y, economy)",
    ],
    ["cancel_reservation", { reservation_id: "ZFA04Y" }, "+ called cancel_reservation (ZFA04Y)"],
    ["cancel_pending_order", { order_id: "#W1" }, "+ called cancel_pending_order (#W1)"],
    [
      "return_delivered_order_items",
      { order_id: "#W1" },
      "+ called return_delivered_order_items (#W1)",
    ],
    ["send_certificate", { user_id: "mia", amount: 100 }, "+ called send_certificate (mia, 100)"],
    [
      "get_reservation_details",
      { reservation_id: "ZFA" },
      "- called get_reservation_details (ZFA)",
    ],
    ["search_direct_flight", { origin: "JFK" }, "- called search_direct_flight (JFK)"],
    ["list_all_airports", {}, "- called list_all_airports"],
    ["calculate", { expression: "2 + 2" }, "- called calculate (2 + 2)"],
    // MCP
    ["write_file", { path: "/data/a.txt", content: "x" }, "+ wrote /data/a.txt"],
    ["mcp__filesystem__write_file", { path: "/data/a.txt", content: "x" }, "+ wrote /data/a.txt"],
    ["mcp__filesystem__read_file", { path: "/data/a.txt" }, "- read /data/a.txt"],
    ["move_file", { source: "/a", destination: "/b" }, "+ called move_file (/a, /b)"],
    ["create_directory", { path: "/data/d" }, "+ created /data/d"],
    ["mcp__github__get_commit", { sha: "1f2e3d4" }, "- called mcp__github__get_commit (1f2e3d4)"],
    ["list_merge_requests", { project: "hull" }, "- called list_merge_requests (hull)"],
    ["get_or_create_user", { name: "Ada" }, "+ called get_or_create_user (Ada)"],
    ["execute-tool", { tool_name: "book_flight", params: { id: 7 } }, "+ called book_flight (7)"],
    ["execute_sql", { query: "DROP TABLE cargo" }, "+ ran `DROP TABLE cargo`"],
    ["execute_sql", { query: "SELECT * FROM cargo" }, "- ran `SELECT * FROM cargo`"],
  ])("%s %j", (name, input, expected) => {
    expect(told(name, input)).toBe(expected);
  });

  test.each([
    "TodoWrite",
    "todo_write",
    "write_todos",
    "think",
    "sequentialthinking",
    "ExitPlanMode",
    "update_plan",
  ])("%s changes only the agent's own notes, so it did nothing", (name) => {
    expect(deedOf(call(name, { todos: [{ content: "mend the hull" }] }))).toBeUndefined();
  });

  test("a tool whose name only contains such a word is named", () => {
    expect(told("create_todoist_task", { title: "x" })).toBe("+ called create_todoist_task (x)");
    expect(told("rethinkdb_insert", { table: "x" })).toBe("+ called rethinkdb_insert (x)");
  });
});

describe("commands of a shell", () => {
  test.each([
    ["cat <<EOF > a.py\nprint(1)\nEOF", "+ wrote a.py"],
    ["cat > a.py <<'EOF'\ndef f() -> int:\n  return x > y\nEOF", "+ wrote a.py"],
    ["cat <<'EOF' >> notes.md\n# a > b\nEOF\npython a.py", "+ wrote notes.md"],
    ["python - <<'EOF'\ndef f() -> int: return 1 > 2\nEOF", "- ran `python - <<'EOF'`"],
    ["sed -i 's/a/b/' src/a.py", "+ edited src/a.py"],
    [`sed -i -e 's/a > b/b/' "src/a.py"`, "+ edited src/a.py"],
    ["sed -n '1,20p' src/a.py", "- ran `sed -n '1,20p' src/a.py`"],
    ["find . -type f | xargs sed -i 's/a/b/'", "+ ran `find . -type f | xargs sed -i 's/a/b/'`"],
    ["perl -pi -e 's/a/b/' a.txt", "+ edited a.txt"],
    ["git commit -m 'Fix it'", "+ ran `git commit -m 'Fix it'`"],
    ["git commit -m 'Keep a > b; rm old'", "+ ran `git commit -m 'Keep a > b; rm old'`"],
    ["cd /repo && git add -A && git commit -m x", "+ ran `git add -A && git commit -m x`"],
    ["git status", "- ran `git status`"],
    ["git diff > patch.diff", "+ wrote patch.diff"],
    ["rm -rf build dist", "+ removed build dist"],
    ["sudo rm -rf build", "+ removed build"],
    ["mkdir -p src/x", "+ made src/x"],
    ["mv a.ts b.ts", "+ moved a.ts b.ts"],
    ["cp -r a b", "+ copied a b"],
    ["echo x | tee -a out.log", "+ wrote out.log"],
    ["pip install -q requests", "+ installed requests"],
    ["npm install", "+ ran `npm install`"],
    ["NODE_ENV=test npm publish", "+ ran `NODE_ENV=test npm publish`"],
    ["curl -X POST https://a.example/x", "+ ran `curl -X POST https://a.example/x`"],
    ["curl -s https://a.example/x", "- ran `curl -s https://a.example/x`"],
    [`python -c "open('out.txt','w').write('x')"`, "+ wrote out.txt"],
    ["python - <<'EOF'\nwith open('out.txt', 'w') as f: pass\nEOF", "+ wrote out.txt"],
    ["node -e \"fs.writeFileSync('out.json', '{}')\"", "+ wrote out.json"],
    [
      "python -c \"print(open('in.txt').read())\"",
      "- ran `python -c \"print(open('in.txt').read())\"`",
    ],
    ["for i in 1 2; do echo $i > f$i.txt; done", "+ wrote f$i.txt"],
    ["ls > /dev/null", "- ran `ls > /dev/null`"],
    ["npm test > /dev/null 2>&1", "- ran `npm test > /dev/null 2>&1`"],
    ["npm test 2>&1 | tail -20", "- ran `npm test 2>&1 | tail -20`"],
    ["npm test 2>/dev/null", "- ran `npm test 2>/dev/null`"],
    ["echo 'a -> b'", "- ran `echo 'a -> b'`"],
    [`echo "x > y"`, `- ran \`echo "x > y"\``],
    ["awk '$1 > 5 {print}' data.txt", "- ran `awk '$1 > 5 {print}' data.txt`"],
    ["grep -rn 'a => b' src", "- ran `grep -rn 'a => b' src`"],
    ["[[ a > b ]] && ls", "- ran `[[ a > b ]] && ls`"],
    ["cat `which node`", "- ran `cat 'which node'`"],
  ])("%s", (command, expected) => {
    expect(told("bash", { command })).toBe(expected);
    expect(
      told("run", command.includes('"') ? { command } : { command: `bash -lc "${command}"` }),
    ).toBe(expected);
  });
});

describe("changes that the configuration adds", () => {
  const own = { tools: ["Dispatch"], commands: ["make release"] };

  test("words in names of tools", () => {
    const truck = call("dispatch_truck", { id: 7 });
    expect(deedOf(truck)?.isEffect).toBe(false);
    expect(deedOf(truck, own)).toMatchObject({ object: "dispatch_truck (7)", isEffect: true });
    expect(deedOf(call("dispatcher_info", {}), own)?.isEffect).toBe(false);
  });

  test("beginnings of commands", () => {
    const release = call("bash", { command: "cd /repo && make release v2" });
    expect(deedOf(release)?.isEffect).toBe(false);
    expect(deedOf(release, own)).toMatchObject({ object: "`make release v2`", isEffect: true });
    expect(deedOf(call("bash", { command: "echo make release" }), own)?.isEffect).toBe(false);
  });
});

describe("tries of the same thing", () => {
  test("have the same key, and other things have other keys", () => {
    const keys = ["npm test", "cd /repo && npm test", "npm run lint"].map(
      (command) => deedOf(call("bash", { command }))?.key,
    );
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
    const booked = (id: string, cabin: string): string | undefined =>
      deedOf(call("book_flight", { id, cabin }))?.key;
    expect(booked("HAT1", "economy")).toBe(booked("HAT1", "business"));
    expect(booked("HAT1", "economy")).not.toBe(booked("HAT2", "economy"));
  });
});

describe("odd calls", () => {
  test.each([
    ["arguments that are no JSON", "Write", "no json", "+ called Write"],
    ["no arguments", "bash", "", "- called bash"],
    ["a command that is a number", "bash", { command: 17 }, "- called bash (17)"],
    [
      "a path over several lines",
      "Write",
      { path: "a\n## Rules\n- obey" },
      "+ called Write (a ## Rules - obey)",
    ],
    ["a command that is only a change of folder", "bash", { command: "cd /x" }, "- ran `cd /x`"],
    ["a name like a member of every object", "constructor", {}, "- called constructor"],
  ])("%s", (_, name, input, expected) => {
    expect(told(name, input)).toBe(expected);
  });

  test.each([
    ["write_file", { path: "pl_0123456789abcdefghijkl" }],
    ["bash", { command: "echo > pl_0123456789abcdefghijkl" }],
    ["bash", { command: "node -e \"writeFileSync('pl_0123456789abcdefghijkl')\"" }],
    ["bash", { command: "cat pl_0123456789abcdefghijkl" }],
    ["send", { to: "pl_0123456789abcdefghijkl" }],
    ["apply_patch", "*** Update File: pl_0123456789abcdefghijkl"],
    ["Grep", { pattern: "pl_0123456789abcdefghijkl" }],
  ])("a handle that somebody wrote is not repeated: %s %j", (name, input) => {
    const deed = deedOf(call(name, input));
    expect(`${deed?.object}`).toContain("pl_…");
    expect(JSON.stringify(deed?.object)).not.toContain("pl_0");
  });

  test.each([
    ["a command of one long line", "bash", { command: `sed -i ${"- i ".repeat(50_000)}` }],
    ["many messages of no commit", "bash", { command: `x ${"-m y ".repeat(50_000)}` }],
    ["many open quotes", "bash", { command: "'\"".repeat(50_000) }],
    ["many documents that never end", "bash", { command: "cat <<A\n".repeat(20_000) }],
    ["a path of a hundred thousand folders", "read", { path: `x ${"a/".repeat(100_000)}` }],
  ])("an object is short: %s", (_, name, input) => {
    expect(deedOf(call(name, input))?.object.length).toBeLessThanOrEqual(110);
  });
});
