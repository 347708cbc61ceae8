// Random programs that do nearly the same again and again (`sequences.ts`): ours beside TF.js's CPU backend.

import { afterEach, expect, it } from 'vitest';
import { type FaultyDevice, withFaults } from '../../src/index.ts';
import type { BackendOptions, TfjsBackend } from '../../src/tfjs/index.ts';
import { type Noted, program } from './sequences.ts';
import { difference, forge, mortalDevices, tf } from './support.ts';

let backend: TfjsBackend | null = null;
afterEach(async () => {
  await backend?.close();
  backend = null;
});

const all = process.env.GPUFORGE_TEST_ALL === '1';
const first = Number(process.env.GPUFORGE_SEED ?? 1);
const count = all ? 400 : 24;

/** What is wrong with what a program noted, if anything. */
function wrong(got: readonly Noted[], want: readonly Noted[]): string | null {
  for (const [i, w] of want.entries()) {
    const g = got[i];
    if (g?.what !== w.what) return `note ${i}: '${g?.what}', TF.js '${w.what}'`;
    if ('count' in w) {
      if ('count' in g && g.count === w.count) continue;
      return `${w.what}: ${'count' in g ? g.count : '?'} tensors, TF.js ${w.count}`;
    }
    if ('count' in g || JSON.stringify(g.shape) !== JSON.stringify(w.shape)) return `${w.what}: another shape`;
    const d = difference(g.values, w.values);
    if (d > 2e-4) return `${w.what}: off by ${d}`;
  }
  return got.length === want.length ? null : `${got.length} notes, TF.js ${want.length}`;
}

async function compare(
  options: Omit<BackendOptions, 'cpu'>,
  seeds: number,
  between?: () => Promise<void>,
): Promise<void> {
  backend = await forge({ name: 'forge', ...options } as Parameters<typeof forge>[0]);
  const found: string[] = [];
  for (let seed = first; seed < first + seeds; seed++) {
    await tf.setBackend('cpu');
    const want = await program(seed);
    await tf.setBackend('forge');
    const got = await program(seed, between).catch((e: unknown) => [{ what: `${e}`, count: 0 }]);
    await tf.setBackend('forge');
    const bad = wrong(got, want);
    if (bad) found.push(`seed ${seed}: ${bad}`);
    const { numDataIds, pendingOps, runtime } = backend.report();
    if (numDataIds + pendingOps + runtime.bytes > 0)
      found.push(
        `seed ${seed}: ${numDataIds} data ids, ${pendingOps} results that wait, ${runtime.bytes} bytes are left`,
      );
  }
  expect(found).toEqual([]);
}

it('as they are', async () => {
  await compare({}, count);
  expect(backend!.report().repeated).toBeGreaterThan(count / 2);
}, 600_000);

it('on a device that works beside the host, cut often', async () => {
  const wrap = (d: FaultyDevice): FaultyDevice =>
    Object.assign(withFaults(d, { faults: [], strict: true }), { caps: { ...d.caps, host: false } });
  await compare({ runtime: { devices: ['cpu'], wrap: wrap as never }, flush: { results: 12 } }, count);
}, 600_000);

it('while the device is lost now and then', async () => {
  const { wrap, lose } = mortalDevices();
  let losses = 0;
  await compare({ runtime: { devices: ['cpu'], wrap } }, all ? 40 : 10, async () => {
    // One that is lost again and again is left alone for a while.
    if (losses === 2) return;
    lose();
    losses++;
    do await new Promise((r) => setTimeout(r, 5));
    while (!backend!.runtime.devices().some((d) => d.open));
  });
  expect(losses).toBe(2);
}, 600_000);

it('while the backend is another one now and then', async () => {
  let switched = 0;
  await compare({}, count, async () => {
    await tf.setBackend(switched++ % 2 === 0 ? 'cpu' : 'forge');
  });
  expect(switched).toBeGreaterThan(count / 4);
}, 600_000);
