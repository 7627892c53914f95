/** Components and styles, for the compiler of the .ts files: what is in them is checked by Svelte and by the browser tests. */

declare module "*.svelte" {
  import type { Component } from "svelte";

  // biome-ignore lint/suspicious/noExplicitAny: the properties are Svelte's to check.
  const component: Component<any>;
  // biome-ignore lint/style/noDefaultExport: so are components imported.
  export default component;
}

declare module "*.css";
