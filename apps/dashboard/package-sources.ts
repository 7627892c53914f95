/**
 * The modules that the dashboard shares with the service. They are sources of the package and not part of its public API, so the
 * dashboard finds them by these names. `tsconfig.json` has the same names.
 */

const sources = `${import.meta.dirname}/../../packages/plimsoll/src`;

export const packageSources: readonly { readonly find: RegExp; readonly replacement: string }[] = [
  { find: /^plimsoll\/api$/, replacement: `${sources}/message/api.ts` },
  { find: /^plimsoll\/events$/, replacement: `${sources}/message/event.ts` },
  { find: /^plimsoll\/(text|watch)\/(.+)$/, replacement: `${sources}/$1/$2.ts` },
];
