/**
 * The second session of the compactions benchmark: takes small turns, one after the other, until it is ended. Arguments: origin and
 * model. Its address is in its greeting; each GET there gives the turns since the last one.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createCodingConversation } from "./coding-conversation.ts";
import { greet } from "./processes.ts";
import { connect } from "./proxy-load.ts";

export interface NeighbourTurn {
  /** By the clock of the machine, in milliseconds. */
  readonly begin: number;
  readonly end: number;
}

const [origin = "", model = ""] = process.argv.slice(2);
const startBytes = 4_000;
const resultCharacters = 300;
/** Then another conversation begins. */
const turnsPerConversation = 50;
const pauseMs = 5;

let turns: NeighbourTurn[] = [];

async function takeTurns(): Promise<void> {
  const connection = connect(origin);
  for (let seed = 1; ; seed++) {
    const resultSizes = [resultCharacters];
    const conversation = createCodingConversation({ seed, model, startBytes, resultSizes });
    for (let turn = 0; turn < turnsPerConversation; turn++) {
      const begin = performance.timeOrigin + performance.now();
      const { text, microseconds } = await connection.ask(conversation.request());
      turns.push({ begin, end: begin + microseconds / 1000 });
      conversation.take(text);
      await pause(pauseMs);
    }
  }
}

const server = createServer((_request, response) => {
  response.end(JSON.stringify(turns));
  turns = [];
});
server.listen(0, "127.0.0.1", () => {
  greet({ port: (server.address() as AddressInfo).port });
  void takeTurns();
});
