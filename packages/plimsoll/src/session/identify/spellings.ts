/** If a client sends an answer back in a spelling that differs from the model's, stores the first such spelling. */

import { packBody } from "../../store/body.ts";
import type { Write } from "../../store/store.ts";
import { noteWords } from "../log/echoes.ts";
import type { Link, LogMessage, SessionLog } from "../log/log.ts";

export interface NamedRequest {
  readonly messages: readonly LogMessage[];
  readonly named: readonly Link[];
  readonly bytes: readonly Uint8Array[];
  readonly serverSideCount: number;
}

/** Number of known messages to check, newest first. Plimsoll checked older messages when the client first sent them back. */
const newestAnswers = 16;

export function keepSpellings(
  log: SessionLog,
  { messages, named, bytes, serverSideCount }: NamedRequest,
  common: number,
): void {
  const session = log.record.id;
  for (let index = Math.max(serverSideCount, common - newestAnswers); index < common; index++) {
    const node = log.nodes.get(log.seqByChain.get(named[index]?.chain ?? "") ?? -1);
    const sent = bytes[index - serverSideCount];
    const hash = messages[index]?.hash;
    const isOther = node?.source === "answer" && hash !== undefined && node.hash !== hash;
    if (!isOther || sent === undefined || log.worded.has(node.seq)) continue;
    const { seq } = node;
    log.worded.add(seq);
    noteWords(log, seq, messages[index]?.marks);
    log.unsaved.push(
      packBody(sent, session).then((body): Write => {
        return { kind: "wording", session, seq, hash, bytes: sent.length, body };
      }),
    );
  }
}
