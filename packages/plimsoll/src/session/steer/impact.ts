/** What the edits of a view save, compared with the whole log. */

import type { JsonObject } from "../../message/json.ts";
import { messageText } from "../../message/message.ts";
import { indexOn, type Path } from "../log/path.ts";
import { foldView } from "../log/view.ts";
import {
  readableView,
  type SteerContext,
  type StoredPlace,
  storedDraft,
} from "./draft-from-store.ts";

/** A figure without edits and in the view, and the share that the edits save, from 0 to 1. */
export interface Saving {
  readonly whole: number;
  readonly view: number;
  readonly savedShare: number;
}

export interface Impact {
  readonly messages: Saving;
  /** Characters of the texts, calls and results of all messages. */
  readonly characters: Saving;
  /** Tokens of the whole window, as the provider counts them. */
  readonly tokens: Saving;
}

/** `view` is the number of the last edit of the view. */
export async function impactOf(
  context: SteerContext,
  place: StoredPlace & { readonly path: Path },
  view: number,
): Promise<Impact> {
  const whole = await sizeAt(context, place, 0);
  const now = await sizeAt(context, place, view);
  return {
    messages: saving(whole.messages, now.messages),
    characters: saving(whole.characters, now.characters),
    tokens: saving(whole.tokens, now.tokens),
  };
}

function saving(whole: number, view: number): Saving {
  const savedShare = whole === 0 ? 0 : Math.max(0, 1 - view / whole);
  return { whole, view, savedShare };
}

interface ViewSize {
  readonly messages: number;
  readonly characters: number;
  readonly tokens: number;
}

async function sizeAt(
  context: SteerContext,
  place: StoredPlace & { readonly path: Path },
  seq: number,
): Promise<ViewSize> {
  const { log, branch, path } = place;
  const { wire } = await storedDraft(context, place);
  const edits = log.edits.filter((edit) => edit.seq <= seq);
  const view = foldView(indexOn(path, log), edits);
  const { messages } = await readableView(context, { ...place, view });
  const texts = messages.map((message) => messageText(wire.messages.decode(message as JsonObject)));
  const { tokens } = await context.picture(log.record.id, {
    branch: branch.record.id,
    at: { seq },
  });
  return {
    messages: messages.length,
    characters: texts.reduce((sum, text) => sum + text.length, 0),
    tokens,
  };
}
