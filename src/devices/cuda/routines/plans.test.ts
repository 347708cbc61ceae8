// Products without tensor cores by every plan: run in an emulator that keeps no order but the barriers', and assembled.

import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../test/gpu/assemble.ts';
import { difference, fill, Random } from '../../../../test/gpu/data.ts';
import { type CopiesLand, emulate } from '../../../../test/gpu/emulate.ts';
import { matmul, withEpilogue } from '../../../../test/gpu/routines.ts';
import { everyNth } from '../../../../test/support/extent.ts';
import type { Matmul } from '../../../kernel/kernel.ts';
import type { Target } from '../ptx/target.ts';
import type { ModuleRecipe } from '../recipe.ts';
import { type PlanName, planFor, planned, plans, resultsPerThread, threadsOf } from './plans.ts';

const hopper: Target = { sm: 90, ptx: 78, processors: 132, fastMath: false };
const names = Object.keys(plans) as PlanName[];
const by = (product: PlanName, target = hopper): Target => ({ ...target, tuning: { product } });
const recipeBy = (name: PlanName, r: Matmul): ModuleRecipe => planned(r, hopper, planFor(r, by(name)));

function run(r: Matmul, recipe: ModuleRecipe, land: CopiesLand): string | undefined {
  const floats = (n: number, seed: number) => new Float32Array(fill('f32', n, seed, true).buffer as ArrayBuffer);
  const a = floats(r.batchA * r.m * r.k, 1);
  const b = floats(r.batchB * r.k * r.n, 2);
  const got = new Float32Array(r.batch * r.m * r.n).fill(Number.NaN);
  const want = got.map((_, at) => {
    const [batch, i, j] = [Math.floor(at / (r.m * r.n)), Math.floor(at / r.n) % r.m, at % r.n];
    const [fromA, fromB] = [r.batchA === 1 ? 0 : batch * r.m * r.k, r.batchB === 1 ? 0 : batch * r.k * r.n];
    let sum = 0;
    for (let k = 0; k < r.k; k++) {
      const x = a[fromA + (r.transposeA ? k * r.m + i : i * r.k + k)]!;
      sum += x * b[fromB + (r.transposeB ? j * r.k + k : k * r.n + j)]!;
    }
    return sum;
  });
  const places = [a, b, got].map((data, i) => ({ address: (i + 1) * 2 ** 33, data }));
  emulate(recipe, places, land, new Random(7));
  return difference('f32', new Uint8Array(got.buffer), new Uint8Array(want.buffer), 2e-6);
}

const cases: readonly (readonly [Matmul, CopiesLand])[] = [
  [matmul('f32', 64, 272, 64).routine as Matmul, 'late'],
  [matmul('f32', 36, 196, 76, { batch: 2, batchA: 2 }).routine as Matmul, 'early'],
  [matmul('f32', 100, 68, 36, { transposeA: true, transposeB: true, batch: 2, batchB: 2 }).routine as Matmul, 'late'],
  [matmul('f32', 37, 132, 41, { transposeB: true }).routine as Matmul, 'early'],
];

