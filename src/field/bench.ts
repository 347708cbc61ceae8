// How long cycles take. A failed cycle fails the benchmark: an exception is no result, and its time is no time.

import { quantile } from '../base/quantiles.ts';
import { checked } from '../base/signatures.ts';
import { FieldConfigError } from './errors.ts';
import { createField, type Field } from './field.ts';
import type { FieldOptions } from './options.ts';
import type { Model } from './settings.ts';
import { fieldKinds, fieldOptions } from './signatures.ts';

/** Times in milliseconds, each from the call to the motors on the host. */
export interface BenchmarkReport {
  readonly cycles: number;
  readonly total: number;
  readonly mean: number;
  readonly median: number;
  readonly std: number;
  readonly p95: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
  readonly cyclesPerSecond: number;
  readonly device: string;
  readonly model: Model;
  readonly launches: number;
  readonly transfers: { readonly up: number; readonly down: number };
}

const warmUp = 5;

/** 5 cycles of 0.1, then cycles of sin(0.1·t + i)·0.5 without reward. */
export const runBenchmark = checked(
  'runBenchmark',
  'async field:field cycles:number?',
  async (field: Field, cycles = 100): Promise<BenchmarkReport> => {
    if (!Number.isSafeInteger(cycles) || cycles < 1)
      throw new FieldConfigError({
        where: 'runBenchmark',
        problem: `cycles is ${cycles}`,
        fix: 'Give a whole number, 1 or more.',
      });
    const { sensorDim, model } = field.options.shape;
    for (let t = 0; t < warmUp; t++) await field.step(new Float32Array(sensorDim).fill(0.1));
    const before = { ...field.transfers };
    const times: number[] = [];
    const start = performance.now();
    for (let t = 0; t < cycles; t++) {
      const input = Float32Array.from({ length: sensorDim }, (_, i) => Math.sin(0.1 * t + i) * 0.5);
      const from = performance.now();
      await field.step(input);
      times.push(performance.now() - from);
    }
    const total = performance.now() - start;
    const sorted = [...times].sort((a, b) => a - b);
    const mean = times.reduce((a, b) => a + b, 0) / cycles;
    return {
      cycles,
      total,
      mean,
      median: quantile(sorted, 0.5),
      std: Math.sqrt(times.reduce((a, b) => a + (b - mean) ** 2, 0) / cycles),
      p95: quantile(sorted, 0.95),
      p99: quantile(sorted, 0.99),
      min: sorted[0]!,
      max: sorted.at(-1)!,
      cyclesPerSecond: (1000 * cycles) / total,
      device: field.device,
      model,
      launches: field.kernels.length,
      transfers: { up: (field.transfers.up - before.up) / cycles, down: (field.transfers.down - before.down) / cycles },
    };
  },
  fieldKinds,
);

/** 20 cycles of a field made for it. */
export const quickTest = checked(
  'quickTest',
  fieldOptions,
  async (options: FieldOptions = {}): Promise<BenchmarkReport> => {
    await using field = await createField(options);
    return await runBenchmark(field, 20);
  },
  fieldKinds,
);
