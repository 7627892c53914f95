/**
 * The mark of a client that `plimsoll run` started. It is part of the address that the client gets, so every request of the client
 * has it: `/run/claude~myproject~k3f9a2/v1/messages`.
 */

export interface RunMark {
  /** A random id. It tells this run from all others. */
  readonly id: string;
  /** The program, such as `claude`. */
  readonly program: string;
  /** The last part of the folder in which the program runs. */
  readonly folder: string;
}

export interface MarkedPath {
  readonly run: RunMark;
  /** The path behind the mark. */
  readonly path: string;
}

const pattern = /^\/run\/([\w.-]{1,40})~([\w.%-]{0,200})~(\w{1,40})(\/.*)$/;

/** The folder's name may have any characters. Characters that would need escaping in an address become "-". */
export function runPath({ program, folder, id }: RunMark): string {
  const name = folder.replaceAll(/[^\w.-]/g, "-").slice(0, 60);
  return `/run/${program}~${name}~${id}`;
}

export function readRunPath(path: string): MarkedPath | undefined {
  const [, program, folder, id, rest] = pattern.exec(path) ?? [];
  return program === undefined || folder === undefined || id === undefined || rest === undefined
    ? undefined
    : { run: { program, folder, id }, path: rest };
}
