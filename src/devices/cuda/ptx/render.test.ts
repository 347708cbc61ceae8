// What the generated code looks like, where speed or correctness hangs on it.

import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../../test/gpu/build.ts';
import { fieldStep } from '../../../../test/gpu/corpus.ts';
import { nativeOps } from './alu.ts';
import { renderKernel } from './index.ts';
import { planReduction } from './plan.ts';
import type { Target } from './target.ts';

const target: Target = { sm: 90, ptx: 78, processors: 132, fastMath: false };
const count = (text: string, pattern: RegExp): number => [...text.matchAll(new RegExp(pattern, 'g'))].length;

function elementwise(size: number, make: (k: KernelBuilder) => void, t = target): string {
  const k = new KernelBuilder([size]);
  make(k);
  return renderKernel(k.done('test'), t).text;
}

function reduction(space: readonly number[], reduced: readonly number[], order?: readonly number[]) {
  const k = new KernelBuilder(space, reduced);
  const sizes = [...space, ...reduced];
  const index = order
    ? k.flat(
        order.map((i) => sizes[i]!),
        order.map((i) => k.axis(i)),
      )
    : k.flat();
  const elements = sizes.reduce((n, d) => n * d, 1);
  k.output(k.reduce('sum', k.at(k.input('f32', elements), index)));
  return k.done('test');
}

describe('elementwise kernels', () => {
  it('move 16 bytes at a time where the array is long and aligned', () => {
    const text = elementwise(1 << 22, (k) => k.output(k.op('add', k.whole('f32'), k.whole('f32'))));
    expect(count(text, /ld\.global\.nc\.v4\.f32/)).toBe(2);
    expect(count(text, /st\.global\.v4\.f32/)).toBe(1);
    expect(text).not.toMatch(/\$tail/);
  });

  it('use a scalar loop for the last, partial tile only', () => {
    const text = elementwise((1 << 22) + 3, (k) => k.output(k.whole('f32')));
    expect(count(text, /st\.global\.v4\.f32/)).toBe(1);
    expect(text).toMatch(/\$tail/);
  });

  it('pack narrow types into whole words', () => {
    const bytes = elementwise(1 << 24, (k) => k.output(k.op('add', k.whole('u8'), k.whole('u8'))));
    expect(count(bytes, /ld\.global\.nc\.v4\.b32/)).toBe(2);
    const halves = elementwise(1 << 24, (k) => k.output(k.op('mul', k.whole('f16'), k.whole('f16'))));
    expect(count(halves, /st\.global\.v4\.b32/)).toBe(1);
  });

  it('pass by what is long and rare', () => {
    const text = elementwise(64, (k) => {
      const [x, y, limit] = [k.whole('f32'), k.whole('f32'), k.b.const('f32', 100)];
      let long = y;
      for (let i = 0; i < 80; i++) long = k.op(i % 2 ? 'add' : 'mul', long, k.op('sub', x, k.b.const('f32', i + 0.5)));
      k.output(k.op('where', k.op('lt', limit, x), long, k.op('add', x, y)));
    });
    const [before, behind] = text.split(/@!%p\d+ bra \$skip/);
    expect(count(behind!.split('$skip')[0]!, /mul\.rn\.f32/)).toBeGreaterThanOrEqual(40);
    expect(count(before!, /mul\.rn\.f32/)).toBe(0);
    expect(behind).toMatch(/\$skip_\d+:/);
  });

  it('compare words for their extremes where the assembler forgets signs', () => {
    const text = (sm: number): string =>
      elementwise(64, (k) => k.output(k.op('max', k.whole('i32'), k.op('neg', k.whole('i32')))), { ...target, sm });
    expect(text(90)).not.toContain('max.s32');
    expect(text(90)).toContain('setp.gt.s32');
    expect(text(80)).toContain('max.s32');
  });

  it('are rendered however long a chain of ops is', () => {
    const text = elementwise(1, (k) => {
      let v = k.whole('f32');
      for (let i = 0; i < 20_000; i++) v = k.op('add', v, k.b.const('f32', i + 0.5));
      k.output(v);
    });
    expect(count(text, /add\.rn\.f32/)).toBe(20_000);
  });

  it('load vectors at a shifted position only as wide as it is aligned', () => {
    const shifted = (by: number): string =>
      elementwise(1 << 22, (k) => {
        k.output(k.at(k.input('f32', (1 << 22) + 8), k.op('add', k.axis(0), k.index(by))));
      });
    expect(shifted(4)).toMatch(/ld\.global\.nc\.v4/);
    expect(shifted(2)).toMatch(/ld\.global\.nc\.v2/);
    expect(shifted(1)).not.toMatch(/ld\.global\.nc\.v/);
  });

  it('read all seven points of a stencil over outer axes as vectors', () => {
    const text = renderKernel(fieldStep(32, 64).kernel, target).text;
    expect(count(text, /ld\.global\.nc\.v4\.f32/)).toBe(7);
  });

  it('do not read through the read-only path what they may overwrite', () => {
    const text = elementwise(1 << 22, (k) => {
      k.inPlace.push(0);
      k.output(k.op('add', k.whole('f32'), k.b.const('f32', 1)));
    });
    expect(text).not.toMatch(/ld\.global\.nc/);
  });

  it('round every operation, so that nothing is contracted', () => {
    const text = elementwise(1 << 22, (k) => {
      k.output(k.op('add', k.op('mul', k.whole('f32'), k.whole('f32')), k.whole('f32')));
    });
    expect(text).toMatch(/mul\.rn\.f32/);
    expect(text).toMatch(/add\.rn\.f32/);
    expect(text).not.toMatch(/fma|mad\.f32|mul\.f32|add\.f32/);
  });

  it('count positions in 64 bits where 32 do not reach', () => {
    const small = elementwise(1 << 20, (k) => k.output(k.whole('u8')));
    const large = elementwise(2 ** 32, (k) => k.output(k.whole('u8')));
    expect(small).toMatch(/mad\.wide\.s32/);
    expect(large).not.toMatch(/mad\.wide\.s32/);
    expect(large).toMatch(/mad\.lo\.s64/);
  });
});

