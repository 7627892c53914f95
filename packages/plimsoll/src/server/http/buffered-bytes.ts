/** Counts the bytes of bodies and answers that the whole process holds in memory. */

import { PlimsollError } from "../../message/error.ts";

/** Counts the bytes of one HTTP request and its answer. */
export interface BufferedBytes {
  /** Contract: throws if there is no more room. Even then, the bytes stay counted until `release` is called. */
  take(bytes: number): void;
  release(): void;
}

export interface BytesInFlight {
  startBuffer(): BufferedBytes;
  readonly count: number;
}

export function createBytesInFlight(maxBytes: number): BytesInFlight {
  let count = 0;
  return {
    startBuffer: () => {
      let own = 0;
      return {
        take: (bytes) => {
          own += bytes;
          count += bytes;
          if (count > maxBytes) throw overloaded();
        },
        release: () => {
          count -= own;
          own = 0;
        },
      };
    },
    get count() {
      return count;
    },
  };
}

/** Bytes of the whole process: requests, from their first byte until they are answered, and unpacked answers. */
export const bytesInFlight: BytesInFlight = createBytesInFlight(1024 * 1024 * 1024);

function overloaded(): PlimsollError {
  return new PlimsollError("OVERLOADED", "Too many large requests at once. Try again shortly.", {
    status: 503,
  });
}
