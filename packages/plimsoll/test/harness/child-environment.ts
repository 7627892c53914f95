/** The environment of a child process: only the developer's path, and the cache of compiled modules. */

export function childEnvironment(
  own: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const { PATH = "", NODE_COMPILE_CACHE } = process.env;
  return {
    PATH,
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
    ...own,
  };
}
