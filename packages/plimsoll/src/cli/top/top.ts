/** `plimsoll top`: shows the sessions of a running service live in a terminal, or prints one frame as text. */

import { type Flags, loadSettings } from "../../config/config.ts";
import { openDataFolder } from "../../config/data-folder.ts";
import { PlimsollError } from "../../message/error.ts";
import { openTicketsIn } from "../../watch/open-tickets.ts";
import { settingsOf } from "../../watch/row-state.ts";
import { findService } from "../console/running.ts";
import { createTopClient, type TopClient } from "./client.ts";
import { plainText } from "./lines.ts";
import { lookAt } from "./live.ts";
import { onceLines } from "./screen.ts";
import { startState, type TopState, withNews } from "./state.ts";
import { watchSessions } from "./watch.ts";

export interface TopFlags extends Flags {
  readonly once?: boolean;
  /** Whether to use colours. False if the user gave --no-color. */
  readonly color?: boolean;
}

const usualColumns = 80;

export async function runTop(flags: TopFlags): Promise<void> {
  const settings = loadSettings(flags, process.env);
  const running = await findService(settings.data);
  if (running === undefined)
    throw new PlimsollError(
      "NOT_FOUND",
      `No service is running on ${settings.data}. Start \`plimsoll serve\`, or use --data to name the folder of a running service.`,
    );
  const token = settings.token ?? openDataFolder(settings.data).token;
  const place = { url: running.url };
  const client = createTopClient({ url: () => place.url, token });
  // The sessions are read before the screen opens, so that a wrong token is reported as a plain sentence.
  const list = await client.sessions();
  const start = withNews(startState(place.url), { kind: "listed", list });
  const { stdin, stdout } = process;
  if (flags.once === true || !stdout.isTTY || !stdin.isTTY) {
    console.log(await frameOf(client, start, stdout.columns ?? usualColumns));
    return;
  }
  // `hasColors` takes NO_COLOR into account, and terminals without colours.
  const hasColour = flags.color !== false && stdout.hasColors();
  await watchSessions({ data: settings.data, token, place, client, start, hasColour });
}

async function frameOf(client: TopClient, start: TopState, columns: number): Promise<string> {
  const config = await client.config().catch(() => undefined);
  const live = withNews(start, { kind: "link", link: { kind: "live" } });
  const known =
    config === undefined
      ? live
      : withNews(live, { kind: "settings", settings: settingsOf(config) });
  const tickets = openTicketsIn(await client.openTickets());
  const counted = withNews(known, { kind: "tickets", tickets });
  const { selected } = counted;
  const state =
    selected === undefined
      ? counted
      : withNews(counted, { kind: "looked", looked: await lookAt(client, selected) });
  return onceLines(state, columns).map(plainText).join("\n").trimEnd();
}
