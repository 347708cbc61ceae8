import { describe, it } from 'vitest';
import { expectSame } from '../../../../test/support/cpu-index.ts';
import { data } from '../../../../test/support/cpu-render.ts';
import { type Expr, Exprs } from '../../../kernel/expr.ts';

describe('words', () => {
  const words: readonly number[] = [0, 1, 5, 255, 256, 0x12345678, 0x7fffffff, 0x80000000, 0xdeadbeef, 0xffffffff];
  const given = data(
    'u32',
    Array.from({ length: 70 }, (_, i) => words[i % words.length]!),
  );
  const input = (b: Exprs): Expr => b.load('u32', 0, b.axis(0, 70));

  it('turn by any number of bits', () => {
    for (let n = 1; n < 32; n++) {
      const b = new Exprs();
      const x = input(b);
      const part = (op: 'shl' | 'shr', by: number): Expr => b.alu(op, x, b.const('u32', by));
      const outputs = [
        b.alu('or', part('shl', n), part('shr', 32 - n)),
        b.alu('or', part('shr', 32 - n), part('shl', n)),
        // Not quite a turn.
        b.alu('or', part('shl', n), part('shr', 31 - n)),
        b.alu('or', part('shl', n), b.alu('shr', b.alu('xor', x, part('shr', 1)), b.const('u32', 32 - n))),
      ];
      expectSame({ space: [70], outputs, inputs: [given] }, `by ${n}`);
    }
  });

  it('become numbers of every type, whether they reach beyond 2^31 or not', () => {
    const b = new Exprs();
    const x = input(b);
    const c = (v: number): Expr => b.const('u32', v);
    const values = [
      x,
      b.alu('shr', x, c(1)),
      b.alu('shr', x, c(8)),
      b.alu('add', b.alu('shr', x, c(8)), c(1)),
      b.alu('add', b.alu('shr', x, c(1)), b.alu('shr', x, c(1))),
      b.alu('add', b.alu('shr', x, c(1)), c(1)),
      b.alu('and', x, c(0x7fffffff)),
      b.alu('and', x, c(0x80000001)),
    ];
    const outputs = values.flatMap((v) =>
      (['f32', 'f64', 'f16', 'i64', 'u64', 'u8', 'i32'] as const).map((type) => b.cast(type, v)),
    );
    for (let at = 0; at < outputs.length; at += 8)
      expectSame({ space: [70], outputs: outputs.slice(at, at + 8), inputs: [given] }, `from output ${at}`);
  });
});
