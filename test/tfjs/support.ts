// TF.js with both backends, for tests that compare them.

import * as cpu from '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-core/dist/register_all_gradients.js';
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.js';
import { expect } from 'vitest';
import { createCpuDevice } from '../../src/devices/cpu/device.ts';
import { type Device, type FaultyDevice, type RuntimeOptions, withFaults } from '../../src/index.ts';
import { type BackendOptions, registerBackend, type TfjsBackend } from '../../src/tfjs/index.ts';

export { seeded } from './numbers.ts';
export { cpu, tf };

/** Our backend, registered and set. */
export async function forge(
  options: Omit<BackendOptions, 'cpu'> & { readonly runtime?: RuntimeOptions } = {},
): Promise<TfjsBackend> {
  const backend = await registerBackend(tf, { cpu, runtime: { devices: ['cpu'] }, ...options });
  await tf.setBackend(backend.name);
  return backend;
}

/** CPU devices that can be lost, each opened again: `wrap` is for the runtime, `lose` ends the newest. */
export function mortalDevices(): { readonly wrap: NonNullable<RuntimeOptions['wrap']>; lose(): void } {
  let newest: FaultyDevice | null = null;
  const mortal = (device: Device): FaultyDevice => {
    const faulty = withFaults(device, { faults: [], strict: true });
    newest = faulty;
    return Object.assign(faulty, {
      caps: { ...faulty.caps, immortal: false },
      reopen: async () => mortal(await createCpuDevice({ threads: 1 })),
    });
  };
  return { wrap: mortal, lose: () => newest!.lose('test') };
}

/** What a function of tensors gives on a backend: values, shapes and dtypes of everything it returns, or its error. */
export interface Outcome {
  readonly values: readonly {
    readonly shape: readonly number[];
    readonly dtype: string;
    readonly data: ArrayLike<number>;
  }[];
  readonly error: string | null;
}

export async function outcomeOn(name: string, f: () => tf.Tensor | tf.Tensor[]): Promise<Outcome> {
  await tf.setBackend(name);
  tf.engine().startScope();
  try {
    const values = [];
    for (const t of [f()].flat()) {
      values.push({
        shape: t.shape,
        dtype: t.dtype,
        data: Array.from((await t.data()) as unknown as ArrayLike<number>),
      });
    }
    return { values, error: null };
  } catch (e) {
    return { values: [], error: e instanceof Error ? `${e.constructor.name}: ${e.message}` : String(e) };
  } finally {
    tf.engine().endScope();
  }
}

/** The largest difference, relative to the largest value; Infinity where one is NaN or ∞ and the other is not. */
export function difference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  let [worst, scale] = [0, 1];
  for (let i = 0; i < a.length; i++) if (Number.isFinite(b[i])) scale = Math.max(scale, Math.abs(b[i]!));
  for (let i = 0; i < a.length; i++) {
    if (Object.is(a[i], b[i]) || a[i] === b[i]) continue;
    const d = Math.abs(a[i]! - b[i]!);
    worst = Math.max(worst, Number.isFinite(d) ? d / scale : Number.POSITIVE_INFINITY);
  }
  return worst;
}

/** A program gives on our backend (registered as 'forge') what it gives on TF.js's CPU backend: values, shapes, dtypes, or a refusal. */
export async function same(f: () => tf.Tensor | tf.Tensor[], tolerance = 1e-5): Promise<void> {
  const want = await outcomeOn('cpu', f);
  const got = await outcomeOn('forge', f);
  expect(got.error === null ? null : got.error).toEqual(want.error === null ? null : expect.any(String));
  expect(got.values.map((v) => [v.shape, v.dtype])).toEqual(want.values.map((v) => [v.shape, v.dtype]));
  got.values.forEach(({ data }, i) => {
    const expected = want.values[i]!.data;
    const worst = difference(data, expected);
    const at = Array.from(data).findIndex((v, k) => difference([v], [expected[k]!]) > tolerance);
    if (worst > tolerance) throw new Error(`result ${i}, element ${at}: ${data[at]}, TF.js has ${expected[at]}`);
  });
}