describe('fastMath', () => {
  const fast: Target = { ...target, fastMath: true };

  it('adds the approximate functions for f32 and narrower, never for f64', () => {
    expect(nativeOps('f32', target).has('exp')).toBe(false);
    expect(nativeOps('f32', fast).has('exp')).toBe(true);
    expect(nativeOps('f64', fast).has('exp')).toBe(false);
  });

  it('without it nothing is approximate but the beginning of a root', () => {
    const k = new KernelBuilder([1000]);
    k.output(k.op('sqrt', k.op('div', k.whole('f32'), k.b.const('f32', 3))));
    const { text } = renderKernel(k.done('accurate'), target);
    const others = text.replaceAll('rsqrt.approx.ftz.f32', '');
    expect(others).not.toBe(text);
    expect(others).toContain('div.rn.f32');
    expect(others).not.toMatch(/approx|div\.full/);
  });

  it('divides approximately only when asked', () => {
    const divide = (t: Target): string =>
      elementwise(1 << 20, (k) => k.output(k.op('div', k.whole('f32'), k.whole('f32'))), t);
    expect(divide(target)).toMatch(/div\.rn\.f32/);
    expect(divide(fast)).toMatch(/div\.full\.f32/);
  });
});

describe('reductions', () => {
  it('walk rows that are contiguous, and columns where the output is', () => {
    expect(planReduction(reduction([64], [4096]), target).form).toBe('row');
    expect(planReduction(reduction([4096], [64], [1, 0]), target).form).toBe('column');
  });

  it('split few and long rows over the device, and leave many rows whole', () => {
    const long = planReduction(reduction([], [1 << 26]), target);
    expect(long.splits).toBeGreaterThan(264);
    expect(long.chunk * long.splits).toBeGreaterThanOrEqual(1 << 26);
    expect(long.chunk * (long.splits - 1)).toBeLessThan(1 << 26);
    expect(planReduction(reduction([65_536], [1024]), target).splits).toBe(1);
  });

  it('share a warp among short rows', () => {
    expect(planReduction(reduction([100_000], [16]), target).group).toBeLessThan(32);
    expect(planReduction(reduction([100_000], [1024]), target).group).toBe(32);
  });

  it('give a split reduction its scratch and one counter, and need none otherwise', () => {
    const split = renderKernel(reduction([], [1 << 26]), target);
    expect(split.scratchBytes).toBeGreaterThan(256);
    expect(count(split.text, /atom\.global\.inc\.u32/)).toBe(1);
    expect(renderKernel(reduction([1000], [100]), target).scratchBytes).toBe(0);
  });

  it('compute what does not change along a row before its loop', () => {
    const k = new KernelBuilder([512], [8192]);
    const scale = k.at(k.input('f32', 512), k.axis(0));
    k.output(k.reduce('sum', k.op('mul', k.whole('f32'), k.op('sqrt', scale))));
    const { text } = renderKernel(k.done('test'), target);
    expect(count(text, /rsqrt\.approx/)).toBe(1);
    expect(text.indexOf('rsqrt.approx')).toBeLessThan(text.indexOf('$loop'));
  });
});
