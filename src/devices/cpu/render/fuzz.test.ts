// Random kernels against the reference: shapes, index expressions, gates, types, reductions, splits.
//
// Values are small whole numbers and the ops exact on them, so results must be equal, not just close.

import { expect, it } from 'vitest';
import { type Data, data, Run, randomSource, reference, type Spec } from '../../../../test/support/cpu-render.ts';
import { all } from '../../../../test/support/extent.ts';
import { seed as first } from '../../../../test/support/seed.ts';
import type { DType } from '../../../base/dtype.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';
import type { Accumulator } from '../../../kernel/kernel.ts';
import type { AluOp, ReduceOp } from '../../../kernel/ops.ts';
import type { Value } from '../../../kernel/semantics.ts';

const types = ['u8', 'i32', 'u32', 'i64', 'u64', 'f32', 'f64'] as const;
const binary: readonly AluOp[] = ['add', 'sub', 'max', 'min'];
const reduceOps: readonly ReduceOp[] = ['sum', 'max', 'min', 'argmax', 'argmin'];

class Maker {
  readonly #random: () => number;
  readonly b = new Exprs();
  readonly inputs: Data[] = [];
  readonly #sizes: readonly number[];

  constructor(seed: number, sizes: (m: Maker) => readonly number[]) {
    this.#random = randomSource(seed * 2654435761 + 12345);
    for (let i = 0; i < 8; i++) this.#random();
    this.#sizes = sizes(this);
  }

  get sizes(): readonly number[] {
    return this.#sizes;
  }

  below(n: number): number {
    return Math.floor(this.#random() * n);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  index(n: number): Expr {
    return this.b.const('index', n);
  }

  /** A position on an axis, moved in one of the ways that movement ops move it; within 0 … size-1. */
  #moved(axis: number): Expr {
    const { b } = this;
    const n = this.#sizes[axis]!;
    const x = b.axis(axis, n);
    const s = 1 + this.below(Math.max(1, n - 1));
    switch (this.below(n > 1 ? 8 : 1)) {
      case 1:
        return b.alu('add', x, b.alu('where', b.alu('lt', x, this.index(n - s)), this.index(s), this.index(s - n)));
      case 2:
        return b.alu('sub', this.index(n - 1), x);
      case 3:
        return b.alu('imod', b.alu('add', x, this.index(s)), this.index(n));
      case 4:
        return b.alu('idiv', x, this.index(s));
      case 5: {
        const at = data(this.pick(['i32', 'i64', 'u8']), []);
        const values = Array.from({ length: n }, () => (at.type === 'i64' ? BigInt(this.below(n)) : this.below(n)));
        this.inputs.push(data(at.type, values));
        return b.cast('index', b.load(at.type, this.inputs.length - 1, x));
      }
      case 6:
        return b.alu('min', b.alu('add', x, this.index(s)), this.index(n - 1));
      default:
        return x;
    }
  }

