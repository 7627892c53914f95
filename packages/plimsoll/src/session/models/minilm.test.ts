/** The loader of sentence models with a fake package: what it asks the package for, and what happens when it fails. */

import { describe, expect, test } from "vitest";
import { PlimsollError } from "../../message/error.ts";
import { loadMiniLm, type MiniLmSource } from "./minilm.ts";

interface Asked {
  task?: string;
  model?: string;
  options?: unknown;
  readonly batches: (readonly string[])[];
  extractOptions?: unknown;
}

type Tensor = { readonly data: ArrayLike<number>; readonly dims: readonly number[] };

/** A vector of the length of the text and a constant. */
const lengths = (texts: readonly string[]): Tensor => ({
  data: Float32Array.from(texts.flatMap((text) => [text.length, 1])),
  dims: [texts.length, 2],
});

function fake(answer: (texts: readonly string[]) => Tensor | Promise<Tensor> = lengths): {
  readonly asked: Asked;
  readonly importModule: () => Promise<unknown>;
} {
  const asked: Asked = { batches: [] };
  const extract = async (texts: readonly string[], options: unknown): Promise<Tensor> => {
    asked.batches.push(texts);
    asked.extractOptions = options;
    return await answer(texts);
  };
  const pipeline = (task: string, model: string, options: unknown): Promise<unknown> => {
    Object.assign(asked, { task, model, options });
    return Promise.resolve(extract);
  };
  return { asked, importModule: () => Promise.resolve({ pipeline }) };
}

async function failure(
  source: MiniLmSource,
  importModule: () => Promise<unknown>,
): Promise<PlimsollError> {
  const error: unknown = await loadMiniLm(source, { importModule }).catch(
    (thrown: unknown) => thrown,
  );
  if (!PlimsollError.is(error)) throw new Error("It did not fail as it should.");
  return error;
}

describe("loading", () => {
  test("a folder is read where it is, and nothing is downloaded", async () => {
    const { asked, importModule } = fake();
    const { name } = await loadMiniLm({ folder: "/models/mini" }, { importModule });
    expect(name).toBe("/models/mini");
    expect(asked.task).toBe("feature-extraction");
    expect(asked.model).toBe("/models/mini");
    expect(asked.options).toEqual({ dtype: "fp32", local_files_only: true });
  });

  test("a relative folder is made absolute, so that it is never taken for a name on the hub", async () => {
    const { asked, importModule } = fake();
    await loadMiniLm({ folder: "models/mini" }, { importModule });
    expect(asked.model).toBe(`${process.cwd()}/models/mini`);
  });

  test("a name may be downloaded; MiniLM is the default", async () => {
    const { asked, importModule } = fake();
    await loadMiniLm(undefined, { importModule });
    expect(asked.model).toContain("all-MiniLM-L6-v2");
    expect(asked.options).toEqual({ dtype: "fp32", local_files_only: false });
  });

  test("without the package: one sentence that says what to do", async () => {
    const missing = (): Promise<unknown> => Promise.reject(new Error("Cannot find package"));
    const { code, message } = await failure({ folder: "/m" }, missing);
    expect(code).toBe("CONFIG_INVALID");
    expect(message).toContain("npm install @huggingface/transformers");
  });

  test("really without the package", async () => {
    const error: unknown = await loadMiniLm({ folder: "/m" }).catch((thrown: unknown) => thrown);
    expect(PlimsollError.is(error) && error.code).toBe("CONFIG_INVALID");
  });

  test.each([[{}], [undefined], [{ pipeline: 7 }]])(
    "a package that is something else: %j",
    async (module) => {
      const { message } = await failure({ folder: "/m" }, () => Promise.resolve(module));
      expect(message).toContain('has no "pipeline"');
    },
  );

  test("a folder without a model: its name and the reason", async () => {
    const pipeline = (): Promise<never> => Promise.reject(new Error("no onnx/model.onnx"));
    const { code, message } = await failure({ folder: "/m" }, () => Promise.resolve({ pipeline }));
    expect(code).toBe("CONFIG_INVALID");
    expect(message).toContain("/m");
    expect(message).toContain("no onnx/model.onnx");
  });
});

describe("embedding", () => {
  test("one vector for each text, in order; mean pooling and unit length are asked for", async () => {
    const { asked, importModule } = fake();
    const { embed } = await loadMiniLm({ folder: "/m" }, { importModule });
    expect(await embed(["a", "bbb", ""])).toEqual([
      Float32Array.from([1, 1]),
      Float32Array.from([3, 1]),
      Float32Array.from([0, 1]),
    ]);
    expect(asked.extractOptions).toEqual({ pooling: "mean", normalize: true });
  });

  test("in batches of 32", async () => {
    const { asked, importModule } = fake();
    const { embed } = await loadMiniLm({ folder: "/m" }, { importModule });
    const vectors = await embed(Array.from({ length: 70 }, (_, at) => "x".repeat(at)));
    expect(asked.batches.map(({ length }) => length)).toEqual([32, 32, 6]);
    expect(vectors[69]?.[0]).toBe(69);
  });

  test("no texts, no question", async () => {
    const { asked, importModule } = fake();
    const { embed } = await loadMiniLm({ folder: "/m" }, { importModule });
    expect(await embed([])).toEqual([]);
    expect(asked.batches).toEqual([]);
  });

  test("a model that does not answer has failed after its time", async () => {
    const { importModule } = fake(() => new Promise<Tensor>(() => undefined));
    const { embed } = await loadMiniLm({ folder: "/m" }, { importModule, timeoutMs: 5 });
    await expect(embed(["a"])).rejects.toThrow("took too long");
  });

  test.each([
    [{ data: [1, 2, 3], dims: [1, 3, 1] }],
    [{ data: [1, 2], dims: [2, 1] }],
    [{ data: [1], dims: [1, 2] }],
  ])("an answer of another shape is refused: %j", async (tensor) => {
    const { importModule } = fake(() => tensor);
    const { embed } = await loadMiniLm({ folder: "/m" }, { importModule });
    await expect(embed(["a"])).rejects.toThrow("not a sentence model");
  });
});
