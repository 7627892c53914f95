// Writes docs/what-the-model-reads.md: every text in text/for-models.ts, document-texts.ts and mcp-texts.ts, with sample values. With --check, it only checks
// whether the page is up to date. A text without a sample here is an error, because nobody could read it on the page.
import { readFileSync, writeFileSync } from "node:fs";
import * as documents from "../packages/plimsoll/src/text/document-texts.ts";
import * as texts from "../packages/plimsoll/src/text/for-models.ts";
import * as overMcp from "../packages/plimsoll/src/text/mcp-texts.ts";

const page = "docs/what-the-model-reads.md";
const handle = "pl_0123456789ABCDEFGHIJKL";
const title = `${handle}, result of bash`;
const example = '{"query": "…"}';

/** For each export: when a model reads its texts, and sample values for texts that are functions. */
const chapters = {
  ownToolTexts: [
    "The descriptions of Plimsoll's own tools and of their fields",
    { recall: [["read_result"]], toolSearch: [[""], ["[40 tools deferred …]"]] },
  ],
  deferredToolsNote: [
    "In the description of `tool_search`, when tools are deferred",
    [
      [
        {
          count: 40,
          searchTool: "tool_search",
          servers: ["github (25)", "jira (15)"],
          moreServers: 0,
        },
      ],
    ],
  ],
  toolSearchTexts: [
    "What `tool_search` answers",
    {
      noRoom: [[["create_issue", "close_issue"], "compact_context"]],
      found: [[["create_issue"]]],
      loaded: [[["## create_issue\nCreates an issue.\n{…}"], ["close_issue", "list_issues"]]],
    },
  ],
  argumentTexts: [
    "When the arguments of a call are wrong",
    {
      notAnObject: [[example]],
      recallQuery: [[example]],
      toolQuery: [[example]],
      refId: [['{"ref_id": "pl_…", "offset": 0}']],
      notText: [["query"]],
      notANumber: [["offset", 0]],
      longPattern: [[1000]],
      unknownTool: [["read_file"]],
    },
  ],
  answerTexts: [
    "What `read_result`, `recall` and `compact_context` answer",
    {
      unknownHandle: [["recall"]],
      notText: [[handle, "image image/png, 1,204 bytes"]],
      noRoom: [["compact_context"]],
      failed: [["the store is closed."]],
      tooManyCalls: [[16]],
      compacted: [
        [
          {
            tokensBefore: 90_000,
            tokensAfter: 41_000,
            messagesBefore: 120,
            messagesAfter: 66,
            strategies: ["excerpt"],
          },
        ],
      ],
      readOn: [[131]],
    },
  ],
  pageTexts: [
    "The first line of an answer of `read_result`",
    {
      whole: [[title, "8,710"]],
      part: [
        [title, "0–4,096", "8,710", 4096],
        [title, "4,096–8,710", "8,710", undefined],
      ],
      empty: [[title]],
      offsetPastEnd: [[title, 9000, "8,710"]],
      linePastEnd: [[title, 400, "212"]],
      noRoom: [[title]],
      noMatch: [[title, "/Error/"]],
      slowPattern: [[title, "/(a+)+$/"]],
      searchFailed: [[title]],
      noRoomForMatch: [[`${title}: 12 matches of /Error/`]],
    },
  ],
  jsonPathTexts: [
    "When `json` names a value that does not exist. The path is written before the text, as in `items[3] is an empty array`",
    { noMember: [["nam", ["name", "id"], 3]], noElement: [[11]] },
  ],
  passagesHead: [
    "The first line of an answer of `recall`",
    [
      [{ count: 1, readResult: "read_result", number: 12 }],
      [{ count: 4, readResult: "read_result", number: 12, since: 8 }],
    ],
  ],
  missingOfPassage: [
    "The last line of a passage that `recall` had to cut",
    [["1,204", "read_result", 12]],
  ],
  followingTexts: ["How a reference announces the lines below it (used in the next text)", {}],
  movedResult: [
    "The reference in place of a result that was moved out of the window",
    [
      [movedResult({ readResult: "read_result", shape: "{id: number, rows: 400 × {…}}" })],
      [movedResult({ followedBy: "ends" })],
      [movedResult({ followedBy: "highlights", readResult: "read_result" })],
    ],
  ],
  mediaTexts: [
    "In place of images and documents",
    { tooLarge: [["image", "screenshot", handle]], earlier: [["image", 312, handle]] },
  ],
  shortenedNotice: ["After the head, when messages were removed", [[handle], [""]]],
  excerptNotice: [
    "After the head, when the excerpt cut lines",
    [
      [handle, "read_result", "with a story"],
      [handle, undefined, "usual"],
      ["", undefined, "usual"],
      [handle, "read_result", "brief"],
    ],
  ],
  storyTexts: [
    "The story so far: its lines, and parts of lines. They come after one of the notices above",
    {
      done: [
        [
          "Why is the nightly run slow?",
          47,
          "It read every booking twice; job.ts now reads each batch once.",
        ],
      ],
      said: [["Stop, look at the log first."]],
      firstNamed: [[["`src/load.ts`", "`readBatch`"]]],
      open: [["Remove the cast, but change no result."]],
      worked: [["Mend the loader.", "wrote src/load.ts; ran `npm test` (failed)"]],
      unknownOutcome: [["Is the index used?"]],
      quoted: [
        ["My user id is raj_7, please\nbook HAT169.", 22, "The flight is booked."],
        ["Yes, please proceed.", 24, ""],
        ["Change my seat.", 26, "Which flight do you mean?"],
        ["Which quay was it?", undefined, ""],
      ],
      quotedWork: [
        ["Mend the loader,\nplease.", "wrote src/load.ts"],
        ["Use streams.", ""],
      ],
      noted: [["`the cast in load.ts is the slow part`"]],
      toDo: [["I still have to write the docs."]],
      failed: [
        ["ran `npm test`", "`2 failed`"],
        ["edited src/app.ts", ""],
      ],
      changed: [["edited", ["src/fees.ts (#12, #40)", "src/job.ts (#31)"]]],
      moreRules: [[2]],
      changedMany: [
        ["edited", "14 files under src/", { first: 12, last: 40 }],
        ["removed", "files by running 2 commands", { first: 12, last: 40 }],
      ],
      changedFiles: [[14, "src/"]],
      commands: [[3]],
      filesByCommands: [[2]],
      packages: [[2]],
      manyChanges: [[9]],
      moreChanges: [[3]],
      earlierRequests: [[14, 2, 80]],
      failedCall: [["`npm test`", "2 failed"]],
      refusedCall: [["`git commit -m fix`"]],
      moreCalls: [[7]],
    },
  ],
  truncationNotice: [
    "In place of messages that truncation removed",
    [[{ messages: 12, tokens: 3400, handle }], [{ messages: 1, tokens: 900, handle: "" }]],
  ],
  handoverOpening: ["How every handover begins", []],
  resumingOpening: ["How every handover begins with `texts: documents`"],
  handover: [
    "At the start of a fresh conversation, before the summary",
    [[undefined], ["ship-17"]],
  ],
  markTexts: [
    "Where messages or lines are missing",
    {
      messages: [
        [1, 7, 7],
        [12, 7, 18],
      ],
      keptUnder: [[handle]],
      messagesKept: [["[… 12 messages, #7–#18]", handle]],
      sameLines: [[40, 31, false]],
      linesKept: [
        ["40 lines", handle],
        ["40 lines", ""],
      ],
      leftOut: [["120 lines, 4,310 bytes"]],
      olderCopy: [["src/load.ts", 31, handle]],
      shortGap: [[26, 40]],
      leftOutMessages: [
        [7, 7, ""],
        [26, 40, "read a.ts, b.ts; ran `npm test` (failed)"],
      ],
    },
  ],
  cutTexts: [
    "Inside a text that was shortened",
    {
      gap: [["12 lines"], ["1,204 characters"]],
      jsonArray: [["400"]],
      jsonObject: [["12", "id, name, rows"]],
      jsonMembers: [["9", "created, updated"]],
      jsonElements: [["397"]],
      base64: [["48,000", "36,000", ", PNG image"]],
      binary: [["9,100", ", gzip"]],
      moreInFile: [["src/app.ts"]],
      moreInFiles: [[12, "files"]],
      excerptLines: [
        [1, ""],
        [12, "#7"],
      ],
      changedLater: [["#7", 31]],
      inLine: [[""], ["#7"]],
      afterGap: [["Ann: We moored at berth 4."]],
      moreMembers: [
        [3, ""],
        [3, " in #7"],
      ],
      moreElements: [
        [397, ""],
        [397, " in #7"],
      ],
      argument: [
        [14, "#9"],
        [0, "#9"],
      ],
    },
  ],
  readableTexts: [
    "Parts of a message that are not text, as `read_result` shows them",
    {
      resultOf: [["bash"]],
      reasoning: [["The test fails because …"]],
      call: [["read", '{"path": "app.log"}']],
      media: [["image image/png, 1,204 bytes"]],
      mediaData: [["image", "image/png", "1,204"]],
      mediaUrl: [["image", "https://example.org/a.png"]],
      mediaFile: [["document", "file_12"]],
      binary: [["9,100"]],
    },
  ],
  fillingNote: ["After the last message, when the window fills", [[82, "compact_context"], [82]]],
  fillingByHand: ["The same, with `agent.compaction: by_hand`", [[82, "compact_context"], [82]]],
  continueAnswer: [
    "A request for the rest of an answer that stopped half-way",
    [
      [
        {
          part: "export function LoginForm() {",
          basis: "about 60 %, from four earlier answers",
          path: "/home/ada/.plimsoll/partials/ses_1/LoginForm.incomplete.tsx",
        },
      ],
    ],
  ],
  answerAgain: "A request for a whole answer, after little of it had arrived",
  partialNote: [
    "After the last message, if the model's last answer was cut off",
    [
      [
        {
          path: "/home/ada/.plimsoll/partials/ses_1/LoginForm.incomplete.tsx",
          basis: "about 60 %, from four earlier answers",
        },
      ],
    ],
  ],
  noteTexts: [
    "In the last turn, in the last round of lookups, and in place of an answer that was only a lookup",
    { finalReport: [["agent__final_report"]] },
  ],
  documentTexts: [
    "With `texts: documents`, in place of some of the texts above",
    {
      omittedLinked: [[handle]],
      resuming: [["T-12"]],
      stored: [[movedResult({ readResult: "read_result" })]],
      filling: [[83, "compact_context"]],
      truncated: [[{ messages: 12, tokens: 3400, handle }]],
      olderCopy: [["src/app.ts", 42, handle]],
    },
  ],
  summaryTexts: [
    "The prompt of the model that writes summaries",
    {
      instruction: [[["Goal", "Rules", "Decided"]]],
      now: [[1000]],
      messageFence: [[12, "the user"]],
    },
  ],
  storyWriterTexts: ["The prompt of the model that writes the story so far", { now: [[1000]] }],
  translationTexts: ["In requests that go to another provider", {}],
  toolBudgetTexts: [
    "In place of a tool's result, in the library",
    { usedUp: [[120]], notAllowed: [["shell"]] },
  ],
  mcpTexts: ["Over MCP, in addition to the tools above", {}],
  workTexts: [
    "Over MCP, about tasks, tickets and questions",
    {
      answered: [["TK-3", { by: "user", text: "Use port 8080." }]],
      resolved: [["TK-3"]],
      waiting: [
        ["TK-3", "T-7"],
        ["TK-3", undefined],
      ],
      notText: [["title"]],
      notANumber: [["progress"]],
      oneOf: [["type", ["question", "investigation", "issue"]]],
    },
  ],
};

