/**
 * MiniLM, or any other sentence model, which judges relevance better than word vectors. It needs a package of half a gigabyte, so
 * Plimsoll does not depend on that package. Users who want MiniLM install the package themselves.
 */

import { isAbsolute, resolve } from "node:path";
import { errorMessage, PlimsollError } from "../../message/error.ts";
import { loadOptional } from "../../message/optional-packages.ts";
import type { Embedder } from "../../search/embed.ts";
import { withTimeout } from "../../workers/with-timeout.ts";

export type MiniLmSource =
  /** A folder with config.json, tokenizer.json and onnx/model.onnx. Plimsoll then downloads nothing. */
  | { readonly folder: string }
  /** A name on the Hugging Face hub. The package downloads the model once and keeps it. */
  | { readonly model: string };

export interface MiniLmParts {
  readonly importModule?: (name: string) => Promise<unknown>;
  /** Maximum time for a batch of texts, in milliseconds. A batch that takes longer has failed. */
  readonly timeoutMs?: number;
}

const moduleName = "@huggingface/transformers";
const defaultModel = "onnx-community/all-MiniLM-L6-v2-ONNX";
const batchSize = 32;
const defaultTimeoutMs = 2_000;

interface Tensor {
  readonly data: ArrayLike<number>;
  readonly dims: readonly number[];
}

type Extract = (
  texts: readonly string[],
  options: { readonly pooling: "mean"; readonly normalize: true },
) => Promise<Tensor>;

interface Transformers {
  pipeline(
    task: "feature-extraction",
    model: string,
    options: { readonly dtype: "fp32"; readonly local_files_only: boolean },
  ): Promise<Extract>;
}

/** Contract: throws CONFIG_INVALID if the package or the model is missing. The message says what to do. */
export async function loadMiniLm(
  source: MiniLmSource = { model: defaultModel },
  { importModule = (name) => import(name), timeoutMs = defaultTimeoutMs }: MiniLmParts = {},
): Promise<Embedder> {
  const { pipeline } = await loadModule(importModule);
  const isLocal = "folder" in source;
  const model = isLocal ? absolute(source.folder) : source.model;
  const extract = await pipeline("feature-extraction", model, {
    dtype: "fp32",
    local_files_only: isLocal,
  }).catch((cause: unknown) => {
    throw invalid(
      `The embedding model "${model}" cannot be loaded (${errorMessage(cause)}). Name a folder with config.json, tokenizer.json and onnx/model.onnx, or remove the setting to use word vectors.`,
      cause,
    );
  });
  return { name: model, embed: (texts) => embedAll(extract, texts, timeoutMs) };
}

async function loadModule(importModule: (name: string) => Promise<unknown>): Promise<Transformers> {
  const loaded = await loadOptional("embeddings", async () => {
    const module = await importModule(moduleName);
    if (!isTransformers(module)) throw new Error('it has no "pipeline"');
    return module;
  });
  if (loaded.kind === "unusable") throw invalid(loaded.sentence);
  return loaded.module;
}

function isTransformers(module: unknown): module is Transformers {
  return (
    typeof module === "object" &&
    module !== null &&
    "pipeline" in module &&
    typeof module.pipeline === "function"
  );
}

function absolute(folder: string): string {
  return isAbsolute(folder) ? folder : resolve(folder);
}

async function embedAll(
  extract: Extract,
  texts: readonly string[],
  timeoutMs: number,
): Promise<readonly Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += batchSize) {
    const batch = texts.slice(from, from + batchSize);
    const tensor = await withTimeout(
      extract(batch, { pooling: "mean", normalize: true }),
      timeoutMs,
      tooSlow,
    );
    vectors.push(...rowsOf(tensor, batch.length));
  }
  return vectors;
}

function rowsOf({ data, dims }: Tensor, count: number): readonly Float32Array[] {
  const [rows, width = 0] = dims;
  if (dims.length !== 2 || rows !== count || data.length !== count * width)
    throw new PlimsollError(
      "INTERNAL",
      `The embedding model returned ${dims.join(" × ")} numbers for ${count} texts, so it is not a sentence model. Choose another one.`,
    );
  return Array.from({ length: count }, (_, row) =>
    Float32Array.from({ length: width }, (_value, column) => data[row * width + column] ?? 0),
  );
}

function tooSlow(): never {
  throw new PlimsollError("INTERNAL", "The embedding model took too long.");
}

function invalid(message: string, cause?: unknown): PlimsollError {
  return new PlimsollError("CONFIG_INVALID", message, { status: 400, cause });
}
