/**
 * Finds the tests' Chromium: the one in PLIMSOLL_CHROMIUM, or the one from npm (@sparticuz/chromium), unpacked
 * once for all runs. That package unpacks in place, so two runs at once could start an incomplete program. So this file
 * unpacks it elsewhere and then moves it.
 */
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export interface ChromiumProgram {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

const UNPACK_LIMIT_MS = 120_000;
const FONTS_FILE = "plimsoll-fonts.conf";
const packed = new URL("../bin/", import.meta.resolve("@sparticuz/chromium"));
const cache = fileURLToPath(new URL("../../../../node_modules/.cache/", import.meta.url));

/** The package unpacks into the temporary folder of its process, so this runs in a separate process. */
const UNPACKER = `
import chromium, { inflate } from "@sparticuz/chromium";
await chromium.executablePath();
await inflate(process.env.PLIMSOLL_LIBRARIES);
`;

export async function findChromium(): Promise<ChromiumProgram> {
  const own = process.env["PLIMSOLL_CHROMIUM"];
  if (own !== undefined) return { executablePath: own, env: {} };
  const folder = await unpackedFolder();
  const executablePath = join(folder, "chromium");
  const env = { FONTCONFIG_FILE: join(folder, FONTS_FILE) };
  if (isStartable(executablePath, env)) return { executablePath, env };
  const withLibraries = { ...env, LD_LIBRARY_PATH: join(folder, "al2023", "lib") };
  if (isStartable(executablePath, withLibraries)) return { executablePath, env: withLibraries };
  throw new Error(
    `${executablePath} does not start on this machine: set PLIMSOLL_CHROMIUM to a Chromium that does.`,
  );
}

async function unpackedFolder(): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL("../package.json", packed), "utf8")) as {
    readonly version: string;
  };
  const folder = join(cache, `plimsoll-chromium-${version}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const aside = await mkdtemp(`${folder}-`);
  try {
    await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", UNPACKER], {
      cwd: dirname(fileURLToPath(import.meta.url)),
      timeout: UNPACK_LIMIT_MS,
      env: {
        PATH: process.env["PATH"],
        TMPDIR: aside,
        PLIMSOLL_LIBRARIES: fileURLToPath(new URL("al2023.tar.br", packed)),
      },
    });
    await writeFile(join(aside, FONTS_FILE), fontsText(folder));
    await rename(aside, folder);
  } catch (error) {
    await rm(aside, { recursive: true, force: true });
    // Another run has already unpacked it.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

function isStartable(program: string, env: Readonly<Record<string, string>>): boolean {
  const { status } = spawnSync(program, ["--version"], {
    env: { PATH: process.env["PATH"], ...env },
    stdio: "ignore",
  });
  return status === 0;
}

/** Uses the package's font, so that pictures are the same everywhere. Characters that it lacks come from the system's fonts. */
function fontsText(folder: string): string {
  const prefer = (family: string, preferred: string): string =>
    `<alias binding="same"><family>${family}</family><prefer><family>${preferred}</family></prefer></alias>`;
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, "fonts")}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(folder, "fonts-cache")}</cachedir>
  ${prefer("system-ui", "Open Sans")}
  ${prefer("sans-serif", "Open Sans")}
  ${prefer("monospace", "DejaVu Sans Mono")}
</fontconfig>
`;
}
