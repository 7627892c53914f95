/** Packages that only some features need. Users install them if they want the feature, and everybody else has less to install. */

import { errorMessage } from "./error.ts";

export type OptionalUse = "code" | "telemetry" | "tokenizers" | "embeddings";

export interface OptionalPackages {
  /** The feature that needs the packages. It begins the sentence for the user. */
  readonly purpose: string;
  /** What Plimsoll does without the packages. It ends the sentence for the user. */
  readonly without: string;
  /** Package names and the versions that fit, as in `peerDependencies`. */
  readonly versions: Readonly<Record<string, string>>;
}

export const optionalPackages: Readonly<Record<OptionalUse, OptionalPackages>> = {
  code: {
    purpose: "Shortening code by its syntax (content_type_chunking)",
    without: "code is cut by lines",
    versions: {
      "@ast-grep/napi": "^0.51.0",
      "@ast-grep/lang-c": "^0.0.6",
      "@ast-grep/lang-cpp": "^0.0.6",
      "@ast-grep/lang-go": "^0.0.6",
      "@ast-grep/lang-java": "^0.0.7",
      "@ast-grep/lang-python": "^0.0.6",
      "@ast-grep/lang-rust": "^0.0.7",
    },
  },
  telemetry: {
    purpose: "Exporting telemetry (OTEL_EXPORTER_OTLP_ENDPOINT)",
    without: "no telemetry is exported; /metrics still works",
    versions: {
      "@opentelemetry/api": "^1.10.0",
      "@opentelemetry/exporter-metrics-otlp-http": "^0.301.0",
      "@opentelemetry/exporter-trace-otlp-http": "^0.301.0",
      "@opentelemetry/resources": "^3.1.0",
      "@opentelemetry/sdk-metrics": "^3.1.0",
      "@opentelemetry/sdk-trace": "^3.1.0",
    },
  },
  tokenizers: {
    purpose: "Counting with a tokenizer.json of your own (hf:FILE)",
    without: "its tokens are estimated",
    versions: { "@huggingface/tokenizers": "^0.2.0" },
  },
  embeddings: {
    purpose: "Judging relevance by a sentence model (embedder)",
    without: "word vectors are used instead",
    versions: { "@huggingface/transformers": "^4.0.0" },
  },
};

export type Loaded<T> =
  | { readonly kind: "loaded"; readonly module: T }
  /** One sentence for the user: what is wrong, what to do, and what happens until then. */
  | { readonly kind: "unusable"; readonly sentence: string };

/** Contract: never rejects. `load` throws if the imported module is not the expected module. */
export async function loadOptional<T>(
  use: OptionalUse,
  load: () => Promise<T>,
): Promise<Loaded<T>> {
  try {
    return { kind: "loaded", module: await load() };
  } catch (error) {
    return { kind: "unusable", sentence: unusableSentence(use, reasonOf(use, error)) };
  }
}

/** `reason` says what is wrong with one of the packages. */
export function unusableSentence(use: OptionalUse, reason: string): string {
  const { purpose, without, versions } = optionalPackages[use];
  const wanted = Object.entries(versions).map(([name, range]) => `${name}@${range}`);
  return `${purpose} is off, because ${reason}: run "npm install ${wanted.join(" ")}". Until then ${without}.`;
}

/** Maximum number of characters of a package's own error message. A longer message would help only the authors of the package. */
const longestReason = 200;

function reasonOf(use: OptionalUse, error: unknown): string {
  const message = errorMessage(error);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const named = Object.keys(optionalPackages[use].versions).find((name) =>
    message.includes(`'${name}'`),
  );
  if (code === "ERR_MODULE_NOT_FOUND" && named !== undefined) return `${named} is not installed`;
  const [line = ""] = message.split("\n");
  return `${named ?? "one of its packages"} cannot be used (${line.slice(0, longestReason)})`;
}
