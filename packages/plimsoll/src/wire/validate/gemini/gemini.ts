/** Gemini generateContent: function calls and responses, signatures, roles and parts. */
import { isObject, type JsonObject } from "../../../message/json.ts";
import { canonical, isGiven, listOf, objectsOf, type Placed, placed } from "../rules/fields.ts";
import type { Finding, RuleInput, Rules } from "../rules/rule.ts";

interface Content extends Placed {
  readonly role: string;
  readonly parts: readonly JsonObject[];
}

/** A content without a role is from the user. */
function contentsOf(body: JsonObject | undefined): readonly Content[] {
  return [...placed(body?.["contents"], "/contents")].map((content) => ({
    ...content,
    role: String(content.item["role"] ?? "user"),
    parts: objectsOf(content.item["parts"]),
  }));
}

function partsWith(content: Content | undefined, key: string): readonly JsonObject[] {
  return content?.parts.filter((part) => isGiven(part[key])) ?? [];
}

/** G1: there are as many functionResponse parts as functionCall parts. */
function* responsesMatchCalls({ body }: RuleInput): Generator<Finding> {
  const contents = contentsOf(body);
  for (const [index, content] of contents.entries()) {
    const calls = partsWith(content, "functionCall").length;
    const after = partsWith(contents[index + 1], "functionResponse").length;
    const responses = partsWith(content, "functionResponse").length;
    const before = partsWith(contents[index - 1], "functionCall").length;
    if (calls > 0 && calls !== after)
      yield {
        rule: "G1",
        message: "the numbers of function calls and responses differ",
        place: content.place,
      };
    else if (responses > 0 && before === 0)
      yield {
        rule: "G1",
        message: "function responses have no calls before them",
        place: content.place,
      };
  }
}

/** G2: a function call comes after a user or function response turn. */
function* callsFollowUser({ body }: RuleInput): Generator<Finding> {
  const contents = contentsOf(body);
  for (const [index, content] of contents.entries()) {
    const before = contents[index - 1]?.role ?? "nothing";
    if (partsWith(content, "functionCall").length > 0 && !["user", "function"].includes(before))
      yield { rule: "G2", message: `a function call follows ${before}`, place: content.place };
  }
}

/** G3: on Gemini 3, the first call of each step of the current turn is signed. */
function* callsAreSigned({ body, model }: RuleInput): Generator<Finding> {
  if (!/^(models\/)?gemini-3/.test(model ?? "")) return;
  const contents = contentsOf(body);
  const isStart = (content: Content) =>
    content.role === "user" && content.parts.some((part) => !isGiven(part["functionResponse"]));
  for (const content of contents.slice(contents.findLastIndex(isStart) + 1)) {
    const first = partsWith(content, "functionCall")[0];
    if (first !== undefined && !isGiven(first["thoughtSignature"]))
      yield { rule: "G3", message: "the first call of a step is not signed", place: content.place };
  }
}

/** G4: only the roles user and model, no empty parts, and signed parts are not merged. */
function* partsFit({ body, original }: RuleInput): Generator<Finding> {
  const signed = (content: Content) =>
    partsWith(content, "thoughtSignature").map((part) => canonical(part));
  const written = new Set(contentsOf(original).flatMap(signed));
  for (const content of contentsOf(body)) {
    const { role, place } = content;
    if (role !== "user" && role !== "model")
      yield { rule: "G4", message: `role ${role} is not accepted`, place };
    const parts = listOf(content.item["parts"]);
    if (
      parts.length === 0 ||
      parts.some((part) => !isObject(part) || Object.keys(part).length === 0)
    )
      yield { rule: "G4", message: "parts are empty", place };
    if (original !== undefined && signed(content).some((part) => !written.has(part)))
      yield { rule: "G4", message: "a signed part is not as the model wrote it", place };
  }
}

/** G5: every called function is among the declared ones, if there are any. */
function* calledAreDeclared({ body }: RuleInput): Generator<Finding> {
  const declared = new Set(
    objectsOf(body["tools"]).flatMap((tool) =>
      objectsOf(tool["functionDeclarations"] ?? tool["function_declarations"]).map(
        ({ name }) => name,
      ),
    ),
  );
  if (declared.size === 0) return;
  for (const content of contentsOf(body)) {
    const named = ["functionCall", "functionResponse"].flatMap((key) =>
      partsWith(content, key).map((part) => part[key]),
    );
    const missing = named.find((one) => isObject(one) && !declared.has(one["name"]));
    if (isObject(missing))
      yield {
        rule: "G5",
        message: `the function ${String(missing["name"])} is not declared`,
        place: content.place,
      };
  }
}

export const geminiRules: Rules = {
  G1: responsesMatchCalls,
  G2: callsFollowUser,
  G3: callsAreSigned,
  G4: partsFit,
  G5: calledAreDeclared,
};
