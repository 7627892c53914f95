/** What is wrong with a run: a sentence for each case, and none where all is well. */

import { looseChainOf, pathInSnapshot } from "../../src/session/log/log.ts";
import { lastScope } from "../../src/session/lookup/scope.ts";
import type { NodeRecord } from "../../src/store/store.ts";
import { violationsOf } from "../generate/rehearsal.ts";
import { isObject, type Json, parseJson } from "../harness/json.ts";
import { messageTexts } from "../harness/kept.ts";
import type { Piece } from "./habits.ts";
import { bodyText, type Run, type TakenTurn } from "./run.ts";

export async function sessionsBesideOne({ store, turns }: Run): Promise<readonly string[]> {
  const sessions = await store.sessions({ limit: 100 });
  const places = turns.map(({ turn: { relation, session, branch } }, index) => {
    const number = sessions.findIndex(({ id }) => id === session);
    return `${index}: ${relation} ${number} ${branch}`;
  });
  const isOne = sessions.length === 1 && sessions[0]?.branches === 1;
  return isOne ? [] : [`${sessions.length} sessions: ${places.join(", ")}`];
}

interface Kept extends NodeRecord {
  readonly text: string;
  readonly strings: readonly string[];
}

async function keptIn({ store, turns }: Run): Promise<readonly Kept[]> {
  const session = turns[0]?.turn.session ?? "";
  const { nodes = [] } = (await store.snapshot(session)) ?? {};
  const bodies = await store.bodies(
    session,
    nodes.map(({ seq }) => seq),
  );
  return nodes.map((node) => {
    const text = new TextDecoder().decode(bodies.get(node.seq));
    return { ...node, text, strings: stringsOf(parseJson(text)) };
  });
}

function stringsOf(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap((element: Json) => stringsOf(element));
  return isObject(value) ? Object.values(value).flatMap(stringsOf) : [];
}

/** Calls and texts of answers, results, and what the user said. */
export async function notOnceInLog(run: Run): Promise<readonly string[]> {
  const kept = (await keptIn(run)).filter(({ source }) => source !== "inner" && source !== "echo");
  const places = (what: string, found: readonly Kept[]): readonly string[] =>
    found.length === 1
      ? []
      : [`${what}: ${found.length} times, ${found.map(({ seq, source }) => `${seq} ${source}`)}`];
  return run.turns.flatMap(({ exchange: { calls, words }, turn }, index) => {
    const isAnswered = turn.fitted.refusal === undefined;
    const isSentBack = index < run.turns.length - 1;
    if (!isAnswered) return [];
    const said = words.flatMap((text) =>
      places(
        text.slice(0, 16),
        kept.filter(({ role, text: all }) => role === "assistant" && all.includes(text)),
      ),
    );
    const called = calls.flatMap(({ argument, result }) => [
      ...places(
        argument.slice(0, 16),
        kept.filter(({ role, text }) => role === "assistant" && text.includes(argument)),
      ),
      ...(isSentBack
        ? places(
            result.slice(0, 16),
            kept.filter(({ strings }) => strings.includes(result)),
          )
        : []),
    ]);
    return [...said, ...called];
  });
}

/** What the model looked up is in every later request until the next compaction. */
export function lostLookups({ turns }: Run): readonly string[] {
  return turns.flatMap(({ lookup }, index) => {
    if (lookup === undefined) return [];
    for (const [later, { sentText, newEdits }] of turns.entries()) {
      if (later <= index) continue;
      if (newEdits.length > 0) return [];
      const found = stringsOf(parseJson(sentText)).filter((each) => each === lookup);
      if (found.length < 2) return [`${lookup} is gone in turn ${later}`];
    }
    return [];
  });
}

/** What goes out is what the client wrote, but for what edits put in its place. */
export function notAsWritten({ wire, turns }: Run): readonly string[] {
  return turns.flatMap((taken, index) => {
    const sent = messageTexts(wire, taken.sentText);
    const expected = rowsOf(taken, (at) => taken.texts[at] ?? "", text);
    return sent.join() === expected.join() ? [] : [`turn ${index} sends other bytes`];
  });
}

