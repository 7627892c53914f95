/**
 * Text that a summary may contain only as a quotation: instructions to its reader, lines that pose as another speaker, and
 * Plimsoll's own marks.
 */

/** Text that tells the reader to do something. */
const addressed: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|your|these|those|the)\b.{0,40}\b(?:instructions?|rules?|prompts?|constraints?|guidelines?|messages?|context|orders?)\b/i,
  /\b(?:you are|you're) (?:now|no longer)\b|\bfrom now on\b|\bnew (?:instructions?|system prompt|persona|rules?)\b|\b(?:system|developer) (?:prompt|message|override|notice)\b/i,
  /\b(?:the|dear|attention|hey|note to|as an?)[, ]{1,2}(?:ai|assistant|agent|model|llm|summari[sz]er|claude|chatgpt|gpt)\b.{0,20}\b(?:must|should|shall|will|need|please|has to|is to|are)\b/i,
  /\b(?:assistant|agent|model|summari[sz]er)\b,? (?:you )?(?:must|should|shall|need(?:s)? to|has to|is (?:now )?(?:required|allowed|authori[sz]ed|approved) to)\b/i,
  /\b(?:do not|don['’]t|never) (?:tell|mention|inform|reveal|warn|ask)\b.{0,30}\b(?:user|anyone|human|this)\b/i,
  /\b(?:the )?user (?:has )?(?:already )?(?:approved|authori[sz]ed|confirmed|consented|agreed|granted)\b/i,
  /\b(?:remember|be sure|make sure) to (?:always|never|send|run|call|include|delete|upload|email|post)\b/i,
];
/** A role at the beginning of a line, a tag of a chat template, or a tool call. */
const voices: readonly RegExp[] = [
  /^\W{0,6}(?:system|assistant|user|human|developer|tool|function|ai)\W{0,4}:/i,
  /<\/?\|?(?:system|assistant|user|human|developer|tool|tools|function|functions|im_start|im_end|endoftext|start_header_id|eot_id|instructions?|summary|invoke|parameter|antml|tool_calls?|tool_use|tool_result|function_calls?|inst|data|source)\b/i,
  /\[\/?(?:INST|SYSTEM|SYS|USER|ASSISTANT)\]|<<\/?SYS>>|<\|/i,
  /"(?:tool_calls?|function_call|tool_use|arguments)"\s*:|"type"\s*:\s*"(?:tool_use|function)"/i,
];
/** Plimsoll's notices, marks and handles. */
const signs: readonly RegExp[] = [
  /\bpl_[0-9A-Za-z…]/,
  /\[\s?…/,
  /…\s?\d+ (?:lines?|messages?|tokens?)\b/,
  /\[\s?Plimsoll\b/i,
  /\bread_result\b/,
];

export type Voice = "speaks-to-reader" | "other-voice" | "our-sign" | "plain";

/**
 * The kind of forbidden text that `text` contains, or "plain" if it contains none. Contract: the caller passes only text that will not be shown as a quotation.
 */
export function voiceOf(text: string): Voice {
  if (signs.some((pattern) => pattern.test(text))) return "our-sign";
  if (voices.some((pattern) => pattern.test(text))) return "other-voice";
  return addressed.some((pattern) => pattern.test(text)) ? "speaks-to-reader" : "plain";
}

/** Separates the text of a link from its address, so that both are visible. A link can show one address and lead to another. */
export function withoutLinks(text: string): string {
  return text.replaceAll("](", "] (");
}
