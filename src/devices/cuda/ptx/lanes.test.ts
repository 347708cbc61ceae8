// Stencils along the axis that the lanes lie on: neighbours come out of vectors that are loaded anyway, with the values of a plain loop.

import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../../test/gpu/build.ts';
import { Random } from '../../../../test/gpu/data.ts';
import { emulate } from '../../../../test/gpu/emulate.ts';
import type { Expr } from '../../../kernel/expr.ts';
import { kernelRecipe, type ModuleRecipe } from '../recipe.ts';
import { moduleText } from './code.ts';
import type { Rendered } from './elementwise.ts';
import { type Planes, planesOf, renderPlanes } from './planes.ts';
import type { Target } from './target.ts';

const target: Target = { sm: 90, ptx: 78, processors: 1, fastMath: false };
const space = [4, 8, 64] as const;
type Offset = readonly [number, number, number];

/** The sum of what lies at these offsets; zero beyond the border. */
function stencil(offsets: readonly Offset[]) {
  const k = new KernelBuilder(space);
  const slot = k.input('f32', 4 * 8 * 64);
  const zero = k.b.const('f32', 0);
  const terms = offsets.map((offset) => {
    let inside: Expr = k.b.const('bool', 1);
    const at = offset.map((by, axis) => {
      const place = k.op('add', k.axis(axis), k.index(by));
      if (by < 0) inside = k.op('and', inside, k.op('le', k.index(-by), k.axis(axis)));
      if (by > 0) inside = k.op('and', inside, k.op('lt', k.axis(axis), k.index(space[axis]! - by)));
      return place;
    });
    const gate = inside.kind === 'const' ? null : inside;
    const value = k.at(slot, k.flat(space, at), gate);
    return gate ? k.op('where', gate, value, zero) : value;
  });
  k.output(terms.reduce((a, b) => k.op('add', a, b)));
  return k.done('stencil');
}

function plain(x: Float32Array, offsets: readonly Offset[]): Float32Array {
  const [depth, height, width] = space;
  return x.map((_, i) => {
    const here = [Math.floor(i / (height * width)), Math.floor(i / width) % height, i % width] as const;
    return offsets
      .map(([a, b, c]) => {
        const [z, y, at] = [here[0] + a, here[1] + b, here[2] + c];
        const inside = z >= 0 && z < depth && y >= 0 && y < height && at >= 0 && at < width;
        return inside ? x[(z * height + y) * width + at]! : 0;
      })
      .reduce((p, q) => Math.fround(p + q));
  });
}

function run(offsets: readonly Offset[], planes?: Planes): { readonly text: string; readonly good: boolean } {
  const kernel = stencil(offsets);
  const usual = kernelRecipe(kernel, target);
  const recipe = planes ? inPlanes(usual, renderPlanes(kernel, planes, target)) : usual;
  const x = Float32Array.from({ length: 4 * 8 * 64 }, (_, i) => ((i * 37) % 101) + 1);
  const out = new Float32Array(x.length).fill(Number.NaN);
  const buffers = [x, out].map((data, i) => ({ address: (i + 1) * 2 ** 33, data }));
  emulate(recipe, buffers, 'early', new Random(3));
  const expected = plain(x, offsets);
  return { text: recipe.ptx, good: out.every((v, i) => v === expected[i]) };
}

const inPlanes = (usual: ModuleRecipe, { text, entry, grid, block }: Rendered): ModuleRecipe => ({
  ...usual,
  ptx: moduleText(target, [text]),
  launches: [{ ...usual.launches[0]!, entry, grid, block: [block, 1, 1] }],
});

const loads = (text: string): readonly [vectors: number, single: number] => [
  [...text.matchAll(/ld\.global\.nc\.v4\.f32/g)].length,
  [...text.matchAll(/ld\.global\.nc\.f32/g)].length,
];

const along = (...by: readonly number[]): Offset[] => by.map((c) => [0, 0, c]);

describe('a stencil along the lanes', () => {
  it('loads one element more for each direct neighbour', () => {
    const { text, good } = run([...along(0, -1, 1), [-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0]]);
    expect(good).toBe(true);
    expect(loads(text)).toEqual([5, 2]);
  });

  it('loads nothing twice: whole vectors at both sides serve all that lies in them', () => {
    const { text, good } = run(along(0, -4, -3, -2, -1, 1, 2, 3, 4));
    expect(good).toBe(true);
    expect(loads(text)).toEqual([3, 0]);
    // One condition at each end, whatever the offset.
    expect([...text.matchAll(/setp\.(ge|lt)\.s32/g)].length).toBe(2);
  });

  it.each(Array.from({ length: 12 }, (_, seed) => seed))(
    'adds up what a plain loop does, whatever the offsets (%i)',
    (seed) => {
      const random = new Random(seed + 1);
      const offsets = Array.from(
        { length: 2 + random.below(6) },
        (): Offset => [random.below(3) - 1, random.below(3) - 1, random.below(19) - 9],
      );
      expect(run(offsets).good).toBe(true);
    },
  );

  it('keeps gates apart that speak of other axes too', () => {
    expect(run([...along(0, -1), [1, 0, -1], [-1, 0, -1], [0, 1, -4], [0, 0, -4], [1, 1, 3], [0, 0, 63]]).good).toBe(
      true,
    );
  });
});

describe('planes side by side', () => {
  const offsets: Offset[] = [
    [0, 0, 0],
    [-1, 0, 0],
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, -1],
    [2, -1, 3],
  ];

  it.each([
    [1, 1],
    [3, 1],
    [4, 1],
    [1, 2],
    [2, 2],
    [3, 2],
    [1, 3],
    [2, 3],
    [1, 4],
    [5, 4],
  ])('write every element once, whatever they are (%i runs at a time, %i planes a thread)', (group, each) => {
    expect(run(offsets, { count: 4, elements: 8 * 64, group, run: each }).good).toBe(true);
  });

  it('load what two planes of a thread read once', () => {
    const along: Offset[] = [
      [0, 0, 0],
      [-1, 0, 0],
      [1, 0, 0],
    ];
    const each = run(along, { count: 4, elements: 8 * 64, group: 4, run: 1 });
    const two = run(along, { count: 4, elements: 8 * 64, group: 2, run: 2 });
    expect([loads(each.text), loads(two.text)]).toEqual([
      [3, 0],
      [4, 0],
    ]);
  });

  it('are for neighbours along the first axis of planes that a cache does not hold', () => {
    const large = (by: Offset, size = 512) => {
      const k = new KernelBuilder([64, size, 2048]);
      const slot = k.input('f32', 64 * size * 2048);
      const at = by.map((o, axis) => k.op('add', k.axis(axis), k.index(o)));
      const gate = k.op('lt', k.axis(0), k.index(60));
      k.output(k.op('add', k.at(slot, k.flat()), k.at(slot, k.flat(undefined, at), gate)));
      return planesOf(k.done('far'));
    };
    expect(large([1, 0, 0])).toEqual({ count: 64, elements: 512 * 2048, run: 4, group: 4 });
    expect(large([0, 1, 0])).toBeNull();
    expect(large([1, 0, 0], 64)).toBeNull();
  });
});
