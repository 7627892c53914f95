/** Keeps the last few opened texts, because a reader of one page usually wants the next. */

import { BoundedMap } from "../../bounds/bounded-map.ts";
import type { ArchivedText } from "./archived-text.ts";

export interface OpenTexts {
  /** Contract: the caller has already checked that the asker may see this content. */
  open(key: string, read: () => Promise<ArchivedText>): Promise<ArchivedText>;
  close(): void;
}

const textsMax = 4;
const bytesMax = 64 * 1024 * 1024;
const idleMs = 60_000;

type OpenText = Extract<ArchivedText, { kind: "text" }>;

/** Keeps only texts. It does not remember that a message is absent, because the message may still arrive. */
export function createOpenTexts(): OpenTexts {
  const texts = new BoundedMap<string, OpenText>({
    entries: textsMax,
    weight: bytesMax,
    weightOf: ({ bytes }) => bytes.length,
  });
  let timer: NodeJS.Timeout | undefined;

  const keep = (key: string, text: OpenText): void => {
    if (text.bytes.length <= bytesMax) texts.set(key, text);
    clearTimeout(timer);
    timer = setTimeout(() => texts.clear(), idleMs).unref();
  };

  return {
    open: async (key, read) => {
      const text = texts.get(key) ?? (await read());
      if (text.kind === "text") keep(key, text);
      return text;
    },
    close: () => {
      clearTimeout(timer);
      texts.clear();
    },
  };
}
