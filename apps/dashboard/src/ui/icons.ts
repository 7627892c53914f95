/** The drawings of all icons, as strokes on a grid of 16 by 16. */

import type { CompactionPhase } from "plimsoll/events";

/** Each of the nine phases has its own icon. */
const drawings = {
  detection: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.4 10.4 14 14",
  "summarize-old": "M2.5 3h11M2.5 6.5h11M4.5 10h7M6.5 13.5h3",
  "prioritize-recent": "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2M8 5v3.2l2.2 1.6",
  "content-chunking": "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  "discard-low-rel": "M2 3h12L9.5 8.5v4l-3 1.5V8.5z",
  hybrid: "M8 2 14 5.2 8 8.4 2 5.2zM2.6 8.3 8 11.2l5.4-2.9M2.6 11.1 8 14l5.4-2.9",
  success: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2M5.2 8.2l2 2 3.6-4.2",
  recovery: "M13.6 8A5.6 5.6 0 1 1 11.6 3.7M11.9 1.4v2.7H9.2",
  handover: "M2 8h11M9 3.8 13.2 8 9 12.2M2 4v8",
  check: "M3 8.4l3.2 3.2L13 4.8",
  warning: "M8 2.2 14.4 13.5H1.6zM8 6.4v3.2M8 11.4v.3",
  error: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2M8 5v3.6M8 10.8v.3",
  info: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2M8 7.4V11M8 5v.3",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  chevron: "M6 3.5 10.5 8 6 12.5",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.4 10.4 14 14",
  pin: "M5.5 2h5l-.6 4.4 2.1 2.4H4l2.1-2.4zM8 8.8V14",
  undo: "M5.6 3 2.5 6.1l3.1 3.1M2.8 6.1h6.4a3.8 3.8 0 0 1 0 7.6H6",
  archive: "M2 3h12v3H2zM3 6v7.5h10V6M6.2 8.8h3.6",
  clock: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2M8 5v3.2l2.2 1.6",
  compact: "M2.5 8h11M8 1.5v4M6 3.8 8 5.6l2-1.8M8 14.5v-4M6 12.2l2-1.8 2 1.8",
  flag: "M4 14V2.5h8.5L10.6 5.5l1.9 3H4",
  system: "M2 3h12v8H2zM6 13.5h4M8 11v2.5",
  sun: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6M8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1z",
} satisfies Record<CompactionPhase, string> & Record<string, string>;

export type IconName = keyof typeof drawings;

export const iconDrawings: Readonly<Record<IconName, string>> = drawings;
