/** A fetch for the official SDKs that records requests and answers byte for byte. */

/** Where an SDK sends its requests. */
export interface Target {
  /** Address of the service or of the provider, without /v1. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly fetch: typeof fetch;
}

export interface Exchange {
  readonly url: string;
  readonly method: string;
  readonly requestBody: Buffer;
  readonly status: number;
  readonly headers: Headers;
  /** The answer after transfer and content decoding, as much as arrived. */
  readonly answer: Promise<Buffer>;
}

export interface Recording {
  readonly fetch: typeof fetch;
  readonly exchanges: readonly Exchange[];
}

export function recordingFetch(): Recording {
  const exchanges: Exchange[] = [];
  return {
    exchanges,
    fetch: async (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      const requestBody = bytesOf(init?.body);
      const response = await fetch(input, init);
      const [forClient, forUs] = response.body?.tee() ?? [null, null];
      exchanges.push({
        url,
        method: init?.method ?? "GET",
        requestBody,
        status: response.status,
        headers: response.headers,
        answer: drain(forUs),
      });
      const { status, statusText, headers } = response;
      return new Response(forClient, { status, statusText, headers });
    },
  };
}

function bytesOf(body: RequestInit["body"]): Buffer {
  if (body === undefined || body === null) return Buffer.alloc(0);
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body);
  throw new TypeError("This SDK sends a body of a kind that the recording does not know.");
}

/** All bytes until the end or the break. SDKs abort a stream after its last event. */
async function drain(stream: ReadableStream<Uint8Array> | null): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of stream ?? []) chunks.push(chunk);
  } catch (error) {
    chunks.push(Buffer.from(isAbort(error) ? "" : `\n[broken: ${String(error)}]`));
  }
  return Buffer.concat(chunks);
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
