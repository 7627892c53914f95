// Loaded into the demo's service before it starts: its ids come from DEMO_SEED instead of chance. Handles are made from
// the ids, and their spelling decides how many tokens they take. So without this, the same seed would give slightly other figures.
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

let state = Number(process.env.DEMO_SEED) >>> 0;

function nextByte() {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state >>> 24;
}

crypto.randomFillSync = (bytes) => {
  for (let at = 0; at < bytes.length; at++) bytes[at] = nextByte();
  return bytes;
};
syncBuiltinESMExports();
