/** Opens the content that a model names by a handle or a message number, if its tenant and session may see it. */

import { looksLikeHandle } from "../../message/handle.ts";
import type { ArchiveRecord, SessionRecord, Store } from "../../store/store.ts";
import { type ArchivedText, openArchived, openMessage } from "./archived-text.ts";
import { createOpenTexts } from "./recent-texts.ts";
import type { Scope } from "./scope.ts";

/** The tenant, session and scope whose content may be opened. */
export interface Owner {
  /** Undefined for the owner of the service, who sees everything. */
  readonly tenant: string | undefined;
  /** If set, only content of this session may be opened. */
  readonly session: string | undefined;
  /** If set, only messages that this branch may look up can be opened. */
  readonly scope?: Scope | undefined;
}

export interface References {
  /**
   * Contract: if a name is unknown or not allowed, the content is "absent", and the caller does not learn why. Plimsoll only
   * compares the name with names in the store, and uses it for nothing else.
   */
  open(owner: Owner, refId: string): Promise<ArchivedText>;
  close(): void;
}

export type ReferenceStore = Pick<Store, "archived" | "session" | "bodies" | "clientSpellings">;

const absent = { kind: "absent" } as const;

export function createReferenceReader(store: ReferenceStore): References {
  const texts = createOpenTexts();

  const openByNumber = async (
    session: SessionRecord,
    number: number,
    { scope }: Owner,
  ): Promise<ArchivedText> => {
    if (scope?.isVisible(number) === false) return absent;
    const key = `${session.id}#${number} ${scope?.branch ?? ""}`;
    return texts.open(key, () => openMessage(store, session, number, scope?.isVisible));
  };

  const openByHandle = async (owner: Owner, { handle, number }: Named): Promise<ArchivedText> => {
    const record = await store.archived(owner.tenant, handle);
    const isOther = owner.session !== undefined && record?.session !== owner.session;
    if (record === undefined || isOther) return absent;
    const session = await sessionOf(store, owner.tenant, record.session);
    if (session === undefined) return absent;
    if (number !== undefined) return openByNumber(session, number, owner);
    if (!isWithin(owner.scope, record)) return absent;
    return texts.open(record.handle, () => openArchived(store, session, record));
  };

  return {
    open: async (owner, refId) => {
      const { handle, number } = readReference(refId);
      if (handle !== undefined)
        return openByHandle(owner, number === undefined ? { handle } : { handle, number });
      if (number === undefined || owner.session === undefined) return absent;
      const session = await sessionOf(store, owner.tenant, owner.session);
      return session === undefined ? absent : openByNumber(session, number, owner);
    },
    close: () => texts.close(),
  };
}

/** Whether the scope includes all messages of the handle. A handle opens either all of its content or nothing. */
function isWithin(scope: Scope | undefined, { source }: ArchiveRecord): boolean {
  if (scope === undefined) return true;
  if (source.kind === "part") return scope.isVisible(source.seq);
  return source.runs.every(([first, last]) => {
    for (let seq = first; seq <= last; seq++) if (!scope.isVisible(seq)) return false;
    return true;
  });
}

/** The session with this id. Undefined if it belongs to another tenant. */
export async function sessionOf(
  store: Pick<Store, "session">,
  tenant: string | undefined,
  id: string,
): Promise<SessionRecord | undefined> {
  const session = await store.session(id);
  return tenant === undefined || session?.tenant === tenant ? session : undefined;
}

interface Named {
  readonly handle: string;
  readonly number?: number;
}

/** Reads `pl_…`, `pl_…#12` and `#12`. Any other text is not a valid name. */
function readReference(refId: string): Partial<Named> {
  const [, name = "", digits] = /^([^#]*)(?:#([1-9]\d{0,8}))?$/.exec(refId) ?? [];
  if (name !== "" && !looksLikeHandle(name)) return {};
  return {
    ...(name === "" ? {} : { handle: name }),
    ...(digits === undefined ? {} : { number: Number(digits) }),
  };
}
