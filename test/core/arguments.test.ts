// Arguments that no call can use are refused by name, with an error of the library, and change nothing.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, ForgeError, type Runtime, type Tensor } from '../../src/index.ts';
import { heldBytes } from './support.ts';

let rt: Runtime;
let m: Tensor;
beforeAll(async () => {
  rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
  m = rt.tensor(new Float32Array(10_000), [100, 100]);
});
afterAll(() => rt.close());

/** An argument of a kind that the types rule out: JavaScript does not. */
const odd = (value: unknown): never => value as never;

function cyclic(): unknown[] {
  const a: unknown[] = [];
  a.push(a);
  return a;
}

function nested(depth: number): unknown {
  let a: unknown = 1;
  for (let i = 0; i < depth; i++) a = [a];
  return a;
}

const refused: Readonly<Record<string, () => unknown>> = {
  'an array that contains itself': () => rt.tensor(odd(cyclic())),
  'an array nested without end': () => rt.tensor(odd(nested(100_000))),
  'indices that contain themselves': () => m.gather(odd(cyclic()), 0),
  'a controller for a signal': () => m.add(1).data({ signal: odd(new AbortController()) }),
  'a controller for the signal of bytes': () => m.bytes({ signal: odd(new AbortController()) }),
  'a controller for the signal of a move': () => m.to('cpu', { signal: odd(new AbortController()) }),
  'null for a signal': () => m.data({ signal: odd(null) }),
  'an unknown option of a read': () => m.data({ to: new Float32Array(1) } as never),
  'bytes of a negative shape': () => rt.fromBytes(new Uint8Array(4), 'u8', [-2, -2]),
  'bytes of a fractional shape': () => rt.fromBytes(new Uint8Array(1), 'u8', [0.5, 2]),
  'bytes of no shape': () => rt.fromBytes(new Uint8Array(1), 'u8', odd(undefined)),
  'bytes of no dtype': () => rt.fromBytes(new Uint8Array(1), odd('constructor'), [1]),
  'pad widths that are no pairs': () => m.pad(odd([1, 1])),
  'pad widths of three': () =>
    m.pad(
      odd([
        [1, 1, 1],
        [0, 0],
      ]),
    ),
  'a word for a diagonal': () => m.tril(odd('x')),
  'axes for axis': () => m.sum({ axes: 0 } as never),
  'axes for axis in a mean': () => m.mean({ axes: 0 } as never),
  'a dtype for options': () => rt.zeros([2], odd('f64')),
  'a number for a shape': () => rt.ones(odd(3)),
  'no shape': () => rt.zeros(odd(undefined)),
  'a word for an axis': () => m.sum({ axis: odd('0') }),
  'a negative scalar for u8': () => rt.full([2], -1, { dtype: 'u8' }),
  'too large a scalar for u8': () => rt.full([2], 300, { dtype: 'u8' }),
  'no scalar at all': () => rt.full([2], odd('1')),
  'a range of words': () => rt.arange(odd('a')),
  'an endless range': () => rt.arange(Number.POSITIVE_INFINITY),
  'a range of numbers that are not exact': () => rt.arange(2 ** 53, 2 ** 53 + 10),
  'an infinite end of linspace': () => rt.linspace(0, Number.POSITIVE_INFINITY, 3),
  'a tensor for a scalar of where': () => rt.where(odd(true), 1, 2),
  'no list of tensors': () => rt.concat(odd(m)),
  'a list of numbers': () => rt.stack(odd([1, 2])),
  'no tensors': () => rt.stack([]),
  'a number for an einsum operand': () => rt.einsum('i,i', m, odd(3)),
  'no spec': () => rt.einsum(odd(undefined), m),
  'an ellipsis that the result leaves out': () => rt.einsum('a...->a', m),
  'an end of random numbers that is none': () => rt.random.uniform([2], { high: Number.NaN }),
  'an unknown option of random numbers': () => rt.random.normal([2], { sd: 2 } as never),
  'too many tiles': () => m.tile([2 ** 30, 2 ** 30]),
  'too large an outer product': () => rt.ones([2 ** 27]).outer(rt.ones([2 ** 27])),
  'too many repeats': () => m.repeat(2 ** 50, 0),
  'too wide a border': () =>
    m.pad([
      [0, 2 ** 53 - 1],
      [0, 0],
    ]),
  'too long a row of tensors': () => rt.concat([rt.ones([2 ** 52]), rt.ones([2 ** 52])]),
  'too large a sum by broadcasting': () => rt.ones([2 ** 27, 1]).add(rt.ones([2 ** 27])),
  'too large a product of matrices': () => rt.ones([2 ** 27, 1]).matmul(rt.ones([1, 2 ** 27])),
  'too large an einsum': () => rt.einsum('i,j', rt.ones([2 ** 27]), rt.ones([2 ** 27])),
  'too many gathered elements': () => rt.ones([2 ** 40, 1]).gather(rt.iota([2 ** 14]), 1),
};

