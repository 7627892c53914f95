// Derives the vocabularies of OpenAI's tokenizers in packages/plimsoll/data from gpt-tokenizer. It needs to run only if a new
// version of that package has other tokens; a test of src/budget compares the two. Run: node scripts/derive-vocabularies.mjs
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const target = join(dirname(dirname(fileURLToPath(import.meta.url))), "packages/plimsoll/data");
const packageOf = createRequire(join(target, "any.js"));

/** All tokens in the order of their ranks: the number of its bytes in one byte, then the bytes. */
function pack(ranks) {
  return Buffer.concat(
    // p50k_base has no token for the rank of its special token.
    Object.values(ranks).map((token) => {
      const bytes = Buffer.from(token);
      if (bytes.length > 255) throw new Error(`A token has ${bytes.length} bytes.`);
      return Buffer.concat([Buffer.of(bytes.length), bytes]);
    }),
  );
}

const { version } = packageOf("gpt-tokenizer/package.json");
for (const name of ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"]) {
  const { default: ranks } = packageOf(`gpt-tokenizer/bpeRanks/${name}`);
  const about = `// OpenAI's vocabulary ${name}, from gpt-tokenizer ${version} (MIT, © 2023-2024 Bazyli Brzoska) by scripts/derive-vocabularies.mjs.`;
  const tokens = pack(ranks).toString("base64");
  writeFileSync(join(target, `${name}.js`), `${about}\nexport const tokens = "${tokens}";\n`);
}
