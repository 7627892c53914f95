import { expect, test } from "vitest";
import { keepToken, tabToken, tokenInFragment } from "./tab-token.ts";

test("a token is taken from a fragment that is nothing else", () => {
  expect(tokenInFragment("#token=abc")).toBe("abc");
  expect(tokenInFragment("#token=a%2Bb%3D")).toBe("a+b=");
  expect(tokenInFragment("#token=50%")).toBe("50%");
  for (const other of ["", "#/", "#token=", "#/session/token=abc", "#token=abc/settings"])
    expect(tokenInFragment(other)).toBeUndefined();
});

test("where the browser keeps nothing the token lives as long as the page", () => {
  keepToken("abc");
  expect(tabToken()).toBe("abc");
  keepToken("");
  expect(tabToken()).toBe("");
});
