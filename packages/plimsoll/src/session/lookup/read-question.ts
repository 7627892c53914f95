/** Reads what a query asks for: a topic, the user's rules, or the user's requests. */

export type Question =
  | { readonly kind: "topic"; readonly topic: string }
  /** The rules that the user gave. `topic` is what they are about, or empty. */
  | { readonly kind: "rules"; readonly topic: string }
  /** What the user asked for or said. */
  | {
      readonly kind: "requests";
      readonly which: "all" | "first" | "last";
      readonly topic: string;
      /** Whether only words about the topic answer the question. */
      readonly isAboutTopic: boolean;
    };

/** Queries with more words than this are texts and not questions. */
const questionWordsMax = 24;

const saying =
  "give|gave|given|gives|set|state|stated|tell|told|tells|ask|asked|asks|say|said|says|want|wants|wanted|request|requested|instruct|instructed|require|required|requires|forbid|forbade|forbidden|prohibit|prohibited|allow|allowed|mention|mentioned|prefer|prefers|preferred|order|ordered|insist|insisted|expect|expects|expected|demand|demanded";
const user = "user|customer|client|human";
const ruleNouns =
  "rules?|instructions?|constraints?|requirements?(?!\\.)|restrictions?|guidelines?|conventions?|preferences?|prohibitions?";

/** The query speaks of what the user said, or of what the agent was told. */
const ofUser = [
  new RegExp(`\\b(?:${user})\\b.{0,40}\\b(?:${saying})\\b`, "i"),
  new RegExp(`\\b(?:${saying})\\b.{0,20}\\bby the (?:${user})\\b`, "i"),
  new RegExp(`\\b(?:did|have|had) (?:i|we|you|they) (?:\\w+ )?(?:${saying})\\b`, "i"),
  /\b(?:was|were|been|am|are) (?:i|you|we) .{0,15}\b(?:told|asked|allowed|forbidden|instructed|supposed)\b/i,
  /\b(?:told|asked|instructed) (?:me|you|us|the (?:agent|assistant|model))\b/i,
];
const ofRules = new RegExp(
  `\\b(?:${ruleNouns}|not to|never|always|allow(?:ed)?|forb[ia]d\\w*|prohibit\\w*|must|mustn['’]t|avoid|off[- ]limits|don['’]ts?)\\b|\\bnot\\b.{0,20}\\bdo\\b`,
  "i",
);
/** Asks for rules without a verb of saying. */
const rulesAlone = [
  new RegExp(`\\b(?:${user})(?:['’]s|s['’])? (?:${ruleNouns})\\b`, "i"),
  new RegExp(`\\b(?:${ruleNouns}) (?:of|from|by) the (?:${user})\\b`, "i"),
  new RegExp(
    `\\b(?:which|what|list|all|any|every)\\b.{0,30}\\b(?:${ruleNouns})\\b.{0,40}\\b(?:follow|obey|respect|apply|given|in force|so far)\\b`,
    "i",
  ),
];
const rulesElsewhere =
  /(?<!\p{L})(?:welche (?:regeln|vorgaben|anweisungen)|quelles (?:règles|consignes|instructions)|qué (?:reglas|instrucciones)|какие правила|какие указания)(?!\p{L})|哪些规则|什么规则|哪些要求|どんなルール|어떤 규칙/iu;
const requestsElsewhere =
  /(?<!\p{L})(?:was (?:hat|wollte) der (?:be)?nutzer|qu['’]a (?:demandé|dit) l['’]utilisateur|qué (?:pidió|dijo) el usuario|что (?:просил|сказал) пользователь)(?!\p{L})|用户(?:要求|说)了?什么/iu;

/** Words that belong to the question itself, such as "which rules did the user give". What is left is the topic. */
const asksOnly = new RegExp(
  `\\b(?:${saying}|${user}|users|${ruleNouns}|agent|assistant|model|conversation|session|chat|message|task|work|job|goal|first|last|latest|recent|recently|newest|initial|initially|original|originally|beginning|start|end|earlier|far|follow|obey|respect|apply|force|never|always|must|mustn['’]t|avoid|do|does|did|done|don['’]ts?|didn['’]t|list|quote|repeat|remember|remind|exact|exactly|everything|anything|something|thing|things|make|exist|there)\\b`,
  "gi",
);
const aboutTopic = /\b(?:about|regarding|concerning|on)\b/i;
const first = /\b(?:first|initial|initially|original|originally|beginning|start)\b/i;
const last = /\b(?:last|latest|newest|most recent|recently)\b/i;

export function readQuestion(query: string): Question {
  const isText = query.trim().split(/\s+/).length > questionWordsMax;
  if (isText) return { kind: "topic", topic: query };
  if (rulesElsewhere.test(query)) return { kind: "rules", topic: "" };
  const isOfUser = ofUser.some((pattern) => pattern.test(query));
  const topic = query.replace(asksOnly, " ");
  if ((isOfUser && ofRules.test(query)) || rulesAlone.some((pattern) => pattern.test(query)))
    return { kind: "rules", topic };
  if (!isOfUser && !requestsElsewhere.test(query)) return { kind: "topic", topic: query };
  return {
    kind: "requests",
    which: whichOf(query),
    topic: isOfUser ? topic : "",
    isAboutTopic: aboutTopic.test(query),
  };
}

function whichOf(query: string): "all" | "first" | "last" {
  if (first.test(query)) return "first";
  return last.test(query) ? "last" : "all";
}
