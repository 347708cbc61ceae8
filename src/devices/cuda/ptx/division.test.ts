import { describe, expect, it } from 'vitest';
import { assemble, hasPtxas } from '../../../../test/gpu/assemble.ts';
import { EntryPoint, moduleText } from './code.ts';
import type { Target } from './target.ts';

const target: Target = { sm: 90, ptx: 78, processors: 1, fastMath: false };

/** What the instructions of a block make of a number. */
function run(lines: readonly string[], n: bigint, bits: number): bigint {
  const mask = (1n << BigInt(bits)) - 1n;
  const registers = new Map([['%n', n]]);
  const value = (text: string): bigint => registers.get(text) ?? BigInt(text);
  let last = n;
  for (const line of lines) {
    const [, op, to, a, b] = /^\s*(\S+) (\S+), (\S+), (\S+);$/.exec(line)!;
    const [x, y] = [value(a!), value(b!)];
    const results: Readonly<Record<string, bigint>> = {
      shr: x >> y,
      and: x & y,
      sub: x - y,
      add: x + y,
      'mul.lo': x * y,
      'mul.hi': (x * y) >> BigInt(bits),
    };
    last = results[op!.slice(0, op!.lastIndexOf('.'))]! & mask;
    registers.set(to!, last);
  }
  return last;
}

function lowered(op: string, d: bigint): string[] {
  const { body } = new EntryPoint('t', target);
  body.def(op.endsWith('64') ? 'd' : 'r', op, '%n', `${d}`);
  return body.lines;
}

describe.each([32, 64])('division of words of %i bits by a number that is known', (bits) => {
  const top = (1n << BigInt(bits)) - 1n;
  const powers = Array.from({ length: bits }, (_, i) => 1n << BigInt(i));
  const divisors = [
    ...Array.from({ length: 300 }, (_, i) => BigInt(i + 1)),
    ...[641n, 1000n, 9699690n, 65537n, 2147483647n, 1431655765n, top, top - 1n, top / 3n, top / 7n],
    ...powers.flatMap((p) => [p, p + 1n, p - 1n, 3n * p, 7n * p]),
  ].filter((d) => d > 0n && d <= top);

  it('gives the quotient and the remainder, at every place where they turn', () => {
    for (const d of divisors) {
      const [quotient, remainder] = [lowered(`div.u${bits}`, d), lowered(`rem.u${bits}`, d)];
      expect([...quotient, ...remainder].join(), `by ${d}`).not.toMatch(/div|rem/);
      const most = (top / d) * d;
      const places = [0n, 1n, d - 1n, d, d + 1n, 2n * d - 1n, most - 1n, most, most + 1n, top / 2n, top / 2n + 1n, top];
      for (const n of places) {
        if (n < 0n || n > top) continue;
        expect(run(quotient, n, bits), `${n} / ${d}`).toBe(n / d);
        expect(run(remainder, n, bits), `${n} mod ${d}`).toBe(n % d);
      }
    }
  });

  it('takes a few instructions: a shift for a power of two, a product for others', () => {
    expect(lowered(`div.u${bits}`, 1n)).toEqual([]);
    expect(lowered(`div.u${bits}`, 64n)).toHaveLength(1);
    expect(lowered(`rem.u${bits}`, 64n)).toHaveLength(1);
    expect(Math.max(...divisors.map((d) => lowered(`div.u${bits}`, d).length))).toBeLessThanOrEqual(5);
    expect(lowered(`div.u${bits}`, 96n).join()).toContain('mul.hi');
  });

  it.skipIf(!hasPtxas)('assembles', () => {
    const entry = new EntryPoint('t', target);
    const kind = bits === 64 ? 'd' : 'r';
    const n = entry.body.def(kind, `mov.u${bits}`, 12345);
    for (const d of divisors) entry.body.def(kind, `rem.u${bits}`, n, `${d}`);
    entry.body.emit('ret');
    expect(assemble(moduleText(target, [entry.render(32)]), target)).toBe('');
  });
});
