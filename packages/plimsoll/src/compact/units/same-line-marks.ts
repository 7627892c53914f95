/**
 * Marks of `duplicate_reads` in place of lines that a later message repeats, such as "… 12 lines as in #7". If another strategy
 * takes out #7 or shortens it, its mark would lead nowhere. It then names the handle of the text that it stands in.
 */

import type { EditPlace } from "../../message/edit.ts";
import type { Part } from "../../message/message.ts";
import type {
  Proposal,
  TakenOut,
  VisibleConversation,
  VisibleMessage,
} from "../../message/strategy.ts";
import { markTexts } from "../../text/for-models.ts";

/** As `markTexts.sameLines` and `markTexts.linesKept` end. */
const mark =
  /^(?:… |\[[^\n]*: )(\d+) lines? (?:as in #\d+(?: below)?|left out|kept under pl_\w+)\]?$/;

/** The original of a text with Plimsoll's marks. Undefined if the text was also changed in other ways. */
export function unmarked(now: string, whole: string | undefined): string | undefined {
  if (whole === undefined || now === whole) return whole;
  const lines = whole.split("\n");
  let at = 0;
  for (const line of now.split("\n")) {
    const [, missing] = mark.exec(line) ?? [];
    if (missing !== undefined && line !== lines[at]) at += Number(missing);
    else if (line === lines[at]) at++;
    else return undefined;
  }
  return at === lines.length ? whole : undefined;
}

/** The name of the strategy whose proposals write these marks. They are true for the view that its proposals make. */
export const writesMarks = "duplicate_reads";

/** The reason of an edit that mends marks. It stays even if it saves nothing. */
export const marksMended = "The view no longer shows the lines that a mark pointed to.";

/**
 * Invariant: after these proposals, each mark names a message that they leave as it is, or the text of the mark names the handle.
 * Contract: not for the proposals of the strategy `writesMarks`.
 */
export function withTrueMarks(
  conversation: VisibleConversation,
  proposals: readonly Proposal[],
): readonly Proposal[] {
  const { messages } = conversation;
  const untouched = untouchedBy(messages, proposals);
  const mended = proposals.map((proposal) => mendedIn(proposal, messages, untouched));
  const replaced = new Set(
    proposals.flatMap((one) => (one.kind === "replace" ? [keyOf(one)] : [])),
  );
  const others = messages.flatMap((visible, index) =>
    visible.original === undefined || untouched.isGone(index)
      ? []
      : visible.message.parts
          .flatMap((part, at) => textsIn(part, { message: index, part: at }))
          .filter((found) => !replaced.has(keyOf(found)))
          .flatMap(({ text, ...found }): readonly Proposal[] => {
            const now = (handle: string): string => mendedText(text, visible, untouched, handle);
            if (now("") === text) return [];
            const textFor = ({ handle }: TakenOut): string => now(handle);
            return [{ kind: "replace", ...found, reason: marksMended, textFor }];
          }),
  );
  return [...mended, ...others];
}

interface Untouched {
  /** Whether the view still has the message with this number, as it was. */
  readonly isShown: (number: number) => boolean;
  /** By index. */
  readonly isGone: (message: number) => boolean;
}

function untouchedBy(
  messages: readonly VisibleMessage[],
  proposals: readonly Proposal[],
): Untouched {
  const gone = new Set<number>();
  const touched = new Set<number>();
  for (const proposal of proposals)
    if (proposal.kind === "replace") touched.add(proposal.message);
    else if (proposal.kind === "remove" || proposal.kind === "fold")
      for (let index = proposal.first; index <= proposal.last; index++) gone.add(index);
  const shown = new Set(
    messages.flatMap(({ number }, index) =>
      gone.has(index) || touched.has(index) ? [] : [number],
    ),
  );
  return { isShown: (number) => shown.has(number), isGone: (message) => gone.has(message) };
}

type Place = Pick<Extract<Proposal, { kind: "replace" }>, "message" | "part" | "inner">;

function keyOf({ message, part, inner }: Place): string {
  return `${message} ${part} ${inner ?? ""}`;
}

interface FoundText extends Place {
  readonly place: EditPlace;
  readonly text: string;
}

/** The arguments of a call are one text, as JSON. */
function textsIn(part: Part, at: Omit<Place, "inner">): readonly FoundText[] {
  if (part.kind === "text") return [{ ...at, place: "file-mention", text: part.text }];
  if (part.kind === "tool-call") return [{ ...at, place: "alter-tool", text: part.input }];
  if (part.kind !== "tool-result") return [];
  return part.content.flatMap((shown, inner): readonly FoundText[] =>
    shown.kind === "text" ? [{ ...at, inner, place: "read-tool", text: shown.text }] : [],
  );
}

function mendedIn(
  proposal: Proposal,
  messages: readonly VisibleMessage[],
  untouched: Untouched,
): Proposal {
  const visible = proposal.kind === "replace" ? messages[proposal.message] : undefined;
  if (proposal.kind !== "replace" || visible === undefined) return proposal;
  return {
    ...proposal,
    textFor: (taken) => mendedText(proposal.textFor(taken), visible, untouched, taken.handle),
  };
}

/** A mark alone in its line, also in the arguments of a call. */
const pointing =
  /(?<=^|\n|\\n|")(… |\[[^\n"]*: )(\d+ lines?) as in #(\d+)(?: below)?(?=\]?(?:$|\n|\\n|"))/g;

/** Only the first mark names the handle, because a handle takes more tokens than some lines. */
function mendedText(
  text: string,
  { message, original }: VisibleMessage,
  { isShown }: Untouched,
  handle: string,
): string {
  if (!text.includes(" as in #")) return text;
  const whole = (original?.message ?? message).parts
    .flatMap((part) => textsIn(part, { message: 0, part: 0 }))
    .map((found) => found.text)
    .join("\n");
  let shownHandle = handle;
  return text.replace(pointing, (found, opening: string, lines: string, number: string) => {
    // Words of the client may look like a mark.
    if (isShown(Number(number)) || whole.includes(found)) return found;
    const kept = markTexts.linesKept(lines, shownHandle);
    shownHandle = "";
    return `${opening}${kept}`;
  });
}
