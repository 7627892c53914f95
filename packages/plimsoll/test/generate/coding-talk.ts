/** A long coding conversation with much tool output, in which the user gives six rules. */

import type { Message, Part, Role } from "../../src/message/message.ts";

function said(role: Role, text: string): Message {
  return { role, parts: [{ kind: "text", text }] };
}

function exchange(id: string, path: string, output: string): readonly Message[] {
  const content: readonly Part[] = [{ kind: "text", text: output }];
  return [
    {
      role: "assistant",
      parts: [{ kind: "tool-call", id, name: "read_file", input: JSON.stringify({ path }) }],
    },
    { role: "tool", parts: [{ kind: "tool-result", callId: id, content, isError: false }] },
  ];
}

/** In the order in which the user gives them. */
export const sixRules = [
  "Never touch anything below vendor/.",
  "Always run the linter before you tell me that you are done.",
  "Please use pnpm, not npm.",
  "Don't add a new dependency without asking me.",
  "Every file must stay under 400 lines.",
  "Only commit on the branch feature/hull.",
] as const;

const requests = [
  `Port the hull calculator to TypeScript. ${sixRules[0]}`,
  `The draught is off by a factor of two, see what is wrong. ${sixRules[1]}`,
  `Now write the loader for the port tables. ${sixRules[2]} I like the way you name things.`,
  "What does the parser do with an empty line?",
  `The tides come as text, so parse them. ${sixRules[3]}`,
  `Split the report into chapters. ${sixRules[4]}`,
  `Looks good so far. ${sixRules[5]}`,
  "And the README mentions the old name of the program, change that.",
] as const;

function code(topic: string, lines: number): string {
  return Array.from({ length: lines }, (_, i) => {
    const rule = i % 9 === 4 ? ` // rule ${i}: the user must never give an empty ${topic}` : "";
    return `  export const ${topic}_${i} = compute_${topic}(${i}, config.rules.user_${i % 7});${rule}`;
  }).join("\n");
}

const topics = ["hull", "draught", "port", "parser", "tide", "report", "branch", "readme"] as const;

export const codingTalk: readonly Message[] = requests.flatMap((request, at) => {
  const topic = topics[at] ?? "keel";
  return [
    said("user", request),
    ...Array.from({ length: 6 }, (_, i) =>
      exchange(`c${at}-${i}`, `src/${topic}/${topic}-${i}.ts`, code(`${topic}${i}`, 60)),
    ).flat(),
    said(
      "assistant",
      `I changed src/${topic}/${topic}-3.ts, and the user instructions are followed.`,
    ),
  ];
});
