/** The areas of the demo's harbour project, and the words of each area. */

import type { Some } from "./dice.ts";

export type Language = "typescript" | "python" | "go" | "sql";

export interface Area {
  readonly folder: string;
  readonly thing: string;
  readonly things: string;
  readonly fields: readonly [string, string, string, string];
  readonly stems: readonly string[];
}

export const usualArea: Area = {
  folder: "berths",
  thing: "Berth",
  things: "berths",
  fields: ["lengthMetres", "depthMetres", "bollards", "quay"],
  stems: ["assign", "overlap", "draught", "closures", "waiting-list"],
};
export const areas: Some<Area> = [
  usualArea,
  {
    folder: "tides",
    thing: "TideWindow",
    things: "windows",
    fields: ["opensAt", "closesAt", "heightCentimetres", "station"],
    stems: ["tables", "windows", "interpolate"],
  },
  {
    folder: "fees",
    thing: "Fee",
    things: "fees",
    fields: ["cents", "tonnage", "discountPercent", "nights"],
    stems: ["tariff", "discounts", "rounding", "statements"],
  },
  {
    folder: "pilots",
    thing: "PilotJob",
    things: "jobs",
    fields: ["boardsAt", "draughtMetres", "tugs", "licence"],
    stems: ["roster", "dispatch", "handover"],
  },
  {
    folder: "bookings",
    thing: "Booking",
    things: "bookings",
    fields: ["arrivesAt", "departsAt", "vesselId", "revision"],
    stems: ["create", "cancel", "conflicts", "confirm", "history"],
  },
  {
    folder: "cargo",
    thing: "Manifest",
    things: "manifests",
    fields: ["tonnes", "containers", "hazardClass", "sealedAt"],
    stems: ["manifest", "hazards", "cranes"],
  },
  {
    folder: "gate",
    thing: "Passage",
    things: "passages",
    fields: ["lorry", "weightKilos", "slot", "enteredAt"],
    stems: ["slots", "barrier", "weighbridge"],
  },
];

export function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
