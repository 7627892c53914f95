/**
 * Shortens stack traces: keeps messages, the first and last frames, and frames of the project rather than frames of libraries.
 */

import { alarmOf } from "../../../text/trouble.ts";
import { attempt, type Compressor } from "../cut/compressor.ts";
import { cutLines, type LineVerdicts } from "../cut/lines.ts";
import type { Gap } from "../cut/piece.ts";

const frame =
  /^\s*(?:at .{1,300}[:(]|File "[^"]{1,300}", line \d|\d+: +(?:0x[0-9a-f]+ - )?[\w:<>{}$ ]+|from .{1,300}:\d+:in |#\d+ +0x|#\d+ +\S+ in )|^\s+\S{1,300}\.go:\d+|^\S+\(.{0,200}\)$|^\s+at \S{1,300}:\d+:\d+$/;
const opening =
  /^Traceback \(most recent call last\)|^goroutine \d+ \[|stack backtrace:|^Caused by: |^Exception in thread|^[ \t]+at .{1,200}[:(]/m;
const ofLibrary =
  /node_modules|node:internal|\(node:|site-packages|dist-packages|\/lib\/python\d|\/usr\/lib|\/rustc\/|\.cargo\/registry|\bat (?:java|javax|jdk|sun|org\.(?:junit|springframework|apache|gradle))\.|\/go\/src\/|\/pkg\/mod\/|<frozen |<anonymous>|\/gems\/|core::|std::/;

export const traceCompressor: Compressor = {
  kind: "trace",
  detects: ({ head, tail, lines }) => {
    if (!opening.test(head) && !opening.test(tail)) return false;
    const frames = lines.filter((line) => frame.test(line)).length;
    return frames >= 3 && frames >= lines.length * 0.25;
  },
  compress: (text, options) => attempt(cutLines(text, options, classifyTrace)),
};

function classifyTrace(lines: readonly string[]): LineVerdicts {
  const isFrame = framesOf(lines);
  const keys = new Set<number>();
  const scores = lines.map((line, index) => {
    if (isFrame[index] !== true) {
      const endsTrace = isFrame[index - 1] === true || isFrame[index + 1] === true;
      if (alarmOf(line) > 0 || endsTrace) keys.add(index);
      return line.trim() === "" ? 0 : 2 + alarmOf(line);
    }
    const isEnd = isFrame[index - 1] !== true || isFrame[index + 1] !== true;
    return (isEnd ? 2 : 0) + (ofLibrary.test(line) ? 0.1 : 1.5);
  });
  return {
    scores,
    keys,
    blocks: frameNumbers(lines),
    missing: ({ first, last }: Gap) =>
      isFrame.slice(first, last + 1).every((is) => is) ? "lines of frames" : undefined,
  };
}

/** Python and Go print a frame on two lines. The second line belongs to the first. */
function framesOf(lines: readonly string[]): readonly boolean[] {
  const isFrame: boolean[] = [];
  for (const [index, line] of lines.entries()) {
    const before = lines[index - 1] ?? "";
    const isSecond = /^\s*File "/.test(before) && /^\s{2,}/.test(line);
    isFrame.push(frame.test(line) || isSecond || /^\s+[\^~]+\s*$/.test(line));
  }
  return isFrame;
}

/** A block number for each line. All lines of one frame have the same number. */
function frameNumbers(lines: readonly string[]): readonly number[] {
  let number = 0;
  return lines.map((line, index) => {
    const isSecond = /^\s*File "/.test(lines[index - 1] ?? "") && /^\s{2,}/.test(line);
    if (!isSecond) number++;
    return number;
  });
}
