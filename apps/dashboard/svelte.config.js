/** Runes everywhere. */

// biome-ignore lint/style/noDefaultExport: Svelte asks for it.
export default {
  compilerOptions: {
    runes: true,
    // Tables that become cards on small screens must say their roles: browsers drop them with the display.
    warningFilter: ({ code }) => code !== "a11y_no_redundant_roles",
  },
};