describe('refused by an error that says what is wrong:', () => {
  it.each(Object.keys(refused))('%s', async (name) => {
    const before = heldBytes(rt);
    const error = await Promise.resolve()
      .then(refused[name]!)
      .then(
        () => null,
        (e: unknown) => e,
      );
    expect(error).toBeInstanceOf(ForgeError);
    expect((error as ForgeError).fix.length).toBeGreaterThan(0);
    expect(heldBytes(rt)).toBe(before);
  });

  it('and what was asked about is still there', async () => {
    expect((await m.add(1).sum().data())[0]).toBe(10_000);
  });
});

/** What people write who come from NumPy, PyTorch or TF.js, and what they are told to write. */
const habits: readonly (readonly [string, () => unknown, RegExp])[] = [
  ['sizes without brackets', () => Reflect.apply(m.reshape, m, [2, 3]), /reshape\(\[2, 3\]\)/],
  ['a size for a shape', () => rt.zeros(odd(3)), /zeros\(\[3\]\)/],
  ['axes without brackets', () => Reflect.apply(m.permute, m, [1, 0]), /permute\(\[1, 0\]\)/],
  ['an axis without its name', () => m.sum(odd(1)), /sum\(\{ axis: 1 \}\)/],
  ['dim', () => m.sum({ dim: 1 } as never), /Write axis instead/],
  ['keepDims', () => m.sum({ axis: 0, keepDims: true } as never), /Write keepdims instead/],
  ['a dtype without its name', () => rt.zeros([2], odd('i32')), /zeros\(\[2\], \{ dtype: 'i32' \}\)/],
  ['a dtype of NumPy', () => m.cast(odd('float64')), /Write 'f64'/],
  ['a dtype of PyTorch', () => m.cast(odd('torch.int64')), /Write 'i64'/],
  ['a slice of two numbers', () => Reflect.apply(m.slice, m, [0, 1]), /slice\(\[\[0, 1\]\]\)/],
  ['one pair of widths', () => m.pad(odd([1, 1])), /Write \[\[1, 1\]\]/],
  ['where without values', () => rt.where(m.greater(0), odd(undefined), odd(undefined)), /nonzero/],
  ['no value to fill with', () => rt.full([2], odd(undefined)), /full\(shape, value/],
  ['a list for an operand', () => m.matmul(odd([[1]])), /matmul\(rt\.tensor\(\[\[1\]\]\)\)/],
  ['an argument too many', () => Reflect.apply(m.neg, m, [5]), /neg\(\)/],
];

describe('habits from elsewhere are told what to write here:', () => {
  it.each(habits)('%s', (_, call, fix) => {
    expect(call).toThrow(ForgeError);
    expect(call).toThrow(fix);
  });
});

describe('bytes of bools', () => {
  it('are true wherever they are not 0', async () => {
    const t = rt.fromBytes(new Uint8Array([2, 0, 255, 1]), 'bool', [4]);
    expect([...(await t.data())]).toEqual([1, 0, 1, 1]);
    expect((await t.cast('i32').sum().data())[0]).toBe(3n);
    expect([...(await t.equal(rt.tensor([true, false, true, true])).data())]).toEqual([1, 1, 1, 1]);
  });
});
