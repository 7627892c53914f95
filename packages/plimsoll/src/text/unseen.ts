/** Characters that a reader does not see, or that change the order of what is read: shown, escaped or left out, never passed on. */

/** A terminal acts on these: controls, separators of lines, bidirectional controls, tags. Tab and line feed are layout. */
const obeyed = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff]|[\u{e0000}-\u{e007f}]/gu;

const unseenClasses =
  "\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Bidi_Control}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb";
/** On a page the two common selectors of emoji stay, too. */
const unseenOnPage = new RegExp(`(?![\\t\\n\\ufe0e\\ufe0f])[${unseenClasses}]`, "gu");
/** Also format characters, private use, and a letter that is blank: nothing that a model could be told and a person not. */
const unseen = new RegExp(`[${unseenClasses}\\p{Cf}\\p{Co}\\u2800]`, "gu");

/** For a terminal: what it would obey becomes an escape, as \x1b or \u{202e}. */
export function harmless(text: string): string {
  return text.replaceAll(obeyed, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** JSON for a terminal. It says the same: what a terminal would obey becomes an escape of JSON's own. */
export function harmlessJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(obeyed, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** For a page: what could hide or reorder something becomes a mark like ␛ or ⟦U+202E⟧. */
export function visible(text: string): string {
  return text.replace(unseenOnPage, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "␡";
    return `⟦U+${code.toString(16).toUpperCase().padStart(4, "0")}⟧`;
  });
}

/** For a text of ours that repeats somebody's words: one line of what can be seen. */
export function oneSeenLine(text: string): string {
  return text
    .replace(/[\s\u0085]+/g, " ")
    .replace(unseen, "")
    .trim();
}
