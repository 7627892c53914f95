/** The prices of a target, from the configuration or the catalogue. */

import type { Config } from "../../config/schema.ts";
import type { PriceList } from "../../prompt/price-rows.ts";
import { priceListOf } from "../../prompt/prices.ts";
import type { Target } from "./target.ts";

export type PricesOf = (target: Pick<Target, "provider" | "model">) => PriceList;

export function createPrices(config: Config): PricesOf {
  return ({ provider, model }) => {
    const settings = config.providers?.[provider];
    return priceListOf(settings?.wire ?? provider, model, settings?.models?.[model]?.prices);
  };
}
