import { describe, expect, it } from 'vitest';
import { EntryPoint } from './code.ts';
import { dividedByNumber, reciprocalOf } from './divide.ts';
import type { Target } from './target.ts';

const target: Target = { sm: 90, ptx: 78, processors: 132, fastMath: false };

/** Runs the few instructions that divisions become. */
function run(op: string, n: bigint, divisor: bigint): bigint {
  const { body } = new EntryPoint('k', target);
  const result = dividedByNumber(body, op, ['%n', `0x${divisor.toString(16)}U`])!;
  const width = op.endsWith('32') ? 32n : 64n;
  const mask = (1n << width) - 1n;
  const registers = new Map([['%n', n]]);
  for (const line of body.lines) {
    const [, name, to, a, b] = /^ {2}(\S+) (\S+), (\S+), (\S+);$/.exec(line)!;
    const value = (x: string): bigint => registers.get(x) ?? BigInt(x.replace('U', ''));
    const does: Readonly<Record<string, (x: bigint, y: bigint) => bigint>> = {
      shr: (x, y) => x >> y,
      and: (x, y) => x & y,
      add: (x, y) => x + y,
      sub: (x, y) => x - y,
      'mul.hi': (x, y) => (x * y) >> width,
      'mul.lo': (x, y) => x * y,
    };
    registers.set(to!, does[name!.replace(/\.[ub]\d+$/, '')]!(value(a!), value(b!)) & mask);
  }
  return registers.get(result)!;
}

/** Where a quotient may be off by one: around multiples, at both ends, and anywhere. */
function* dividends(divisor: bigint, width: bigint): Generator<bigint> {
  const last = (1n << width) - 1n;
  const most = last / divisor;
  for (const q of [0n, 1n, 2n, 3n, most >> 1n, (most >> 1n) + 1n, most - 1n, most]) {
    for (const r of [-1n, 0n, 1n, divisor - 1n]) {
      const n = q * divisor + r;
      if (n >= 0n && n <= last) yield n;
    }
  }
  yield last;
  yield last - 1n;
  yield last >> 1n;
  let x = 88172645463325252n + divisor;
  for (let i = 0; i < 20; i++) {
    x = (x * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
    yield x >> (64n - width);
  }
}

function divisors(width: bigint): bigint[] {
  const all = new Set<bigint>();
  for (let d = 1n; d <= 300n; d++) all.add(d);
  for (let k = 1n; k < width; k++) for (const e of [-1n, 0n, 1n, 3n]) all.add((1n << k) + e);
  for (const d of [641n, 1000n, 3000n, 50257n, 274177n, 6700417n, (1n << width) - 1n, (1n << width) - 2n]) all.add(d);
  return [...all].filter((d) => d > 0n && d < 1n << width);
}

describe('a division by a known number', () => {
  it.each([32n, 64n])('of words of %s bits is exact for every dividend that may be off by one', (width) => {
    for (const d of divisors(width)) {
      for (const n of dividends(d, width)) {
        expect(run(`div.u${width}`, n, d), `${n} / ${d}`).toBe(n / d);
        expect(run(`rem.u${width}`, n, d), `${n} % ${d}`).toBe(n % d);
      }
    }
  });

  it('takes every form there is', () => {
    expect(reciprocalOf(3n, 32)).toMatchObject({ before: 0, long: false });
    expect(reciprocalOf(14n, 32)).toMatchObject({ before: 1, long: false });
    expect(reciprocalOf(7n, 32)).toMatchObject({ before: 0, long: true });
  });

  it('leaves divisions by registers, by 0 and of signed words alone', () => {
    const { body } = new EntryPoint('k', target);
    expect(dividedByNumber(body, 'div.u32', ['%r1', '%r2'])).toBeNull();
    expect(dividedByNumber(body, 'div.u32', ['%r1', 0])).toBeNull();
    expect(dividedByNumber(body, 'div.s32', ['%r1', 3])).toBeNull();
    expect(dividedByNumber(body, 'add.u32', ['%r1', 3])).toBeNull();
  });
});
