/** The icon of each phase of a compaction. Their names are those of VS Code's icons, which the document asks for. */

import type { CompactionPhase } from "plimsoll/events";
import type { IconName } from "./icons.ts";

export interface PhaseIcon {
  readonly name: IconName;
  /** As the document writes it. */
  readonly codicon: string;
  readonly isSpinning?: true;
}

export const phaseIcons: Readonly<Record<CompactionPhase, PhaseIcon>> = {
  detection: { name: "sync", codicon: "sync~spin", isSpinning: true },
  "summarize-old": { name: "compress", codicon: "compress" },
  "prioritize-recent": { name: "star", codicon: "star" },
  "content-chunking": { name: "code", codicon: "code" },
  "discard-low-rel": { name: "clear-all", codicon: "clear-all" },
  hybrid: { name: "layers", codicon: "layers" },
  success: { name: "check", codicon: "check" },
  recovery: { name: "refresh", codicon: "refresh" },
  handover: { name: "sync-complete", codicon: "sync~complete" },
  failed: { name: "error", codicon: "error" },
};