describe('a plan of a product', () => {
  it.each(names)('%s multiplies right whatever the order of threads', (name) => {
    for (const [r, land] of cases) {
      expect(planFor(r, by(name)), r.name).toBe(plans[name]);
      expect(run(r, recipeBy(name, r), land), `${r.name}, copies ${land}`).toBeUndefined();
    }
  });

  // They differ in their tiles alone here.
  it.each(everyNth(names, 2))('%s multiplies a list of products, each with the bits it has alone', (name) => {
    const r = matmul('f32', 36, 196, 76, { transposeB: true }).routine as Matmul;
    const floats = (n: number, seed: number) => new Float32Array(fill('f32', n, seed, true).buffer as ArrayBuffer);
    const pairs = [1, 2, 3].map((i) => [floats(r.m * r.k, i), floats(r.k * r.n, 10 + i)] as const);
    const place = (data: Float32Array, i: number) => ({ address: (i + 1) * 2 ** 33, data });
    const result = () => new Float32Array(r.m * r.n).fill(Number.NaN);
    const alone = pairs.map(([a, b]) => {
      const got = result();
      emulate(recipeBy(name, r), [a, b, got].map(place), 'late', new Random(3));
      return got;
    });
    const together = pairs.map(result);
    const buffers = [...pairs.map(([a]) => a), ...pairs.map(([, b]) => b), ...together];
    emulate(planned(r, hopper, plans[name], pairs.length), buffers.map(place), 'late', new Random(5));
    expect(together).toEqual(alone);
  });

  it.each(names)('%s divides its work without rest', (name) => {
    const plan = plans[name];
    expect(threadsOf(plan) % 32).toBe(0);
    expect(Number.isInteger(resultsPerThread(plan) / 4)).toBe(true);
  });

  it.each(names.filter((name) => plans[name].kind === 'sliced'))('%s needs each of its barriers', (name) => {
    const [r] = cases[0]!;
    const recipe = recipeBy(name, r);
    const lines = recipe.ptx.split('\n');
    const barriers = lines.flatMap((l, i) => (l.includes('bar.sync') ? [i] : []));
    expect(barriers.length).toBeGreaterThanOrEqual(2);
    for (const at of barriers) {
      const without = { ...recipe, ptx: lines.filter((_, i) => i !== at).join('\n') };
      const wrong = (['early', 'late'] as const).some((land) => {
        try {
          return run(r, without, land) !== undefined;
        } catch {
          return true;
        }
      });
      expect(wrong, `without line ${at}: ${lines[at]}`).toBe(true);
    }
  });

  it.skipIf(!hasPtxas)('is PTX that ptxas accepts, with an epilogue too', { timeout: 120_000 }, () => {
    for (const name of names) {
      const plain = matmul('f32', 100, 72, 52).routine as Matmul;
      const behind = withEpilogue(matmul('f32', 70, 40, 67, { transposeB: true }), 'residual').routine as Matmul;
      for (const r of [plain, behind]) expect(assemble(recipeBy(name, r).ptx, hopper), `${name} ${r.name}`).toBe('');
    }
  });

  it('is chosen by how many tiles there are, and how deep and wide they are', () => {
    const usual = (batch: number, m: number, k: number, n: number) => {
      const chosen = planFor(matmul('f32', m, k, n, { batch, batchA: batch, batchB: batch }).routine as Matmul, hopper);
      return names.find((name) => plans[name] === chosen);
    };
    expect(usual(10, 256, 256, 256)).toBe('32x32 four slices');
    expect(usual(1, 1024, 64, 1024)).toBe('32x32 two slices');
    expect(usual(128, 512, 64, 512)).toBe('64x64 one slice');
    expect(usual(128, 512, 128, 512)).toBe('64x64 one slice');
    expect(usual(128, 512, 256, 512)).toBe('tiles 128');
    expect(usual(1, 100_352, 64, 64)).toBe('tiles 128x64');
    expect(usual(1, 4096, 4096, 4096)).toBe('tiles 128');
  });

  it('is left for the usual one where it cannot do the product', () => {
    const ampere: Target = { sm: 80, ptx: 70, processors: 108, fastMath: false };
    const turing: Target = { sm: 75, ptx: 63, processors: 68, fastMath: false };
    const usual = (r: Matmul, target: Target) => planFor(r, target);
    const even = matmul('f32', 64, 64, 64).routine as Matmul;
    const uneven = matmul('f32', 64, 63, 64).routine as Matmul;
    const integers = matmul('i32', 64, 64, 64).routine as Matmul;
    for (const name of names) {
      const plan = plans[name];
      if (plan.kind !== 'sliced') continue;
      for (const r of [uneven, integers]) expect(planFor(r, by(name))).toBe(usual(r, hopper));
      expect(planFor(even, by(name, ampere))).toBe(plan);
      expect(planFor(even, by(name, turing))).toBe(usual(even, turing));
    }
  });
});
