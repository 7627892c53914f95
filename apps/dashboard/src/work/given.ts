/** Reads the fields of forms. */

/** The text without surrounding spaces. Undefined if the user left the field empty. */
export function given(text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed === "" ? undefined : trimmed;
}
