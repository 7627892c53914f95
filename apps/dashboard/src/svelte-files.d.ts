/**
 * Declares components and styles, so that the compiler accepts imports of them in .ts files. Svelte and the browser tests check
 * the components.
 */

declare module "*.svelte" {
  import type { Component } from "svelte";

  // biome-ignore lint/suspicious/noExplicitAny: Svelte checks the properties.
  const component: Component<any>;
  // biome-ignore lint/style/noDefaultExport: components are imported this way.
  export default component;
}

declare module "*.css";
