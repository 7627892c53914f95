/** Bytes of bodies and answers that are held at once, by everybody. */

import { PlimsollError } from "../../message/error.ts";

/** What one exchange holds. */
export interface BufferedBytes {
  /** Contract: throws when there is no more room; what was taken is held until `release` all the same. */
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

/** Of the whole process: requests from their first byte until they are answered, and what answers unpack to. */
export const bytesInFlight: BytesInFlight = createBytesInFlight(1024 * 1024 * 1024);

function overloaded(): PlimsollError {
  return new PlimsollError("OVERLOADED", "Too many large requests at once: try again shortly.", {
    status: 503,
  });
}
