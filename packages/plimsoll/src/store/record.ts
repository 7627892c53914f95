/**
 * Packs small records into bytes: JSON, deflated against a dictionary of words that occur in such records. A turn of 700 bytes
 * takes about 150 bytes.
 */

import { deflateRawSync, inflateRawSync } from "node:zlib";
import { createShortDeflate, longestShort } from "./short-deflate.ts";

/** The first byte of a deflated record. A plain record is JSON and begins with a brace or a bracket. */
const deflated = 1;
const brace = 0x7b;
const bracket = 0x5b;
/** Below this size the dictionary saves less than the extra byte costs. */
const packFromBytes = 48;
const maxRecordBytes = 64 * 1024 * 1024;
const encoder = new TextEncoder();
const settings = { windowBits: 13, memLevel: 4 } as const;

export function packRecord(value: unknown): Uint8Array {
  const json = plainRecord(value);
  if (json.length < packFromBytes) return json;
  const packed =
    json.length <= longestShort
      ? deflateShort(json)
      : deflateRawSync(json, { ...settings, dictionary });
  if (packed.length + 1 >= json.length) return json;
  const record = new Uint8Array(packed.length + 1);
  record[0] = deflated;
  record.set(packed, 1);
  return record;
}

/**
 * Writes the record without packing it. For records that are overwritten again and again, because these take their space only
 * once.
 */
export function plainRecord(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

/** Contract: only for bytes that `packRecord` or `plainRecord` wrote. Throws for anything else. */
export function unpackRecord<T>(bytes: Uint8Array): T {
  const isPlain = bytes[0] === brace || bytes[0] === bracket;
  if (!isPlain && bytes[0] !== deflated)
    throw new SyntaxError("These bytes are not a record of Plimsoll.");
  const json = isPlain
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    : inflateRawSync(bytes.subarray(1), {
        ...settings,
        dictionary,
        maxOutputLength: maxRecordBytes,
      });
  return JSON.parse(json.toString()) as T;
}

/**
 * Never change the dictionary, because every packed record needs it. The most frequent words come last, where references to them
 * are shortest. To improve the dictionary, add a second one under another first byte.
 */
const dictionary = Buffer.from(
  [
    '{"kind":"messages","runs":[[1,2,',
    '{"kind":"part","seq":1,"part":0,"inner":0}',
    '"code":"BREAKER_FAILED","message":"","at":17,"fields":{"turn":"turn_","rung":"view"}}',
    '{"type":"session-start","session":"ses_","at":17,"wire":"openai-responses","agent":""}',
    '{"type":"branch-start","session":"ses_","branch":"main","relation":"rewind","at":17}',
    '{"type":"context-warning","filled":0.8,"tool":"recall","isError":false,"milliseconds":',
    '{"seq":1,"branch":"main","step":"turn_","anchor":"","at":17,"action":{"kind":"insert","after":"","text":"[Plimsoll: ","handle":"pl_"},',
    '"action":{"kind":"replace","chain":"","part":0,"inner":0,"text":"","handle":"pl_"},"place":"undefined","strategy":"excerpt",',
    '"action":{"kind":"remove","first":"","last":"","text":""},"place":"read-tool","reason":"Of a conversation that did not fit.","tokensBefore":1,"tokensAfter":0}',
    '"status":"failed","error":"","outcome":"compacted","edited","relation":"new","retry","priority":2,"innerRounds":0,',
    '"certainty":"exact","cacheReadTokens":1,"cacheWriteTokens":0,"cacheWriteLongTokens":0,"reasoningTokens":0,"costUsd":0.0,"savedUsd":0.0,"cachedTokens":',
    '"provider":"openai","model":"gpt-5.1","stopReason":"tool_use","stopReason":"stop","stopReason":"completed",',
    '{"ctxTokens":1,"newTokens":0,"pendingTokens":0,"schemaTokens":0,"currentCtxTokens":0,"debtUsd":0,"calibration":{"target":"anthropic\\u0000claude","factor":1.0,"observations":1}}',
    '{"type":"turn-end","session":"ses_","at":17,"turn":"turn_","branch":"main","provider":"anthropic","model":"claude-sonnet-4-5","outcome":"passthrough","status":"complete",',
    '"measurement":{"total":1,"system":0,"skills":0,"tools":0,"conversation":1,"certainty":"estimate"},"tokensBefore":1,"tokensAfter":1,"limit":1,"window":200000,"usage":{"inputTokens":1,"outputTokens":1},"costUsd":0.0,"stopReason":"end_turn"}',
    '{"id":"turn_","branch":"main","relation":"extends","requestTip":1,"head":"","provider":"anthropic","model":"claude-sonnet-4-5","outcome":"passthrough","status":"complete","measurement":{"total":1,"system":0,"skills":0,"tools":0,"conversation":1,"certainty":"estimate"},"tokensBefore":1,"tokensAfter":1,"limit":1,"window":200000,"usage":{"inputTokens":1,"outputTokens":1},"stopReason":"end_turn","startedAt":17,"endedAt":17}',
  ].join(""),
);
const deflateShort = createShortDeflate(dictionary);
