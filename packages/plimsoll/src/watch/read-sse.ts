/** Server-sent events from text that comes in pieces. Providers' streams are read in wire/, which keeps their bytes. Pure. */

/** One block of a stream. */
export interface SseMessage {
  readonly id?: string;
  /** What stands behind `event:`. */
  readonly type?: string;
  readonly data: string;
}

/** Of one event, in characters. */
const usualBound = 8 * 1024 * 1024;

/**
 * Reads a stream that comes in chunks, split anywhere. Contract: gives the messages that are complete now, or "too-long" when
 * one is longer than the bound; then nothing more can be read from it.
 */
export function createSseReader(
  bound: number = usualBound,
): (chunk: string) => readonly SseMessage[] | "too-long" {
  let rest = "";
  let fields: Omit<SseMessage, "data"> = {};
  let data: string[] = [];
  let held = 0;

  const takeLine = (line: string): SseMessage | undefined => {
    if (line === "") {
      const message = data.length === 0 ? undefined : { ...fields, data: data.join("\n") };
      fields = {};
      data = [];
      held = 0;
      return message;
    }
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "data") {
      data.push(value);
      held += value.length;
    }
    if (field === "id" && value !== "") fields = { ...fields, id: value };
    if (field === "event" && value !== "") fields = { ...fields, type: value };
    return undefined;
  };

  return (chunk) => {
    // In the middle of a long line nothing is looked for twice.
    if (!/[\r\n]/.test(chunk) && !rest.endsWith("\r")) {
      rest += chunk;
      return rest.length + held > bound ? "too-long" : [];
    }
    const text = rest + chunk;
    // A carriage return at the end may be the first half of a line end.
    const end = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, end).split(/\r\n|\r|\n/);
    rest = (lines.pop() ?? "") + text.slice(end);
    const messages = lines.flatMap((line) => takeLine(line) ?? []);
    return rest.length + held > bound ? "too-long" : messages;
  };
}
