import { describe, expect, test } from "vitest";
import { z } from "zod";
import { PlimsollError } from "../../message/error.ts";
import { checkBody, count, nothing, number, readQuery, text, whole } from "./arguments.ts";

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (!PlimsollError.is(error)) throw error;
    expect(error.status).toBe(400);
    return `${error.code} ${error.message}`;
  }
  return "taken";
}

describe("a query", () => {
  const schema = z.strictObject({
    limit: count({ usual: 10, max: 100 }, "How many."),
    message: number("Which."),
    form: z.enum(["text", "parts"]).optional(),
    q: z.string().trim().min(1),
  });
  const read = (query: string) => readQuery(schema, new URLSearchParams(query));

  test("has its numbers as numbers, the usual ones where nothing is said, and never more than the most", () => {
    expect(read("q=a")).toEqual({ q: "a", limit: 10 });
    expect(read("q=a&limit=7&message=0")).toEqual({ q: "a", limit: 7, message: 0 });
    expect(read("q=a&limit=5000")).toMatchObject({ limit: 100 });
  });

  test.each([
    ["q=a&limit=many", "USAGE `limit` must be a whole number."],
    ["q=a&limit=", "USAGE `limit` must be a whole number."],
    ["q=a&limit=-1", "USAGE `limit` must be a whole number."],
    ["q=a&message=1.5", "USAGE `message` must be a whole number."],
    ["q=a&form=html", "USAGE `form` must be one of text, parts."],
    ["q=%20", "USAGE `q` must be text of at least 1 characters."],
    ["", "USAGE `q` is missing. It must be text."],
    ["q=a&q=b", "USAGE `q` is given twice. Send it once."],
    [
      "q=a&limits=1",
      "USAGE This route does not take `limits`. It takes `limit`, `message`, `form`, `q`.",
    ],
  ])("%s: %s", (query, sentence) => {
    expect(refusal(() => read(query))).toBe(sentence);
  });

  test("that is to be empty says so", () => {
    expect(refusal(() => readQuery(nothing, new URLSearchParams("a=1&b=2")))).toBe(
      "USAGE This route does not take `a`, `b`. It takes no arguments.",
    );
  });
});

describe("a body", () => {
  const schema = z.strictObject({
    edit: whole("Which.").optional(),
    label: text(5, "Its name.").optional(),
    isIt: z.boolean().optional(),
    inner: z.strictObject({ names: z.array(z.string()) }).optional(),
  });

  test.each([
    [{ edit: "7" }, "`edit` must be a whole number."],
    [{ edit: 1.5 }, "`edit` must be a whole number."],
    [{ edit: -1 }, "`edit` must be at least 0."],
    [{ label: "longer" }, "`label` must be text of at most 5 characters."],
    [{ label: 7 }, "`label` must be text."],
    [{ isIt: "true" }, "`isIt` must be true or false."],
    [{ inner: { names: "x" } }, "`inner.names` must be a list."],
    [{ inner: {} }, "`inner.names` is missing. It must be a list."],
    [[], "The body must be a JSON object."],
    [null, "The body must be a JSON object."],
    [7, "The body must be a JSON object."],
    [{ tusk: 1 }, "This route does not take `tusk`. It takes `edit`, `label`, `isIt`, `inner`."],
  ])("%j: %s", (body, sentence) => {
    expect(refusal(() => checkBody(schema, body))).toBe(`BODY_INVALID ${sentence}`);
  });

  test("that fits is given as it is", () => {
    expect(checkBody(schema, { edit: 7, label: "x" })).toEqual({ edit: 7, label: "x" });
  });
});
