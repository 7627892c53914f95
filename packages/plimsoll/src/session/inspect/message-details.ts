/**
 * Shows messages of a session both in their original form and as the model sees them, with the edits that made the difference.
 */

import { shownTokens, type TokenScale } from "../../budget/token-scale.ts";
import type { MessageDetails } from "../../message/api.ts";
import type { Edit } from "../../message/edit.ts";
import { PlimsollError } from "../../message/error.ts";
import type { BranchRecord, NodeRecord, Store } from "../../store/store.ts";
import type { Wire } from "../../wire/format/wire.ts";
import { wireNamed } from "../../wire/wires.ts";
import { decodeMessage } from "../draft/encode.ts";
import { replaceParts } from "../draft/render.ts";
import { looseChainOf, pathTo, restoreLog, type SessionLog } from "../log/log.ts";
import { indexOn, pathOfBranch } from "../log/path.ts";
import { foldView, type IndexOf, type View } from "../log/view.ts";
import { scaleOf } from "../measure/branch-counters.ts";
import { readableMessage } from "./readable-parts.ts";

export interface Range {
  /** Numbers of the first and the last message in the log, both included. */
  readonly first: number;
  readonly last: number;
  readonly branch?: string;
}

/** Maximum number of messages in one answer. */
const mostMessages = 50;

export async function detailsOf(
  store: Pick<Store, "snapshot" | "bodies" | "turns">,
  session: string,
  range: Range,
): Promise<MessageDetails> {
  const snapshot = await store.snapshot(session);
  const wire = snapshot && wireNamed(snapshot.session.wire);
  if (snapshot === undefined || wire === undefined) return { items: [], edits: [] };
  const log = restoreLog(snapshot);
  const [lastTurn] = await store.turns(session, 1);
  const { path, record } = pathThrough(log, range, lastTurn?.branch);
  const wanted = path
    .filter(({ seq }) => seq >= range.first && seq <= range.last)
    .slice(0, mostMessages);
  const bodies = await store.bodies(
    session,
    wanted.map(({ seq }) => seq),
  );
  const indexOf = indexOn(pathOfBranch(log, record), log);
  const view = foldView(indexOf, log.edits);
  const seeing = { wire, view, indexOf, scale: scaleOf(record) };
  return {
    items: wanted.map((node) => itemOf(node, bodies.get(node.seq) ?? new Uint8Array(), seeing)),
    edits: view.edits.filter((edit) => touches(edit, wanted, seeing)),
  };
}

/**
 * The path of a branch that contains the first message of the range. If the caller names no branch, the branch of the last turn
 * is tried first.
 */
function pathThrough(
  log: SessionLog,
  { first, branch: wanted }: Range,
  likely: string | undefined,
): { readonly path: readonly NodeRecord[]; readonly record: BranchRecord } {
  const branches = [...log.branches.values()].map(({ record }) => record);
  const inOrder = [
    ...branches.filter(({ id }) => id === likely),
    ...branches.filter(({ id }) => id !== likely),
  ].filter(({ id }) => wanted === undefined || id === wanted);
  const found = inOrder
    .map((record) => ({ record, path: pathTo(log, record.tipSeq) }))
    .find(({ path }) => path.some((node) => node.seq === first));
  if (found !== undefined) return found;
  throw new PlimsollError(
    "POINT_UNKNOWN",
    `There is no message ${first} on this branch. \`plimsoll log\` shows their numbers.`,
    { status: 404 },
  );
}

/** The data needed to show messages as the model sees them. */
interface Seeing {
  readonly wire: Wire;
  readonly view: View;
  readonly indexOf: IndexOf;
  readonly scale: TokenScale;
}

type Item = MessageDetails["items"][number];

function itemOf(node: NodeRecord, body: Uint8Array, { wire, view, indexOf, scale }: Seeing): Item {
  const seen = visibleForm(view, indexOf(looseChainOf(node)) ?? -1, { wire, body });
  return {
    seq: node.seq,
    at: node.at,
    tokens: shownTokens(node.tokens, scale),
    ...readableMessage(wire.messages.decode(decodeMessage(body))),
    ...(seen === undefined ? {} : { seen }),
  };
}

function visibleForm(
  view: View,
  index: number,
  { wire, body }: { readonly wire: Wire; readonly body: Uint8Array },
): Item["seen"] {
  if (view.gaps.some(({ first, last }) => first <= index && index <= last)) return "taken out";
  const replacements = view.replacements.get(index);
  if (replacements === undefined) return undefined;
  return readableMessage(
    wire.messages.decode(decodeMessage(replaceParts(wire, body, replacements))),
  );
}

function touches(
  { seq, action }: Edit,
  wanted: readonly NodeRecord[],
  { view, indexOf }: Pick<Seeing, "view" | "indexOf">,
): boolean {
  const chains = wanted.map(looseChainOf);
  const indexes = chains.flatMap((chain) => indexOf(chain) ?? []);
  switch (action.kind) {
    case "replace":
      return chains.includes(action.chain);
    case "insert":
      return chains.includes(action.after);
    case "pin": {
      const [first, last] = [indexOf(action.first) ?? -1, indexOf(action.last) ?? -1];
      return indexes.some((index) => first <= index && index <= last);
    }
    case "remove":
    case "fold":
      return view.gaps.some(
        ({ first, last, edit }) =>
          edit.seq === seq && indexes.some((index) => first <= index && index <= last),
      );
    default:
      return false;
  }
}
