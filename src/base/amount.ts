// Amounts as people write them.

const units: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

/** 1000, 64k, 1M, 2^20, 1e6 as a number; NaN for anything that is no whole number from 0 on. */
export function amount(text: string): number {
  const power = /^2\^(\d+)$/.exec(text);
  const scaled = /^(\d+(?:\.\d+)?(?:e\d+)?)\s*([kmg]?)$/i.exec(text);
  const value = power
    ? 2 ** Number(power[1])
    : scaled
      ? Number(scaled[1]) * units[scaled[2]!.toLowerCase()]!
      : Number.NaN;
  return Number.isSafeInteger(value) ? value : Number.NaN;
}
