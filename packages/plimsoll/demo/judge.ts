/** Checks a request like a strict provider: the rules of its wire, and the rules that all wires share. */

import { type Asked, firstFault, type Part, type PathFields, type WireForm } from "./wires/form.ts";

type Judged =
  | { readonly kind: "valid"; readonly asked: Asked }
  | { readonly kind: "fault"; readonly sentence: string };

/** The strictest pattern of all providers. */
const namePattern = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const idPattern = /^[a-zA-Z0-9_-]{1,40}$/;

/** Contract: accepts any JSON value as the body, and never throws. */
export function judge({ upstream }: WireForm, body: unknown, path: PathFields): Judged {
  try {
    const fault = upstream.faultIn(body);
    if (fault !== undefined) return { kind: "fault", sentence: fault };
    const asked = upstream.asked(body as object, path);
    const sentence =
      faultInTools(asked) ?? faultInTexts(asked) ?? faultInPairs(asked) ?? faultInIds(asked);
    return sentence === undefined ? { kind: "valid", asked } : { kind: "fault", sentence };
  } catch (error) {
    return { kind: "fault", sentence: `the request cannot be read: ${String(error)}` };
  }
}

function faultInTools({ tools }: Asked): string | undefined {
  if (new Set(tools).size < tools.length) return "tools: names must be unique";
  const wrong = tools.find((name) => !namePattern.test(name));
  return wrong === undefined ? undefined : `tools: the name ${wrong} is not valid`;
}

function faultInTexts({ parts }: Asked): string | undefined {
  if (parts.length === 0) return "at least one message is required";
  return firstFault(parts, (part, index) =>
    part.kind === "text" && part.text.trim() === ""
      ? `part ${index}: text must be non-empty`
      : undefined,
  );
}

/** The results of an answer's calls come directly after the answer, before anything else. */
function faultInPairs({ parts }: Asked): string | undefined {
  const open = new Set<string>();
  let isAnswering = false;
  const fault = firstFault(parts, (part) => {
    if (part.kind === "result") {
      isAnswering = true;
      return open.delete(part.id) ? undefined : `the result ${part.id} has no call before it`;
    }
    const isNextAnswer = isAnswering && isFromModel(part);
    if (open.size > 0 && (isNextAnswer || !isFromModel(part))) return unanswered(open);
    isAnswering = false;
    if (part.kind === "call") open.add(part.id);
    return undefined;
  });
  return fault ?? (open.size > 0 ? unanswered(open) : undefined);
}

export function isFromModel(part: Part): boolean {
  return part.kind === "call" || (part.kind === "text" && part.isFromModel);
}

function unanswered(open: ReadonlySet<string>): string {
  return `calls without results directly after them: ${[...open].join(", ")}`;
}

function faultInIds({ parts }: Asked): string | undefined {
  const ids = parts.flatMap((part) => (part.kind === "call" ? [part.id] : []));
  if (new Set(ids).size < ids.length) return "the ids of calls must be unique";
  const wrong = ids.find((id) => !idPattern.test(id));
  return wrong === undefined ? undefined : `the id ${wrong} of a call is not valid`;
}
