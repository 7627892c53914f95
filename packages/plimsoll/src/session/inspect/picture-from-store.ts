/** The picture of a window for commands, which read the store and have no engine. */

import type { Config } from "../../config/schema.ts";
import type { WindowPicture } from "../../message/api.ts";
import type { Store } from "../../store/store.ts";
import { createFactsReader } from "../measure/message-facts.ts";
import { createTargets } from "../measure/target.ts";
import { createTokenCounter } from "../measure/token-counter.ts";
import { createPictures } from "./window.ts";

interface StoredWorld {
  readonly store: Store;
  readonly config: Config;
  readonly now: () => number;
}

/** Contract: rejects with NOTHING_TO_DO if the session has no messages yet. */
export async function pictureFromStore(
  { store, config, now }: StoredWorld,
  session: string,
): Promise<WindowPicture> {
  const counter = createTokenCounter();
  try {
    const facts = createFactsReader(counter);
    const targets = createTargets(config, now);
    const areas = config.priority_areas ?? [];
    return await createPictures({ store, facts, targets, areas })(session);
  } finally {
    await counter.close();
  }
}
