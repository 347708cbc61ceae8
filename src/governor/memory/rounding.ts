// Sizes of pool buffers: how a request is rounded up so that different requests can share a buffer. Whole bytes throughout.

/**
 * `fine`: at most 1/16 more than asked for. `table`: the documented steps of 0.1, 1, 10 and 50 MB, which can nearly double
 * a size just above 1 or 10 MB. `none`: as asked.
 */
export type Rounding = 'fine' | 'table' | 'none';

const MB = 2 ** 20;

/** Sizes below the bound are rounded up to a multiple of `tenths` tenths of a MB. */
const table: readonly { readonly below: number; readonly tenths: number }[] = [
  { below: MB, tenths: 1 },
  { below: 10 * MB, tenths: 10 },
  { below: 100 * MB, tenths: 100 },
  { below: Number.POSITIVE_INFINITY, tenths: 500 },
];

/** Small requests in `fine` mode share buffers of this many bytes. */
const smallest = 256;

const rules: Readonly<Record<Rounding, (bytes: number) => number>> = {
  fine: (bytes) => {
    if (bytes <= smallest) return smallest;
    const step = 2 ** (Math.floor(Math.log2(bytes)) - 4);
    return Math.ceil(bytes / step) * step;
  },
  table: (bytes) => {
    const { tenths } = table.find((row) => bytes < row.below)!;
    // A tenth of a MB is not a whole number of bytes: its size is rounded up, and that size must stay one tenth.
    const steps = Math.ceil((bytes * 10 - 9) / (MB * tenths));
    return Math.ceil((Math.max(1, steps) * tenths * MB) / 10);
  },
  none: (bytes) => bytes,
};

/** The size of the buffer that serves a request of `bytes`. */
export function roundSize(bytes: number, rounding: Rounding): number {
  return rules[rounding](bytes);
}
