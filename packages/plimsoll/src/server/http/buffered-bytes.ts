/** Counts the bytes of bodies and answers that are in the memory of the whole process. */

import { PlimsollError } from "../../message/error.ts";

/** Counts the bytes of one HTTP request and its answer. */
export interface BufferedBytes {
  /** Contract: throws if the limit is exceeded. Even then, the bytes stay counted until `release` is called. */
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

/**
 * The bytes of the whole process. They include each request from its first byte until its answer is complete, and unpacked
 * answers.
 */
export const bytesInFlight: BytesInFlight = createBytesInFlight(1024 * 1024 * 1024);

function overloaded(): PlimsollError {
  return new PlimsollError("OVERLOADED", "Too many large requests at once. Try again shortly.", {
    status: 503,
  });
}
