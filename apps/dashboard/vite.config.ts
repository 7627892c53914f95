/** Builds the dashboard into the package, which serves it: hashed files, nothing inline, nothing from elsewhere. */

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";
import { packageSources } from "./package-sources.ts";

const service = "http://127.0.0.1:4141";

// biome-ignore lint/style/noDefaultExport: Vite asks for it.
export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  plugins: [svelte()],
  resolve: { alias: [...packageSources] },
  build: {
    outDir: "../../packages/plimsoll/dashboard",
    emptyOutDir: true,
    target: "es2023",
    // The policy of the page allows no inline data as scripts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  // `vite` alone: the page from here, everything else from a service that runs.
  server: { proxy: { "/api": service, "/events": service } },
});
