// Programs whose values were wrong on some device, on the GPU; then empty operands, which once cost the whole device, exact sums, random numbers, and
// real tensors of more elements than 32 bits count.

import { bf16ToNumber, f16ToNumber, numberToBf16, numberToF16 } from '../../src/base/half.ts';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { valuePrograms } from '../devices/programs.ts';
import { assert, type Report } from './check.ts';
import { exactSums } from './exact-sums.ts';

const same = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((v, i) => Object.is(v, b[i]) || v === b[i]);

const bitsOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const empty = (rt: Runtime, ...shape: number[]): Tensor => rt.tensor(new Float32Array(0), shape);

/** Each with an empty operand; the device has to be there afterwards. */
const empties: Readonly<Record<string, (rt: Runtime) => Tensor>> = {
  'outer product': (rt) => rt.einsum('f,c', empty(rt, 0), rt.tensor([1, 2])),
  'three operands': (rt) => rt.einsum('YaXd,a,b', empty(rt, 13, 5, 64, 0), rt.ones([5], { dtype: 'u8' }), rt.ones([3])),
  'product of depth 0': (rt) => rt.ones([2, 0]).matmul(rt.ones([0, 3])),
  'product of no rows': (rt) => empty(rt, 0, 3).matmul(rt.ones([3, 4])),
  sort: (rt) => empty(rt, 5, 0).sort(),
  scan: (rt) => empty(rt, 3, 0).cumsum(1),
  pad: (rt) => empty(rt, 0).pad([[2, 1]]),
  sum: (rt) => empty(rt, 3, 0).sum({ axis: [1] }),
};

/** Real tensors of 2^31 elements and more, in bytes. */
const large: Readonly<Record<string, readonly [(rt: Runtime) => Tensor, number | bigint]>> = {
  'the last of 2^32 + 3 bytes': [
    (rt) =>
      bytes(rt, 2 ** 32 + 3)
        .slice([[2 ** 32 + 2, 2 ** 32 + 3]])
        .cast('i32'),
    1,
  ],
  'the sum of 2^32 + 3 bytes': [
    (rt) =>
      bytes(rt, 2 ** 32 + 3)
        .cast('i64')
        .sum(),
    2n ** 32n + 3n,
  ],
  'columns of two rows of 2^31 + 64 bytes': [
    (rt) =>
      bytes(rt, 2 ** 32 + 128)
        .reshape([2, 2 ** 31 + 64])
        .max({ axis: [0] })
        .cast('i64')
        .sum(),
    2n ** 31n + 64n,
  ],
  'a gather at the end': [
    (rt) =>
      bytes(rt, 2 ** 32 + 3)
        .gather(rt.tensor(BigInt64Array.of(2n ** 32n + 2n, 0n)), 0)
        .cast('i32')
        .sum(),
    2n,
  ],
};

/** Targets, updates, whether most updates are for few targets: all of them many enough not to be sorted. */
const scattered = [
  [3000, 50_000, false],
  [700, 100_000, true],
  [10_000, 1 << 20, false],
  [65_536, 1 << 20, true],
] as const;

const halves: Readonly<Record<string, { bits: (v: number) => number; number: (bits: number) => number }>> = {
  f16: { bits: numberToF16, number: f16ToNumber },
  bf16: { bits: numberToBf16, number: bf16ToNumber },
};

type Floats = Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;
type Wide = { words: number; view: (bits: Uint32Array<ArrayBuffer>) => Floats; round: (v: number) => number };
const wide: Readonly<Record<string, Wide>> = {
  f32: { words: 1, view: ({ buffer }) => new Float32Array(buffer), round: Math.fround },
  f64: { words: 2, view: ({ buffer }) => new Float64Array(buffer), round: (v) => v },
};

/** Computed in f32 with an error that halves hardly notice. */
const functionsOfHalves: Readonly<Record<string, { make: (x: Tensor) => Tensor; exact: (x: number) => number }>> = {
  exp: { make: (x) => x.exp(), exact: Math.exp },
  exp2: { make: (x) => x.exp2(), exact: (x) => 2 ** x },
  sigmoid: { make: (x) => x.sigmoid(), exact: (x) => 1 / (1 + Math.fround(Math.exp(-x))) },
};

/** Lengths beside the blocks in which numbers are drawn. */
const drawn = [0, 1, 2, 63, 64, 65, 127, 128, 129, 162, 192, 240, 250, 500, 512, 1000, 4097, 100_000];

