// Work in borrowed memory: the counts, the distances, and the memory afterwards, by SHA-256.

import { createHash } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { Aborted, type Borrowed, createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { gfInverse, gfMul, Lattice } from '../../src/lattice/index.ts';
import { all } from '../support/extent.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';
import { numbers, plainDistances, randomMask } from './plain.ts';

afterAll(closeAll);

const hashes = async (tensors: readonly Tensor[]): Promise<string[]> =>
  Promise.all(
    tensors.map(async (t) =>
      createHash('sha256')
        .update(await t.bytes())
        .digest('hex'),
    ),
  );

/** Contents of every sort: random, zeros, ones, text, live values. */
function contents(rt: Runtime, count: number, words: number): Tensor[] {
  const text = new TextEncoder().encode('The contents may be anything. '.repeat(words));
  const makers: readonly ((i: number) => Tensor)[] = [
    (i) => rt.random.integers([words], { seed: i, high: 2 ** 32, dtype: 'u32' }),
    () => rt.zeros([words], { dtype: 'u32' }),
    () => rt.full([words], 0xffff_ffff, { dtype: 'u32' }),
    () => rt.fromBytes(text.slice(0, 4 * words), 'u8', [4 * words]),
    (i) => rt.random.normal([words], { seed: i }).mul(2).add(1),
  ];
  return Array.from({ length: count }, (_, i) => makers[i % makers.length]!(i).compute());
}

const oracles = [
  [2, 4, 0, 15, 6, 20n],
  [2, 6, 0, 35, 10, 252n],
  [3, 5, 0, 124, 12, 34_650n],
  [2, 4, 0, 0, 0, 1n],
  [2, 4, 0, 0, 2, 2n],
  [2, 4, 0, 0, 4, 10n],
  [2, 4, 5, 5, 4, 34n],
  [2, 4, 0, 15, 8, 336n],
  [2, 4, 0, 1, 4, 0n],
  [3, 5, 0, 0, 4, 24n],
  [3, 5, 0, 124, 14, 2_522_520n],
] as const;

describe('GF(2^64)', () => {
  it('multiplies and inverts as the polynomial says', () => {
    expect(gfMul(1n << 63n, 2n)).toBe(0x1bn);
    expect(gfMul(1n << 63n, 1n << 63n)).toBe(0xc00000000000005an);
    expect(gfMul(0xffffffffffffffffn, 0xffffffffffffffffn)).toBe(0x5555555555555513n);
    expect(gfMul(0x0123456789abcdefn, 0xfedcba9876543210n)).toBe(0x48827ab55d976fa0n);
    expect(gfInverse(0x0123456789abcdefn)).toBe(0x482870f8db3decdan);
    const random = numbers(1);
    for (let i = 0; i < 50; i++) {
      const word = (): bigint =>
        (BigInt(Math.floor(random() * 2 ** 32)) << 32n) | BigInt(Math.floor(random() * 2 ** 32));
      const [a, b, c] = [word() | 1n, word(), word()];
      expect(gfMul(a, gfInverse(a))).toBe(1n);
      expect(gfMul(a, b ^ c)).toBe(gfMul(a, b) ^ gfMul(a, c));
      expect(gfMul(a, gfMul(b, c))).toBe(gfMul(gfMul(a, b), c));
    }
  });
});

describe.each(kinds)('walks on %s', (kind) => {
  const make = async (d: number, n: number, blocked: Iterable<number> = []): Promise<[Lattice, Runtime, boolean]> => {
    const runtime = await runtimeOf(kind);
    const device = runtime.devices().find((x) => x.open)!.id;
    const has64 = runtime.device(device).caps.dtypes.has('u64');
    return [new Lattice({ dimensions: d, size: n, runtime, device, blocked, auxMemoryMb: 0.1 }), runtime, has64];
  };

  it('are counted plain and in borrowed memory, which is what it was', async () => {
    for (const [d, n, s, t, length, expected] of oracles.filter(
      ([, , , , l]) => kind === 'cpu' || kind === 'cuda' || (all ? l < 9 : l < 7),
    )) {
      const [l, rt, has64] = await make(d, n);
      expect(await l.countWalks(s, t, length)).toBe(expected);
      const pieces = has64 ? 1 : 2;
      const buffers = contents(rt, pieces * (length + 1), (n ** d * 2) / pieces);
      const before = await hashes(buffers);
      expect(await l.countWalks(s, t, length, { buffers })).toBe(expected);
      expect(await hashes(buffers)).toEqual(before);
      const report = l.stats().borrowed!;
      expect(report).toMatchObject({ bytes: 8 * n ** d * (length + 1), steps: 4 * length + 2, cleanBytes: 8 });
      expect(await l.countWalks(s, t, length, { memory: 'borrow', bits: 32 })).toBe(BigInt.asUintN(32, expected));
      for (const b of buffers) b.dispose();
    }
  });

  it('around blocked vertices are those of sums written out, and blocked words are never touched', async () => {
    const blocked = [5, 6, 11];
    const [l] = await make(2, 5, blocked);
    let x = new Array<bigint>(25).fill(0n);
    x[0] = 1n;
    for (let i = 0; i < 12; i++)
      x = x.map((_, v) => (blocked.includes(v) ? 0n : l.neighbors(v).reduce((sum, u) => sum + x[u]!, 0n)));
    expect(await l.countWalks(0, 24, 12)).toBe(x[24]);
    expect(await l.countWalks(0, 24, 12, { memory: 'borrow' })).toBe(x[24]);
  });

  it('find the distance around obstacles, and the memory is what it was', async () => {
    // The other devices take seconds for what the CPU does in one.
    if (kind !== 'cpu') {
      const [d, n, blocked, s, t, steps] = all ? [2, 3, [4, 5], 2, 8, 6] : [2, 2, [1], 0, 3, 2];
      const [small] = await make(d as number, n as number, blocked as number[]);
      expect(await small.distanceWithObstacles(s as number, t as number)).toBe(steps);
      return;
    }
    const [l, rt] = await make(2, 5, [5, 6, 7, 8, 16, 17, 18, 19]);
    const buffers = contents(rt, 2 * 17 + 2, 25);
    const before = await hashes(buffers);
    expect(await l.distanceWithObstacles(0, 24, { buffers })).toBe(16);
    expect(await hashes(buffers)).toEqual(before);
    expect(await l.distanceWithObstacles(3, 3)).toBe(0);
  });
});

describe('the distance around obstacles', () => {
  it('is that of a plain search for random masks', async () => {
    const runtime = await runtimeOf('cpu');
    const random = numbers(21);
    for (let i = 0; i < (all ? 1000 : 4); i++) {
      const [d, n] = [
        [1, 6],
        [2, 3],
        [2, 4],
        [3, 2],
      ][i % 4] as [number, number];
      const blocked = randomMask(random, n ** d, 0.4 * random());
      const [s, t] = [random(), random()].map((r) => Math.floor(r * n ** d)) as [number, number];
      blocked.delete(s);
      blocked.delete(t);
      const l = new Lattice({ dimensions: d, size: n, runtime, device: 'cpu', blocked, auxMemoryMb: 0.1 });
      const expected = plainDistances(d, n, blocked, s)[t]!;
      const found = await l.distanceWithObstacles(s, t, { seed: i }).catch((e: { code: string }) => e.code);
      expect(found).toBe(expected < 0 ? '2005' : expected);
      await l.dispose();
    }
  });
});

describe('many dimensions', () => {
  it('fit one kernel as well', async () => {
    const runtime = await runtimeOf('cpu');
    const l = new Lattice({ dimensions: 4, size: 2, runtime, device: 'cpu', blocked: [1, 2] });
    expect(await l.distanceWithObstacles(0, 3)).toBe(l.distance(0, 3));
    expect(await l.countWalks(0, 4, 3, { memory: 'borrow' })).toBe(await l.countWalks(0, 4, 3));
    await l.dispose();
  });
});

describe('large walks', () => {
  it('wrap around, and say what they borrowed and what it cost', async () => {
    const runtime = await runtimeOf('cpu');
    const l = new Lattice({ runtime, device: 'cpu' });
    const buffers = contents(runtime, 37, 20_000);
    const before = await hashes(buffers);
    expect(await l.countWalks(0, 9999, 36, { buffers, compare: true })).toBe(3_006_008_192_555_768_384n);
    expect(await hashes(buffers)).toEqual(before);
    const report = l.stats().borrowed!;
    expect(report).toMatchObject({ buffers: 37, bytes: 2_960_000, cleanBytes: 8 });
    expect(report.plainMs).toBeGreaterThan(0);
    expect(await l.countWalks(0, 9999, 36, { bits: 32 })).toBe(1_295_211_072n);
    const five = new Lattice({ dimensions: 4, size: 5, runtime, device: 'cpu' });
    expect(await five.countWalks(0, 624, 16, { memory: 'borrow' })).toBe(63_063_000n);
    // The auxiliary memory is what was asked for.
    const aux = await l.auxiliary();
    expect(aux.reduce((sum, t) => sum + 4 * t.size, 0)).toBe(10 * 2 ** 20);
    await five.dispose();
  });

  it('counts for as long as it takes, and ends when it is told to', async () => {
    const l = new Lattice({ dimensions: 1, size: 3, runtime: await runtimeOf('cpu'), device: 'cpu' });
    const end = new AbortController();
    setTimeout(() => end.abort(), 20);
    // Without the signal this would take days.
    await expect(l.countWalks(0, 1, 2 ** 40, { signal: end.signal })).rejects.toThrow(Aborted);
    expect(await l.countWalks(0, 1, 127)).toBe(2n ** 63n);
    await l.dispose();
  });

  it('are refused where the memory is too small, naming the bytes that are needed', async () => {
    const runtime = await runtimeOf('cpu');
    const l = new Lattice({ dimensions: 2, size: 4, runtime, device: 'cpu', auxMemoryMb: 0.1 });
    const buffers = contents(runtime, 3, 32);
    const before = await hashes(buffers);
    await expect(l.countWalks(0, 15, 6, { buffers })).rejects.toThrow(/896 bytes are needed, as 7 pieces of 128 bytes/);
    await expect(l.countWalks(0, 15, 6, { buffers: [] })).rejects.toThrow(/896 bytes are needed/);
    await expect(l.countWalks(0, 15, 2000, { memory: 'borrow' })).rejects.toThrow(/256128 bytes are needed/);
    expect(await hashes(buffers)).toEqual(before);
  });
});

describe('a walk that is stopped', () => {
  it.each(['u64', 'u32', 'gf'] as const)('at any step leaves the memory as it was (%s)', async (words) => {
    // A device that refuses the n-th launch of the program, for every n. The guard's own launches, of hashes, go through.
    let [launches, stop] = [0, Number.POSITIVE_INFINITY];
    await using runtime = await createRuntime({
      devices: ['cpu'],
      cpu: { threads: 1 },
      wrap: (device) =>
        new Proxy(device, {
          get: (target, key) => {
            const value = Reflect.get(target, key, target) as unknown;
            if (key === 'launch')
              return (...args: Parameters<Borrowed['device']['launch']>) => {
                if (!args[0].name.startsWith('digest') && ++launches === stop) throw new Error('stopped here');
                target.launch(...args);
              };
            return typeof value === 'function' ? value.bind(target) : value;
          },
        }),
    });
    const l = new Lattice({ dimensions: 2, size: 3, runtime, device: 'cpu', blocked: [4] });
    const buffers = contents(runtime, words === 'u64' ? 4 : 12, 18);
    const before = await hashes(buffers);
    const run = (): Promise<unknown> =>
      words === 'gf'
        ? l.distanceWithObstacles(0, 8, { buffers })
        : l.countWalks(0, 8, 3, { buffers, bits: words === 'u32' ? 32 : 64 });
    launches = 0;
    await run();
    const total = launches;
    expect(total).toBeGreaterThan(10);
    for (let at = 1; at <= total; at += words === 'gf' ? (all ? 7 : 401) : 1) {
      [launches, stop] = [0, at];
      await expect(run()).rejects.toThrow('stopped here');
      stop = Number.POSITIVE_INFINITY;
      expect(await hashes(buffers)).toEqual(before);
    }
    const aborted = l.countWalks(0, 8, 3, { buffers, signal: AbortSignal.abort(new Error('enough')) });
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED', cause: { message: 'enough' } });
    expect(await hashes(buffers)).toEqual(before);
  });
});