  condition(axes: readonly number[]): Expr {
    const { b } = this;
    const axis = this.pick(axes);
    const x = b.axis(axis, this.#sizes[axis]!);
    const limit = this.index(this.below(this.#sizes[axis]! + 1));
    switch (this.below(6)) {
      case 0:
        return b.alu('le', limit, x);
      case 1:
        return b.alu('eq', b.alu('imod', x, this.index(2 + this.below(2))), this.index(1));
      case 2: {
        const other = this.pick(axes);
        return b.alu('lt', x, b.alu('add', b.axis(other, this.#sizes[other]!), this.index(this.below(7) - 3)));
      }
      case 3:
        return b.alu('and', this.condition(axes), this.condition(axes));
      case 4:
        return b.alu('not', this.condition(axes));
      default:
        return b.alu('lt', x, limit);
    }
  }

  /** A load over some of the axes, perhaps gated; a closed gate may hide an index outside the buffer. */
  load(type: DType, axes: readonly number[]): Expr {
    const { b } = this;
    const used = axes.filter(() => this.below(5) > 0);
    if (this.below(4) === 0) used.reverse();
    let at: Expr = this.index(0);
    let n = 1;
    for (const axis of used) {
      at = b.alu('add', b.alu('mul', at, this.index(this.#sizes[axis]!)), this.#moved(axis));
      n *= this.#sizes[axis]!;
    }
    const slot = this.inputs.length;
    this.inputs.push(
      data(
        type,
        Array.from({ length: n }, () => this.value(type)),
      ),
    );
    const gate = this.below(3) === 0 ? this.condition(axes) : null;
    return b.load(type, slot, at, gate);
  }

  value(type: DType): Value {
    const v = this.below(100);
    return type === 'i64' || type === 'u64' ? BigInt(v) : type === 'bool' ? v & 1 : v;
  }

  element(type: DType, axes: readonly number[], depth: number): Expr {
    const { b } = this;
    if (depth === 0) return this.below(8) === 0 ? b.const(type, this.value(type)) : this.load(type, axes);
    switch (this.below(6)) {
      case 0: {
        const c = this.below(2) ? this.condition(axes) : this.truth(axes, depth - 1);
        return b.alu('where', c, this.element(type, axes, depth - 1), this.element(type, axes, depth - 1));
      }
      case 1:
        return b.cast(type, this.element(this.pick(['u8', 'i32', 'u32', 'bool', 'i64'] as const), axes, depth - 1));
      case 2: {
        const axis = this.pick(axes);
        return b.cast(type, b.axis(axis, this.#sizes[axis]!));
      }
      default:
        if (type === 'bool') return this.truth(axes, depth - 1);
        return b.alu(this.pick(binary), this.element(type, axes, depth - 1), this.element(type, axes, depth - 1));
    }
  }

  truth(axes: readonly number[], depth: number): Expr {
    const t = this.pick(types);
    return this.b.alu(this.pick(['lt', 'le', 'eq', 'ne']), this.element(t, axes, depth), this.element(t, axes, depth));
  }
}

const sizeList = [1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 20, 33, 40];
/** A row of its own, now and then: long enough for runs, blocks and slices. */
const longList = [64, 65, 255, 257, 1025, 4097, 12_289];

function randomSpec(seed: number): Spec {
  const m = new Maker(seed, (self) =>
    self.below(5) === 0
      ? [...(self.below(2) ? [self.pick([1, 2, 3])] : []), self.pick(longList)]
      : Array.from({ length: 1 + self.below(4) }, () => self.pick(sizeList)),
  );
  const reducing = m.below(2) === 1;
  const rank = reducing ? m.below(m.sizes.length) : m.sizes.length;
  const axes = m.sizes.map((_, k) => k);
  const space = m.sizes.slice(0, rank);
  if (!reducing) {
    const outputs = Array.from({ length: 1 + m.below(2) }, () =>
      m.element(m.pick([...types, 'bool' as const]), axes, m.below(4)),
    );
    return { space, outputs, inputs: m.inputs };
  }
  const accumulators: Accumulator[] = Array.from({ length: 1 + m.below(3) }, () => {
    if (m.below(6) === 0)
      return { op: m.pick(['any', 'all']), type: 'bool', value: m.element('bool', axes, m.below(3)) };
    const type = m.pick(types);
    // Sums of f32 stay whole and below 2^24.
    return { op: m.pick(reduceOps), type, value: m.element(type, axes, m.below(3)) };
  });
  const outputs = accumulators.map((a, k): Expr => {
    const type = a.op.startsWith('arg') ? 'i32' : a.type;
    const acc = m.b.acc(type, k);
    return rank > 0 && type !== 'bool' && m.below(2) ? m.b.alu('max', acc, m.load(type, axes.slice(0, rank))) : acc;
  });
  return { space, reduced: m.sizes.slice(rank), accumulators, outputs, inputs: m.inputs };
}

const seeds = all ? 400 : 200;

it(`${seeds} random kernels give what the reference gives, in one piece and in several`, { timeout: 600_000 }, () => {
  for (let seed = first; seed < first + seeds; seed++) {
    const spec = randomSpec(seed);
    if ([...spec.space, ...(spec.reduced ?? [])].reduce((a, b) => a * b, 1) > 20000) continue;
    const expected = reference(spec);
    const run = new Run(spec).run();
    const cut = new Run(spec).run(Math.floor(run.wasm.items / 3));
    expected.forEach((values, k) => {
      expect(run.values(k), `seed ${seed} output ${k}`).toEqual(values);
      expect(cut.values(k), `seed ${seed} output ${k}, split`).toEqual(values);
    });
  }
});