/** An answer for which something was looked up goes out as the model gave it, without what its client adds (X6). */
export function brokenRules({ wire, turns }: Run): readonly string[] {
  return turns.flatMap(({ turn, texts, sentText }, index) =>
    violationsOf({ wire, turn, sentText, clientText: bodyText(wire, texts) })
      .map((violation) => JSON.stringify(violation))
      .filter((violation) => !violation.includes('"X6"'))
      .map((violation) => `turn ${index} breaks a rule: ${violation.slice(0, 200)}`),
  );
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** A request as it was sent, message by message, up to a message of the client's. */
function rowsOf(
  { patches, texts }: TakenTurn,
  own: (index: number) => string,
  edited: (bytes: Uint8Array, range: { readonly first: number; readonly end: number }) => string,
  end: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  const rows: string[] = [];
  let at = 0;
  for (const { first, end: behind, elements } of patches) {
    for (; at < Math.min(first, end); at++) rows.push(own(at));
    if (behind > end || first >= end) return rows;
    rows.push(...elements.map((bytes) => edited(bytes, { first, end: behind })));
    at = behind;
  }
  for (; at < Math.min(texts.length, end); at++) rows.push(own(at));
  return rows;
}

/** How many messages two requests begin with, whatever their spelling; an answer that is put together anew is not among them. */
function commonLength(earlier: readonly Piece[], later: readonly Piece[]): number {
  const differs = later.findIndex(({ key }, at) => earlier[at]?.key !== key);
  const { answer } = earlier[differs - 1] ?? {};
  const isCut = [earlier[differs], later[differs]].some(
    (piece) => piece?.answer === answer || piece?.key.startsWith("note") === true,
  );
  if (answer === undefined || !isCut) return differs;
  return earlier.findIndex((piece) => piece.answer === answer);
}

/** Between two compactions a request goes on as the one before it, but where the client's own bytes are others. */
export function changesOfItsOwn({ turns }: Run): readonly string[] {
  return turns.flatMap((later, index) => {
    const earlier = turns[index - 1];
    if (earlier === undefined || later.newEdits.length > 0) return [];
    const common = commonLength(earlier.pieces, later.pieces);
    const own = (at: number): string => later.pieces[at]?.key ?? "";
    const isSame = (at: number): boolean => earlier.texts[at] === later.texts[at];
    const edited: Parameters<typeof rowsOf>[2] = (bytes, { first, end }) => {
      const places = Array.from({ length: end - first + 2 }, (_, step) => first - 1 + step);
      return places.every(isSame) ? text(bytes) : "edited";
    };
    const before = rowsOf(earlier, own, edited, common);
    const now = rowsOf(later, own, edited);
    const isOther = (row: string, place: number): boolean =>
      row !== now[place] && row !== "edited" && now[place] !== "edited";
    const at = before.findIndex(isOther);
    if (at < 0) return [];
    return [`turn ${index}, message ${at}: ${before[at]?.slice(0, 80)} ≠ ${now[at]?.slice(0, 80)}`];
  });
}

/** Of the newest messages, which a client may rewrite with its next request: a warning, and a result that did not fit even once. */
const AT_THE_END = new Set(["warning", "offload_fresh"]);

/** Whatever was taken out is out for good: its place is still on the path. */
export async function lostEdits({ store, turns }: Run): Promise<readonly string[]> {
  const session = turns[0]?.turn.session ?? "";
  const snapshot = await store.snapshot(session);
  if (snapshot === undefined) return ["there is no session"];
  const tip = snapshot.branches[0]?.tipSeq ?? null;
  const path = pathInSnapshot(snapshot, tip).map(looseChainOf);
  return snapshot.edits
    .filter(({ action, strategy }) => action.kind !== "expand" && !AT_THE_END.has(strategy))
    .filter(({ anchor }) => !path.includes(anchor))
    .map(({ seq, action, strategy, step }) => {
      const turn = turns.findIndex((taken) => step.startsWith(taken.turn.id));
      return `edit ${seq} of turn ${turn} (${strategy}, ${action.kind}) is gone`;
    });
}

/** Each passage that was ever said is found once. */
export async function notFoundOnce(run: Run): Promise<readonly string[]> {
  const { engine, store, turns } = run;
  const [first] = turns;
  const session = first?.turn.session ?? "";
  const { tenant = "" } = (await store.session(session)) ?? {};
  const scope = await lastScope(store, session);
  const told = turns
    .slice(0, -1)
    .flatMap(({ exchange: { calls, words } }) => [...words, ...calls.map(({ result }) => result)]);
  const findings: string[] = [];
  for (const passage of told.slice(-6)) {
    const name = passage.slice(0, passage.indexOf(":") + 1);
    const passages = await engine.own.search(tenant, session, passage.slice(0, 60), {
      budgetTokens: 100_000,
      scope,
    });
    const found = passages.filter(({ text: all }) => all.includes(name));
    if (found.length !== 1) findings.push(`${name} is found ${found.length} times`);
  }
  return findings;
}
