/** Money as the service writes it: decimal digits in text, which are exact, with a currency. */

import type { Schemas } from "./types.js";

/** An exact amount, such as `{ amount: "24.00", currency: "USD" }`. Do not calculate with floating-point numbers. */
export type Money = Schemas["Money"];

const DECIMALS = 18;

/** Return the money that a text such as `24.00 USD` names. Throw RangeError for another form. */
export function parseMoney(text: string): Money {
  const [, amount, currency] = /^\s*(-?\d+(?:\.\d+)?)\s+(\w+)\s*$/.exec(text) ?? [];
  if (!amount || !currency) throw new RangeError(`write an amount and a currency, such as 24.00 USD, not ${text}`);
  return { amount, currency: currency.toUpperCase() };
}

/** Return the totals of prices, one for each currency that has one other than zero. */
export function totals(prices: Iterable<Money>): Money[] {
  const found = new Map<string, { units: bigint; decimals: number }>();
  for (const { amount, currency } of prices) {
    const before = found.get(currency) ?? { units: 0n, decimals: 0 };
    const decimals = Math.max(before.decimals, amount.split(".")[1]?.length ?? 0);
    found.set(currency, { units: before.units + units(amount), decimals });
  }
  return [...found]
    .filter(([, total]) => total.units !== 0n)
    .map(([currency, total]) => ({ amount: digits(total.units, total.decimals), currency }));
}

/** Return whether the first amount is higher than the second. */
export function isHigher(amount: string, than: string): boolean {
  return units(amount) > units(than);
}

function units(amount: string): bigint {
  const [, sign, whole, fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? [];
  if (whole === undefined || fraction.length > DECIMALS) throw new RangeError(`${amount} is no amount`);
  return BigInt(`${sign}${whole}${fraction.padEnd(DECIMALS, "0")}`);
}

function digits(value: bigint, decimals: number): string {
  const text = (value < 0n ? -value : value).toString().padStart(DECIMALS + 1, "0");
  const fraction = decimals > 0 ? `.${text.slice(-DECIMALS, text.length - DECIMALS + decimals)}` : "";
  return `${value < 0n ? "-" : ""}${text.slice(0, -DECIMALS)}${fraction}`;
}