function movedResult(more) {
  return {
    tool: "bash",
    bytes: "8,710",
    lines: "212 lines",
    shape: undefined,
    followedBy: undefined,
    beginning: "total 48 drwxr-xr-x",
    handle,
    readResult: undefined,
    ...more,
  };
}

/** The text itself, or each text with sample values filled in. */
function rendered(name, text, samples) {
  if (typeof text === "string") return [text];
  if (typeof text === "object")
    return Object.entries(text).flatMap(([key, value]) =>
      rendered(`${name}.${key}`, value, samples[key] ?? {}),
    );
  if (!Array.isArray(samples) || samples.length === 0)
    throw new Error(`${name} has no sample in scripts/model-texts.mjs: give it one.`);
  return samples.map((values) => text(...values));
}

const all = new Map([texts, documents, overMcp].flatMap(Object.entries));
const unknown = [...all.keys()].filter((name) => chapters[name] === undefined);
if (unknown.length > 0)
  throw new Error(`${unknown.join(", ")}: add a heading and samples in scripts/model-texts.mjs.`);

const parts = Object.entries(chapters).map(([name, [when, samples]]) => {
  const quoted = rendered(name, all.get(name), samples).map((text) =>
    text
      .split("\n")
      .map((line) => `> ${line}`.trimEnd())
      .join("\n"),
  );
  return `## ${when}\n\n${quoted.join("\n\n")}`;
});
const text = `# What the model reads

Every sentence that Plimsoll writes for a model, with sample values: the texts are in
\`packages/plimsoll/src/text/for-models.ts\` (and \`document-texts.ts\`, \`mcp-texts.ts\`), and \`node scripts/model-texts.mjs\` writes this page.

${parts.join("\n\n")}
`;
if (process.argv.includes("--check")) {
  if (readFileSync(page, "utf8") !== text) {
    console.error(`${page} is out of date: run node scripts/model-texts.mjs.`);
    process.exit(1);
  }
} else writeFileSync(page, text);
