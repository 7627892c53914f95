/**
 * Characters that are invisible or that change the order in which text is read. They are shown, escaped or removed, but never
 * passed on as they are.
 */

/**
 * Characters that a terminal acts on: controls, line separators, bidirectional controls and tags. Tab and line feed are excluded,
 * because they only lay the text out.
 */
const obeyed = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff]|[\u{e0000}-\u{e007f}]/gu;

const unseenClasses =
  "\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Bidi_Control}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb";
/** Characters to mark on a page. Not tab and line feed, and not the two variation selectors that are common in emoji. */
const unseenOnPage = new RegExp(`(?![\\t\\n\\ufe0e\\ufe0f])[${unseenClasses}]`, "gu");
/**
 * All characters that a person cannot see, including format characters, private use characters and the blank Braille pattern. A
 * model never gets them in quoted text.
 */
const unseen = new RegExp(`[${unseenClasses}\\p{Cf}\\p{Co}\\u2800]`, "gu");

/** Makes text safe for a terminal by escaping every character that the terminal would act on, as \x1b or \u{202e}. */
export function harmless(text: string): string {
  return text.replaceAll(obeyed, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/**
 * Writes JSON that is safe for a terminal. Characters that a terminal would act on become JSON escapes, so the value stays the
 * same.
 */
export function harmlessJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(obeyed, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** Makes text safe for a page. A character that could hide or reorder text becomes a symbol like ␛ or ⟦U+202E⟧. */
export function visible(text: string): string {
  return text.replace(unseenOnPage, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "␡";
    return `⟦U+${code.toString(16).toUpperCase().padStart(4, "0")}⟧`;
  });
}

/** Turns somebody else's words into one line of visible characters, so that Plimsoll can quote them. */
export function oneSeenLine(text: string): string {
  return text
    .replace(/[\s\u0085]+/g, " ")
    .replace(unseen, "")
    .trim();
}
