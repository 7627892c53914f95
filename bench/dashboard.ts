/** Goals of the dashboard: from an event to its pixels, the size of what is sent, and a session of ten thousand units. */

import { chromium } from "playwright-core";
import { loadDashboard } from "../packages/plimsoll/src/server/dashboard.ts";
import { findChromium } from "../packages/plimsoll/test/harness/chromium.ts";
import { measureLarge } from "./dashboard-large.ts";
import { measureLive } from "./dashboard-live.ts";
import { atMost, type Benchmark, figure, type Outcome } from "./report.ts";

const maxBundleKilobytes = 120;
const bytesPerKilobyte = 1024;

/** Nothing that weakens the browser's own walls. Without a graphics card it paints by itself: imitating one takes a processor of its own. */
const browserArguments = [
  "--no-sandbox",
  "--no-zygote",
  "--font-render-hinting=none",
  "--disable-gpu",
];

export const dashboardBenchmark: Benchmark = {
  name: "dashboard",
  title: "Dashboard: from an event to its pixels, and ten thousand units",
  run: async ({ isQuick }) => {
    const { executablePath, env } = await findChromium();
    const { PATH = "", HOME = "/tmp" } = process.env;
    const browser = await chromium.launch({
      executablePath,
      args: browserArguments,
      env: { PATH, HOME, ...env },
    });
    try {
      const outcomes = [
        measureBundle(),
        await measureLarge(browser, isQuick),
        await measureLive(browser, isQuick),
      ];
      return {
        tables: outcomes.flatMap(({ tables }) => tables),
        checks: outcomes.flatMap(({ checks }) => checks),
      };
    } finally {
      await browser.close();
    }
  },
};

/** As the service sends them. */
function measureBundle(): Outcome {
  const files = [...loadDashboard()].map(([path, { bytes, packed }]) => ({
    path,
    bytes: bytes.length,
    packed: packed.length,
  }));
  if (files.length === 0) throw new Error("The dashboard is not built: run `npm run build`.");
  const sum = {
    path: "all",
    bytes: files.reduce((all, { bytes }) => all + bytes, 0),
    packed: files.reduce((all, { packed }) => all + packed, 0),
  };
  return {
    tables: [
      {
        title: "Files of the dashboard, KB",
        columns: ["", "as built", "as sent (gzip)"],
        rows: [...files, sum].map(({ path, bytes, packed }) => [
          path,
          figure(bytes / bytesPerKilobyte),
          figure(packed / bytesPerKilobyte),
        ]),
      },
    ],
    checks: [
      atMost(
        "all files of the dashboard as they are sent",
        sum.packed / bytesPerKilobyte,
        maxBundleKilobytes,
        "KB",
      ),
    ],
  };
}
