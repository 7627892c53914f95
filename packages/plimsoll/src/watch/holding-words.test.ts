import { expect, test } from "vitest";
import { holdingWords } from "./holding-words.ts";

test.each([
  [
    { sessions: 1, messages: 1, archiveEntries: 1, bytes: 999 },
    "1 session, 1 message, 1 archive entry, 999 bytes",
  ],
  [
    { sessions: 2, messages: 1200, archiveEntries: 0, bytes: 1_250_000 },
    "2 sessions, 1,200 messages, 0 archive entries, 1.3 MB",
  ],
  [
    { sessions: 0, messages: 0, archiveEntries: 0, bytes: 2_000_000_000 },
    "0 sessions, 0 messages, 0 archive entries, 2.0 GB",
  ],
])("%o is said in words", (sum, words) => expect(holdingWords(sum)).toBe(words));
