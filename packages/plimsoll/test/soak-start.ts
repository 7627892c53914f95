/**
 * `npm run soak:start`: a start is broken off at every call by which it changes its data folder, in every way, on a new folder
 * and on one of an older version; then a plain start must work by itself. `npm test` takes a sample of it.
 */
import { exit, stdout } from "node:process";
import { type Break, faultKinds, openFaultBench, scenes } from "./harness/broken-start.ts";

/** Of the whole service, which starts slowly, each so many calls. */
const SERVICE_STEP = 7;
const AT_ONCE = 3;
const PROGRESS_STEP = 100;

const bench = openFaultBench();
const breaks: Break[] = [];
for (const scene of scenes)
  for (const program of ["library", "serve"] as const) {
    const calls = await bench.calls(program, scene);
    stdout.write(`${program}, ${scene}: ${calls.length} calls\n`);
    for (const kind of faultKinds)
      for (let at = 1; at <= calls.length; at += program === "library" ? 1 : SERVICE_STEP)
        breaks.push({ program, scene, kind, at });
  }

let failures = 0;
let done = 0;
async function work(): Promise<void> {
  for (let next = breaks.pop(); next !== undefined; next = breaks.pop()) {
    const problems = await bench.judge(next);
    done++;
    if (done % PROGRESS_STEP === 0) stdout.write(`${done} done, ${breaks.length} to go\n`);
    if (problems.length > 0) failures++;
    for (const problem of problems) stdout.write(`${JSON.stringify(next)}: ${problem}\n`);
  }
}
await Promise.all(Array.from({ length: AT_ONCE }, work));
bench.close();
stdout.write(`${done} broken starts, ${failures} of them not mended by the next one\n`);
exit(failures === 0 ? 0 : 1);
