import { describe, expect, it } from 'vitest';
import { decomposed, evaluator, expressions, kernelOf, plain } from '../../../test/support/decompose.ts';
import fc from '../../../test/support/properties.ts';
import { type DType, intRange } from '../../base/dtype.ts';
import { Exprs } from '../expr.ts';
import { meaning, roundTo, type Value } from '../semantics.ts';
import { decompose } from './index.ts';

const types = ['u8', 'i32', 'u32', 'i64', 'u64'] as const;
const ops = ['idiv', 'imod', 'shl', 'shr', 'pow'] as const;

const value = (type: DType, v: bigint): Value => (type === 'i64' || type === 'u64' ? v : Number(v));

/** The ends of the type, small numbers, and everything between. */
function integers(type: (typeof types)[number]): fc.Arbitrary<bigint> {
  const [lowest, highest] = intRange[type];
  const small = [0n, 1n, 2n, 3n, 7n, 8n, 9n, 31n, 32n, 33n, 63n, 64n, 65n].filter((v) => v <= highest);
  const negative = lowest < 0n ? small.map((v) => -v) : [];
  return fc.oneof(
    fc.constantFrom(lowest, highest, lowest + 1n, highest - 1n, ...small, ...negative),
    fc.bigInt(lowest, highest),
  );
}

describe.each(types)('integer ops of %s', (type) => {
  it.each(ops)('%s is what the language says, built from what every device has', (op) => {
    const run = evaluator(decomposed(op, type));
    const truth = meaning(op, type)!;
    fc.assert(
      fc.property(integers(type), integers(type), (a, b) => {
        const [x, y] = [value(type, a), value(type, b)];
        expect(run(x, y)).toBe(roundTo[type](truth(x, y, type === 'i64' || type === 'u64' ? 0n : 0)));
      }),
      { numRuns: 400 },
    );
  });
});

describe('what devices are asked for', () => {
  it('divides unsigned numbers only, and never by zero', () => {
    for (const type of ['i32', 'i64'] as const) {
      const divisions = expressions(decomposed('idiv', type)).filter((e) => e.kind === 'alu' && e.op === 'idiv');
      expect(divisions).toHaveLength(1);
      const [division] = divisions;
      expect(division?.type).toBe(type === 'i32' ? 'u32' : 'u64');
      expect(division?.kind === 'alu' && division.src[1]?.kind === 'alu' && division.src[1].op).toBe('max');
    }
  });

  it('keeps a constant power short', () => {
    const b = new Exprs();
    const x = b.load('i32', 0, b.const('index', 0));
    const value = decompose(kernelOf(b.alu('pow', x, b.const('i32', 10)), 'i32'), plain).outputs[0]!.value;
    expect(expressions(value).filter((e) => e.kind === 'alu')).toHaveLength(4);
    expect(evaluator(value)(-3)).toBe(59049);
  });
});