/** Random numbers, whose bits are the same on every device. */
const draws: Readonly<Record<string, (rt: Runtime, n: number) => Tensor>> = {
  'normal f32': (rt, n) => rt.random.normal([n], { seed: n + 1 }),
  'normal f16': (rt, n) => rt.random.normal([n], { seed: n + 2, dtype: 'f16' }).cast('f32'),
  'normal f64': (rt, n) => rt.random.normal([n], { seed: n + 3, dtype: 'f64' }),
  'normal in rows': (rt, n) => rt.random.normal([3, n], { seed: n + 4, mean: 2, std: 0.5 }),
  'uniform f32': (rt, n) => rt.random.uniform([n], { seed: n + 5, low: -1, high: 3 }),
  'uniform f64': (rt, n) => rt.random.uniform([2, n], { seed: n + 6, dtype: 'f64' }),
  integers: (rt, n) => rt.random.integers([n], { seed: n + 7, low: -5, high: 1000 }),
  bernoulli: (rt, n) => rt.random.bernoulli([n], { seed: n + 8, p: 0.3 }).cast('i32'),
  'drawn and used': (rt, n) =>
    rt.random
      .normal([n], { seed: n + 9 })
      .mul(2)
      .add(rt.random.uniform([n], { seed: n })),
};

const bytes = (rt: Runtime, n: number): Tensor => rt.ones([n], { dtype: 'u8' }).compute();

export async function valueTests(report: Report): Promise<void> {
  const rt = await createRuntime({ devices: ['cuda'] });
  const alive = async (): Promise<void> => {
    const [two] = [...((await rt.tensor([1]).add(1).data()) as Float32Array)];
    assert(two === 2, 'the device is gone');
  };
  report.group('values through the runtime');
  for (const { name, make, want } of valuePrograms) {
    await report.test(name, async () => {
      const got = [...((await make(rt).data()) as Iterable<number | bigint>)];
      assert(same(got, want), `got ${got.slice(0, 8)} instead of ${want}`);
    });
  }
  report.group('empty operands');
  for (const [name, make] of Object.entries(empties)) {
    await report.test(name, async () => {
      const got = [...((await make(rt).data()) as Float32Array)];
      assert(
        got.every((v) => v === 0),
        `got ${got.slice(0, 8)}`,
      );
      await alive();
    });
  }
  report.group('scattered sums of f32: exact, rounded once, the same every time');
  for (const [targets, count, hot] of scattered) {
    await report.test(`${count} into ${targets}${hot ? ', most into five of them' : ''}`, async () => {
      const { base, at, updates, wanted } = exactSums(targets, count, hot);
      for (let round = 0; round < 3; round++) {
        const sums = rt.tensor(base).scatter(rt.tensor(at), rt.tensor(updates), { mode: 'add', bounds: 'clip' });
        const got = (await sums.data()) as Float32Array;
        const wrong = got.findIndex((v, i) => !Object.is(v, wanted[i]!));
        assert(wrong < 0, `target ${wrong}: got ${got[wrong]} instead of ${wanted[wrong]}`);
      }
    });
  }
  report.group('functions of every half there is');
  for (const [type, { bits, number }] of Object.entries(halves)) {
    for (const [name, { make, exact }] of Object.entries(functionsOfHalves)) {
      await report.test(`${name} of ${type}`, async () => {
        const all = Float32Array.from({ length: 65_536 }, (_, i) => number(i));
        const got = (await make(rt.tensor(all).cast(type as 'f16' | 'bf16'))
          .cast('f32')
          .data()) as Float32Array;
        let off = 0;
        got.forEach((g, i) => {
          const want = exact(all[i]!);
          if (Object.is(g, number(bits(want)))) return;
          assert(Math.abs(bits(g) - bits(want)) === 1, `of ${all[i]}: got ${g} instead of ${want}`);
          off++;
        });
        // A value that lies as good as between two halves may become either.
        assert(off <= 300, `${off} values are the neighbour of the closest half`);
      });
    }
  }
  report.group('reciprocals of numbers of every size');
  for (const [type, { words, view, round }] of Object.entries(wide)) {
    await report.test(type, async () => {
      const x = view(Uint32Array.from({ length: words << 18 }, (_, i) => Math.imul(i + 1, 2_654_435_761) ^ (i << 7)));
      const got = (await rt.tensor(x).reciprocal().data()) as typeof x;
      const wrong = got.findIndex((v, i) => !Object.is(v, round(1 / x[i]!)));
      assert(wrong < 0, `of ${x[wrong]}: got ${got[wrong]} instead of ${round(1 / x[wrong]!)}`);
    });
  }
  report.group('random numbers, bit for bit as on the CPU');
  const cpu = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
  for (const [name, make] of Object.entries(draws)) {
    await report.test(name, async () => {
      for (const n of drawn) {
        const [got, want] = await Promise.all([rt, cpu].map((r) => make(r, n).data()));
        assert(bitsOf(got!).equals(bitsOf(want!)), `${n} of them differ`);
      }
    });
  }
  await cpu.close();
  report.group('more elements than 32 bits count');
  for (const [name, [make, want]] of Object.entries(large)) {
    await report.test(name, async () => {
      const t = make(rt);
      const [got] = [...((await t.data()) as Iterable<number | bigint>)];
      assert(BigInt(got!) === BigInt(want), `got ${got} instead of ${want}`);
      t.dispose();
      await alive();
    });
  }
  await rt.close();
}
