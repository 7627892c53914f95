#!/usr/bin/env node
import { setFlagsFromString } from "node:v8";

// Plain JavaScript: an old Node must get as far as the sentence that says what to do.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`plimsoll needs Node 22.19 or newer, this is ${process.version}: update Node, or use \`npm start\` in a clone.`);
  process.exit(1);
}
// Each request holds a body for a moment. With a young generation that grows, V8 frees these late, by full collections:
// keeping it small halves the processor time of a large request (npm run bench -- proxy). A service lets it grow a little
// (src/cli/console/young-heap.ts).
setFlagsFromString("--semi-space-growth-factor=1");
const { main } = await import("../dist/main.js");
await main(process.argv);
