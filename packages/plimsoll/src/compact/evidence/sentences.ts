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
  /\b(?:let['’]s (?:use|go with|keep|switch|stick|do)|(?:I|we)(?:['’]ll| will) (?:go with|use|switch to|stick with|keep|stay (?:on|with))|I am going to (?:use|go with|switch to)|(?:we|I)(?:['’]ve| have)? (?:decided|chose|chosen|picked|agreed|settled|opted)|decided (?:to|on|against)|the (?:fix|solution|plan|approach|root cause|cause|problem|issue|bug) (?:is|was)|root cause|turns out|the reason (?:is|was)|going with|agreed (?:to|on)|use\b.{1,60}\b(?:instead of|rather than))\b/i;
/** A note of a decision in few words, such as "Chose JWT over sessions" or "Decision: keep Postgres". */
const notedDecision =
  /^(?:(?:decision|decided|final call|verdict|choice)\s*:|(?:chose|chosen|picked|selected|preferred|rejected|ruled out|kept|dropped|opted for|settled on|went with|switched (?:from|to)|moved (?:from|to)|replaced)\b(?!.{0,20}\b(?:you|yours)\b))/i;
/** What may not happen any more, or what a person allowed: "Never edit the generated files", "approved by Dana". */
const notedLimit =
  /^(?:[Dd]o not|[Dd]on['’]t|[Nn]ever) (?:touch|change|edit|modify|use|delete|remove|rename|run|commit|push|merge|deploy|upgrade|rely on|rewrite|move)\b|\b(?:approved|signed off|agreed|confirmed) (?:by|with) (?=\p{Lu})/u;
const decidingElsewhere =
  /(?<!\p{L})(?:wir nehmen|entschieden|on a décidé|decidimos|hemos decidido|решили|решено)(?!\p{L})|决定|決定/iu;

export function isDecision(sentence: string): boolean {
  return [deciding, notedDecision, notedLimit, decidingElsewhere].some((pattern) =>
    pattern.test(sentence),
  );
}

const open =
  /\bTODO\b|\b(?:next steps?\b|next:|still (?:needs?|have|has) to|remaining (?:work|tasks?|steps?|items?|issues?|is|are)|remaining:|remains to|left to do|yet to|not yet (?:done|implemented|fixed|tested|written)|to be done|open (?:questions?|points?|issues?|items?)|follow[- ]ups?\b|up next\b|next up\b|^(?:(?:we|I) )?(?:still )?need to (?!know\b)|^left:)/i;
/** A step that comes after others: "Then wire the secret into the chart", "After that we should test the search". */
const laterStep =
  /^(?:and )?(?:then|after (?:that|this)|afterwards|finally|lastly|next|later),? (?:(?:we|I|you) (?:still )?(?:should|must|need to|have to|want to)\b|(?:add|build|change|check|clean up|connect|create|delete|deploy|document|drop|extend|finish|fix|implement|merge|migrate|move|port|publish|rebase|refactor|release|remove|rename|replace|review|rewrite|rotate|run|set up|split|switch|tag|test|update|upgrade|verify|wire|write) \S)/i;
const box = /^\s{0,20}(?:(?:[-*+]|\d{1,3}[.)])\s+)?\[([ xX✓])\]\s+(\S.*)$/;

export function isOpenItem(sentence: string): boolean {
  return open.test(sentence) || laterStep.test(sentence);
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
const improving =
  /\b(?:did the trick|got rid of|(?:brought|cut|reduced|lowered|shrank|dropped|sped up|improved)\b.{1,80}\bfrom\b.{1,60}\bto\b|halved|(?:no more|no longer any|without(?: any)?) (?:\w{1,30} ){0,2}(?:errors?|failures?|problems?|crash(?:es)?|warnings?|time-?outs?|leaks?|[45]\d\ds?)\b)/i;
const failing =
  /\b(?:(?:did|does|do)(?:n['’]t| not) (?:work|help|fix|scale)|still (?:fails?|failing|broken|errors?|crash(?:es)?)|failed|fails\b|not working|not (?:\w{1,20} ){0,2}successful(?:ly)?|no luck|unable to|could(?:n['’]t| not)|can(?:not|['’]t) (?:find|be|use|open|connect|handle|parse|support|cope|deal|keep up|reach|reproduce)|reverted|(?<!can be )rolled (?:it )?back|gave up (?:on|after)|(?:ran|runs) out of|no way to|timed out|made (?:it|this|that|things|them|everything) (?:even |far |much )?(?:slower|worse|larger|flaky|unstable)|dead end|(?:was|is|were|,) (?:far )?too (?:slow|expensive|large|complex|fragile))\b/i;
/** What came of doing something: "Mocking the clock broke the tests", "Pinning esbuild to 0.19.8 fixed the source maps". */
const doing = String.raw`^(?!(?:during|nothing|something|everything|anything)\b)\w{2,20}ing\b(?:(?!\b(?:what|why|which|whether|where|how|that|who)\b).){2,120}\b`;
const doingHelped = new RegExp(
  String.raw`${doing}(?:fixe[sd]|solve[sd]|resolve[sd]|cure[sd]|helped|helps|avoids|avoided|prevents|prevented|keeps|kept|stopped|made .{1,60} (?:faster|stable|smaller))\b`,
  "i",
);
const doingHarmed = new RegExp(
  String.raw`${doing}(?:broke|breaks|caused|causes|led to|leads to|cost too|crashed|crashes)\b`,
  "i",
);
const notedFailure = /^(?:what failed|did not work|dead end)\b.{0,20}:/i;

const finished =
  "(?:completed?|done|finished|ready|migrated|ported|pushed|merged|deployed|committed|in place)";
const unfinished = String.raw`(?:pending|in progress|outstanding|missing|left|to go|not (?:yet \w{3,20}|\w{3,20} yet|done|started|finished)|half[- ](?:done|finished|way))`;
/** How far the work is, such as "Login endpoint complete, logout pending" or "3 of 5 endpoints finished". */
const progress = [
  new RegExp(
    String.raw`\b${finished}\b.*\b${unfinished}\b|\b${unfinished}\b.*\b${finished}\b`,
    "i",
  ),
  new RegExp(String.raw`\b\d{1,6} (?:of|out of) \d{1,6}\b.{0,60}\b${finished}\b`, "i"),
  /^(?:current )?(?:state|status|progress)\s*:|\bblocked (?:on|by)\b|\bhalf[- ](?:done|finished)\b|\bhalf-?way through\b|\b(?:is|are) (?:in review|merged|deployed|red|green)\b/i,
  /\b(?:green|pass|passes|passing|passed|done|works?|working|ported|migrated|ready)\b,? (?:except(?: for)?|apart from|but not)\b/i,
  /\b(?:is|are) still (?:on|at|using|running|behind)\b/i,
];

/** Whether an agent says how far its work is. */
export function isProgress(sentence: string): boolean {
  return progress.some((pattern) => pattern.test(sentence));
}

const supposing = /\b(?:if|whether|would|might|unless)\b/i;

export type ReportedOutcome = "worked" | "failed" | "neither";

export function outcomeIn(sentence: string): ReportedOutcome {
  if (supposing.test(sentence)) return "neither";
  if ([failing, notedFailure, doingHarmed].some((pattern) => pattern.test(sentence)))
    return "failed";
  const patterns = [working, improving, notedSuccess, doingHelped];
  return patterns.some((pattern) => pattern.test(sentence)) ? "worked" : "neither";
}

/** What an agent says of its next call, and phrases without content: "Let me look at the parser", "Here is the list". */
const narrating =
  /^(?:(?:ok(?:ay)?|sure|great|good|perfect|right|alright|now|first|next|so|yes|no)\b[,.!:]?\s*)*(?:(?:let me|let['’]s|I['’]ll|I will|I am going to|I['’]m|I am|I need to|I (?:can|should|want to)|looking|checking|reading|running|opening|trying|searching|here(?:['’]s| is| are)|thanks?|hello|hi|please)\b|$)/i;
const leastWords = 4;

/** Whether a sentence says something that may matter later, in whatever words. */
export function isStatement(sentence: string): boolean {
  if (/[?？]["'”’)]*$/.test(sentence) || narrating.test(sentence) || isCode(sentence)) return false;
  return sentence.split(/\s+/).length >= leastWords;
}
