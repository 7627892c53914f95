/** Generated conversations in the neutral form: files read twice, logs, rules, media, instructions in the middle, and odd texts. */
import fc from "fast-check";
import type { Message, Part } from "../../src/message/message.ts";
import { textOf } from "./texts.ts";

/** What has these words has priority 1, or 3. */
export const AREAS = [
  { name: "plan", priority: 1, patterns: ["to do list"] },
  { name: "notes", priority: 3, patterns: ["scratch note"] },
] as const;

export interface Talk {
  readonly messages: readonly Message[];
  readonly pinned: readonly number[];
  readonly mustAlternate: boolean;
}

const FILE = Array.from(
  { length: 30 },
  (_, line) => `def step_${line}(cargo): return cargo.weight_${line} * ${line}  # in tons`,
);

const LOG = Array.from(
  { length: 25 },
  (_, line) => `2026-01-0${1 + (line % 9)} 10:00:0${line % 10} INFO berth ${line} is free`,
);

interface Step {
  readonly kind: "read" | "log" | "words" | "json" | "write";
  readonly words: string;
  /** Where the file begins to differ. */
  readonly at: number;
  readonly tag: "" | "To Do List: " | "Scratch note: ";
}

interface Round {
  readonly said: string;
  readonly steps: readonly Step[];
  readonly answer: string;
  readonly hasImage: boolean;
  readonly hasInstruction: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom<Step["kind"]>("read", "read", "log", "words", "json", "write"),
  words: textOf(600),
  at: fc.nat(FILE.length),
  tag: fc.constantFrom<Step["tag"]>("", "", "", "To Do List: ", "Scratch note: "),
});

const round: fc.Arbitrary<Round> = fc.record({
  said: textOf(500),
  steps: fc.array(step, { maxLength: 5 }),
  answer: textOf(900),
  hasImage: fc.nat(9).map((number) => number === 9),
  hasInstruction: fc.nat(9).map((number) => number === 9),
});

export const talks: fc.Arbitrary<Talk> = fc
  .record({
    rounds: fc.array(round, { minLength: 3, maxLength: 12 }),
    pins: fc.array(fc.nat(60), { maxLength: 2 }),
    mustAlternate: fc.boolean(),
    isOpen: fc.boolean(),
  })
  .map(({ rounds, pins, mustAlternate, isOpen }) => {
    const messages = messagesOf(rounds, mustAlternate);
    const shown = isOpen ? messages : messages.slice(0, -1);
    const paired = pins.flatMap((pin) => exchangeAt(shown, pin));
    return { messages: shown, pinned: [...new Set(paired)], mustAlternate };
  });

/** A pin holds a call and its results together. */
function exchangeAt(messages: readonly Message[], pin: number): readonly number[] {
  if (pin >= messages.length) return [];
  const isCall = (index: number): boolean =>
    messages[index]?.parts.some(({ kind }) => kind === "tool-call") === true;
  if (isCall(pin)) return [pin, pin + 1];
  return isCall(pin - 1) ? [pin - 1, pin] : [pin];
}

function messagesOf(rounds: readonly Round[], isOneSide: boolean): readonly Message[] {
  let calls = 0;
  return rounds.flatMap((one): readonly Message[] => {
    const image: Part = {
      kind: "image",
      media: { kind: "base64", mediaType: "image/png", data: "AAAA" },
    };
    const said: readonly Part[] = [text(one.said), ...(one.hasImage ? [image] : [])];
    const steps = one.steps.flatMap((each) => exchange(each, `c${++calls}`, isOneSide));
    return [
      { role: "user", parts: said },
      ...(one.hasInstruction ? [{ role: "system", parts: [text("Be brief.")] } as const] : []),
      ...steps,
      { role: "assistant", parts: [text(one.answer)] },
    ];
  });
}

function exchange(each: Step, id: string, isOneSide: boolean): readonly Message[] {
  const { name, input, output } = callOf(each);
  const call: Part = { kind: "tool-call", id, name, input: JSON.stringify(input) };
  const result: Part = { kind: "tool-result", callId: id, content: [text(output)], isError: false };
  return [
    { role: "assistant", parts: [text(`${each.tag}I look.`), call] },
    { role: isOneSide ? "user" : "tool", parts: [result] },
  ];
}

function callOf({ kind, words, at }: Step): {
  readonly name: string;
  readonly input: Readonly<Record<string, string>>;
  readonly output: string;
} {
  const changed = [...FILE.slice(0, at), `# ${words.slice(0, 40)}`, ...FILE.slice(at + 1)];
  switch (kind) {
    case "read":
      return {
        name: "read_file",
        input: { path: at % 2 === 0 ? "src/a.py" : "./src/a.py" },
        output: changed.join("\n"),
      };
    case "write": {
      const content = changed.join("\n");
      return { name: "write_file", input: { path: "src/a.py", content }, output: "ok" };
    }
    case "log":
      return {
        name: "bash",
        input: { command: "make test" },
        output: LOG.slice(at / 2).join("\n"),
      };
    case "json": {
      const rows = changed.slice(0, 12).map((line, id) => ({ id, line }));
      return { name: "list_rows", input: { of: "cargo" }, output: JSON.stringify(rows) };
    }
    case "words":
      return { name: "search", input: { query: words.slice(0, 20) }, output: words };
  }
}

function text(content: string): Part {
  return { kind: "text", text: content };
}
