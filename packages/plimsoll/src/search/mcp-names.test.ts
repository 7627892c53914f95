/** The tools of MCP servers are recognised in the lists of several clients, and the clients' own tools are not. */

import { describe, expect, test } from "vitest";
import { mcpNamesIn } from "./mcp-names.ts";

/**
 * Lists with one MCP server `harbour` that has two tools. Gemini CLI, Copilot CLI and opencode sent theirs like this. The others are
 * written by hand: Cline's way to name a tool is in its code, Claude Code's and Goose's are from memory.
 */
const lists: Readonly<Record<string, { readonly own: string; readonly mcp: readonly string[] }>> = {
  "Gemini CLI 0.61.0": {
    own: "update_topic list_directory read_file grep_search glob replace write_file web_fetch run_shell_command list_background_processes read_background_output google_web_search write_todos enter_plan_mode invoke_agent activate_skill",
    mcp: ["mcp_harbour_list_ships", "mcp_harbour_get-cargo"],
  },
  "GitHub Copilot CLI 1.0.102": {
    own: "bash read_bash stop_bash list_bash view create edit web_fetch fetch_copilot_cli_documentation semantic_code_search skill sql session_store_sql read_agent list_agents write_agent grep glob task",
    mcp: ["harbour-get-cargo", "harbour-list_ships"],
  },
  "opencode 1.18.33": {
    own: "bash edit glob grep read skill task todowrite webfetch write apply_patch",
    mcp: ["harbour_get-cargo", "harbour_list_ships"],
  },
  "Claude Code": {
    own: "Bash Edit Glob Grep Read Task TodoWrite WebFetch Write ExitPlanMode",
    mcp: ["mcp__harbour__list_ships", "mcp__harbour__get-cargo"],
  },
  "Cline CLI 3.0": {
    own: "read_files search_codebase run_commands fetch_web_content apply_patch skills ask_question",
    mcp: ["harbour__list_ships", "harbour__get-cargo"],
  },
  Goose: {
    own: "developer__shell developer__text_editor platform__manage_schedule todo__todo_write",
    mcp: ["harbour__list_ships", "harbour__get-cargo"],
  },
};

describe.each(Object.entries(lists))("%s", (_client, { own, mcp }) => {
  const names = [...own.split(" "), ...mcp];
  const read = mcpNamesIn(names);

  test("its servers' tools, with their server", () => {
    expect(mcp.map((name) => read(name)?.server)).toEqual(["harbour", "harbour"]);
    expect(mcp.map((name) => read(name)?.tool).toSorted()).toEqual(["get-cargo", "list_ships"]);
  });

  test("none of its own", () => {
    expect(names.filter((name) => read(name) !== undefined)).toEqual(mcp);
  });
});

test("a list of nobody's has only the names that are clear everywhere", () => {
  const names = ["read_file", "list-files", "glob", "mcp__a__b", "a__b", "x0mcp0y"];
  expect(names.filter((name) => mcpNamesIn(names)(name) !== undefined)).toEqual([
    "mcp__a__b",
    "a__b",
    "x0mcp0y",
  ]);
});
