/** Every client can be pointed at Plimsoll, by hand and in a run. */

import { expect, test } from "vitest";
import { agentOf, pointingOf } from "./agents.ts";
import { agentPrograms, byHand, clientNames, findClient } from "./clients.ts";

const base = "http://127.0.0.1:4141";

test.each(clientNames)("%s has something to set by hand, with the address in it", (name) => {
  const client = findClient(name);
  expect(client?.key).toBe(name);
  const { variables, file, code } = byHand(client ?? { name }, base);
  const lines = [...Object.values(variables ?? {}), file?.text ?? "", code ?? ""].join("\n");
  expect(lines).toContain(base);
});

test.each(agentPrograms)("a run of %s has the address in it", (name) => {
  const pointing = pointingOf(agentOf(name, undefined), {
    address: base,
    host: base,
    folder: "/run",
    environment: {},
    home: "/home/me",
    read: () => undefined,
  });
  expect(JSON.stringify(pointing)).toContain(base);
});

test("claude-code is Claude Code for run as well as for env", () => {
  expect(agentOf("my-claude", "claude-code").key).toBe("claude");
});

test("a name that every object has is no client", () => {
  expect([findClient("constructor"), findClient("toString")]).toEqual([undefined, undefined]);
});
