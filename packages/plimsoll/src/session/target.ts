/** Targets: what a request may use of its model's window, how it is counted, and how counts are corrected. */

import { type Calibration, corrected, observe, uncalibrated } from "../budget/calibrate.ts";
import { findModel } from "../budget/catalogue.ts";
import { type Limit, resolveLimit } from "../budget/limit.ts";
import { type Measurement, measurement } from "../budget/measure.ts";
import type { Wire, WireRequest } from "../wire/wire.ts";
import type { Config } from "./config.ts";
import type { Ruler } from "./message-facts.ts";

export interface Target {
  readonly provider: string;
  readonly model: string;
  readonly wire: Wire;
  readonly limit: Limit;
  readonly ruler: Ruler;
  /** By what the provider has reported for this model so far. */
  correct(measured: Measurement): Measurement;
  /** `measured` is what was counted before correction. */
  observe(measured: Measurement, reportedTokens: number): void;
}

export interface Targets {
  resolve(
    provider: string,
    wire: Wire,
    request: Pick<WireRequest, "model" | "maxOutputTokens">,
  ): Target;
}

/** One per model that was ever asked for; the name comes from clients, so the number is bounded. */
const maxCalibrations = 1000;

export function createTargets(config: Config): Targets {
  const calibrations = new Map<string, Calibration>();

  return {
    resolve: (provider, wire, request) => {
      const { model } = request;
      const settings = config.providers?.[provider];
      const facts = findModel(settings?.wire ?? provider, model);
      const modelSettings = settings?.models?.[model];
      const tokenizer = modelSettings?.tokenizer ?? settings?.tokenizer ?? facts.tokenizer;
      const key = `${provider}/${model}`;
      return {
        provider,
        model,
        wire,
        limit: resolveLimit({
          requestMaxOutput: request.maxOutputTokens,
          model: modelSettings,
          provider: settings,
          defaults: config.defaults,
          facts,
        }),
        ruler: {
          key: `${tokenizer}\0${JSON.stringify(facts.media)}`,
          tokenizer,
          media: facts.media,
        },
        correct: (measured) => correctAll(measured, calibrations.get(key) ?? uncalibrated),
        observe: (measured, reportedTokens) => {
          const known = calibrations.get(key) ?? uncalibrated;
          if (calibrations.size >= maxCalibrations) calibrations.clear();
          calibrations.set(key, observe(known, measured.total, reportedTokens));
        },
      };
    },
  };
}

function correctAll({ components }: Measurement, calibration: Calibration): Measurement {
  return measurement({
    system: corrected(components.system, calibration),
    skills: corrected(components.skills, calibration),
    tools: corrected(components.tools, calibration),
    conversation: corrected(components.conversation, calibration),
  });
}
