/** The drawings of all icons, as strokes on a grid of 16 by 16. */

const drawings = {
  sync: "M13.5 7.4a5.5 5.5 0 0 0-10-2.6M2.5 8.6a5.5 5.5 0 0 0 10 2.6M3.3 1.8v3.1h3.1M12.7 14.2v-3.1H9.6",
  "sync-complete":
    "M13.5 7.4a5.5 5.5 0 0 0-10-2.6M2.5 8.6a5.5 5.5 0 0 0 10 2.6M3.3 1.8v3.1h3.1M12.7 14.2v-3.1H9.6M5.9 8.2l1.5 1.5 2.8-3.3",
  compress: "M2.5 8h11M8 1.2v4.2M5.9 3.4 8 5.5l2.1-2.1M8 14.8v-4.2M5.9 12.6 8 10.5l2.1 2.1",
  star: "M8 1.8l1.9 3.9 4.3.6-3.1 3 .7 4.3L8 11.6l-3.8 2 .7-4.3-3.1-3 4.3-.6z",
  code: "M5.2 4.2 1.6 8l3.6 3.8M10.8 4.2 14.4 8l-3.6 3.8M9.2 2.8 6.8 13.2",
  "clear-all": "M2 3.5h12M2 7.5h7M2 11.5h5M10 9.7l4 4M14 9.7l-4 4",
  layers: "M8 2 14 5.2 8 8.4 2 5.2zM2.6 8.3 8 11.2l5.4-2.9M2.6 11.1 8 14l5.4-2.9",
  refresh: "M13.6 8A5.6 5.6 0 1 1 11.6 3.7M11.9 1.4v2.7H9.2",
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
} satisfies Record<string, string>;

export type IconName = keyof typeof drawings;

export const iconDrawings: Readonly<Record<IconName, string>> = drawings;
