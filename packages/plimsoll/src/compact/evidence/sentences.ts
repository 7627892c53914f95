/** Recognises statements of users and agents: rules, decisions, open items, successes and failures. */

/** Words that make a sentence a rule, at any position in the sentence. */
const ruling =
  /\b(?:must(?! have been)|mustn['’]t|make sure|ask (?:me|us) (?:first|before)|be sure to|under no circumstances|(?:is|are|strictly) forbidden|not allowed|required to|no more than|at most|at least|off[- ]limits|(?:should|shall)(?:n['’]t| not| never| always| only)|may not)\b/i;
/** Words that make a sentence a rule only at the beginning of the sentence or of a clause. */
const bidding =
  /(?:^|[,;:(–—]\s*|(?<!\b(?:I|we|you|they|he|she|it)\s)\b(?:please|and|but|so|also|just|then)\s+)(?:do not|don['’]t|never|always|only|keep(?! going)|avoid|ensure|stick to|leave(?= .*\b(?:alone|as|out|unchanged|untouched|be)\b)|remember|prefer)\b/i;
/** Words of an agent about its user, in a text that somebody pasted. */
const speakingOfUser = /\b(?:the user|they['’]re|they are)\b/i;
/** A question, such as "shouldn't we go back?", gives no rule. A polite order, such as "can you please not touch it?", does. */
const asking =
  /^(?!.*\b(?:can|could|would|will) you\b.*\b(?:not|never|only|always)\b).*[?？]["'”’)]*\s*$/s;
const choosing = /\buse\b.{1,80}\b(?:not|only|instead of|rather than)\b/i;
const rulingElsewhere =
  /(?<!\p{L})(?:muss|müssen|darf(?:st)? nicht|dürfen nicht|niemals|nur noch|auf keinen fall|bitte nicht|il faut|jamais|toujours|doit|doivent|nunca|siempre|debes?|deben|asegúrate|никогда|всегда|должен|должна|нельзя|обязательно)(?!\p{L})|必须|不要|不得|务必|禁止|切勿|只能|必ず|絶対に|しないで|반드시|절대/iu;

/** Signs that are frequent in code and patterns. */
const codeSigns = /[\\(){}[\]|<>=;*^$]/g;
const mostCodeSigns = { share: 0.08, count: 6 };

/** A line of code that somebody pasted may contain "must" or "never" in a string, and gives no rule. */
function isCode(sentence: string): boolean {
  const signs = sentence.match(codeSigns)?.length ?? 0;
  return signs >= mostCodeSigns.count && signs > sentence.length * mostCodeSigns.share;
}

/** A guess, such as "it's possible that the tool does it, but doesn't report it". */
const guessing =
  /^(?:it['’]?s (?:possible|likely)|maybe|perhaps|i (?:guess|think|suppose|wonder)|looks like|seems)\b/i;

/** A sentence that goes on from another, such as "If so, don't do it", is no rule without it. */
const goingOn = /^(?:if (?:yes|no|so|not)\b|otherwise\b|in that case\b)/i;

export function isRule(sentence: string): boolean {
  if (goingOn.test(sentence)) return false;
  if (guessing.test(sentence) && !ruling.test(sentence)) return false;
  if (asking.test(sentence) || speakingOfUser.test(sentence) || isCode(sentence)) return false;
  return [ruling, bidding, choosing, rulingElsewhere].some((pattern) => pattern.test(sentence));
}

const deciding =
  /\b(?:let['’]s (?:use|go with|keep|switch|stick|do)|(?:I|we)(?:['’]ll| will) (?:go with|use|switch to|stick with|keep)|I am going to (?:use|go with|switch to)|(?:we|I)(?:['’]ve| have)? (?:decided|chose|chosen|picked|agreed|settled|opted)|decided (?:to|on|against)|the (?:fix|solution|plan|approach|root cause|cause|problem|issue|bug) (?:is|was)|root cause|turns out|the reason (?:is|was)|going with|agreed (?:to|on)|use\b.{1,60}\b(?:instead of|rather than))\b/i;
/** A note of a decision in few words, such as "Chose JWT over sessions" or "Decision: keep Postgres". */
const notedDecision =
  /^(?:(?:decision|decided)\s*:|(?:chose|chosen|picked|selected|preferred|rejected|ruled out|kept|dropped|opted for|settled on|went with|switched (?:from|to)|moved (?:from|to)|replaced)\b(?!.{0,20}\b(?:you|yours)\b))/i;
const decidingElsewhere =
  /(?<!\p{L})(?:wir nehmen|entschieden|on a décidé|decidimos|hemos decidido|решили|решено)(?!\p{L})|决定|決定/iu;

export function isDecision(sentence: string): boolean {
  return [deciding, notedDecision, decidingElsewhere].some((pattern) => pattern.test(sentence));
}

const open =
  /\bTODO\b|\b(?:next steps?\b|next:|still (?:needs?|have|has) to|remaining (?:work|tasks?|steps?|items?|issues?|is|are)|remaining:|remains to|left to do|yet to|not yet (?:done|implemented|fixed|tested|written)|to be done|open (?:questions?|points?|issues?|items?)|follow[- ]ups?\b)/i;
const box = /^\s{0,20}(?:(?:[-*+]|\d{1,3}[.)])\s+)?\[([ xX✓])\]\s+(\S.*)$/;

export function isOpenItem(sentence: string): boolean {
  return open.test(sentence);
}

export type Ticked =
  | { readonly kind: "open" | "done"; readonly text: string }
  | { readonly kind: "none" };

/** Reads a line that begins with a check box. */
export function readBox(line: string): Ticked {
  const found = box.exec(line);
  const text = found?.[2];
  if (text === undefined) return { kind: "none" };
  return { kind: found?.[1] === " " ? "open" : "done", text };
}

const working =
  /\b(?:tests? (?:now )?pass(?:es|ed|ing)?|works? (?:now|correctly|as expected|fine|again|well)|works (?:with|for|on)\b|(?:fix|approach|change|patch|solution|workaround) works|runs? (?:cleanly|fine)|(?:is|are|was|were|been|now) (?:fixed|resolved|working|implemented|verified|confirmed|cancelled|booked|updated|in place)|successfully|succeeded|I(?:['’]ve| have) (?:fixed|added|implemented|updated|created|removed|changed|written|verified|cancelled|booked))\b/i;
/** A note of what works, such as "Using bcrypt for password hashing". */
const notedSuccess =
  /^(?:using\b.{1,60}\b(?:for|to|as|in|with)\b|(?:working|what worked|works)\b.{0,20}:)/i;
const failing =
  /\b(?:(?:did|does|do)(?:n['’]t| not) (?:work|help|fix|scale)|still (?:fails?|failing|broken|errors?|crash(?:es)?)|failed|fails\b|not working|not (?:\w{1,20} ){0,2}successful(?:ly)?|no luck|unable to|could(?:n['’]t| not)|can(?:not|['’]t) (?:find|be|use|open|connect)|reverted|dead end|(?:was|is|were|,) (?:far )?too (?:slow|expensive|large|complex|fragile))\b/i;
const notedFailure = /^(?:what failed|did not work|dead end)\b.{0,20}:/i;

const finished = "(?:completed?|done|finished|ready|migrated|ported|in place)";
const unfinished =
  "(?:pending|in progress|outstanding|missing|left|to go|not (?:yet )?(?:done|started|finished)|half[- ](?:done|finished|way))";
/** How far the work is, such as "Login endpoint complete, logout pending" or "3 of 5 endpoints finished". */
const progress = [
  new RegExp(
    String.raw`\b${finished}\b.*\b${unfinished}\b|\b${unfinished}\b.*\b${finished}\b`,
    "i",
  ),
  new RegExp(String.raw`\b\d{1,6} (?:of|out of) \d{1,6}\b.{0,60}\b${finished}\b`, "i"),
  /^(?:current )?(?:state|status|progress)\s*:|\bblocked (?:on|by)\b|\bhalf[- ](?:done|finished)\b/i,
];

/** Whether an agent says how far its work is. */
export function isProgress(sentence: string): boolean {
  return progress.some((pattern) => pattern.test(sentence));
}

const supposing = /\b(?:if|whether|would|might|unless)\b/i;

export type ReportedOutcome = "worked" | "failed" | "neither";

export function outcomeIn(sentence: string): ReportedOutcome {
  if (supposing.test(sentence)) return "neither";
  if (failing.test(sentence) || notedFailure.test(sentence)) return "failed";
  return working.test(sentence) || notedSuccess.test(sentence) ? "worked" : "neither";
}
