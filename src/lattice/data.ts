// Work on data that belongs to a lattice: XOR, transforms, coordinate maps, diffusion, products, sums.

import { type DType, type Runtime, type Tensor, throwIfAborted } from '../index.ts';
import { checkData, type HostData, isNumeric, isTensor, kindOf, type LatticeData, type TypedArray } from './arrays.ts';
import { type AxisMap, checkElements, mapHost, mapTensor, permutation, reflection, rotation } from './axes.ts';
import type { BatchOption } from './batch.ts';
import { advance, type DiffuseOptions, type Diffusion, floatOf, resolveDiffusion, spreadOf } from './diffuse.ts';
import { invalidArgument, oneOf, wholeNumber } from './errors.ts';
import { look } from './look.ts';
import { LatticeStructure } from './structure.ts';
import {
  checkFactor,
  normalizeHost,
  normalizeTensor,
  scaledType,
  scaleHost,
  type TransformName,
  transformNames,
} from './transforms.ts';
import { type Combining, checkTensorKey, newKey, randomBytes, type XorOptions, xorHost, xorTensors } from './xor.ts';

export abstract class LatticeDataWork extends LatticeStructure {
  /** Self-inverse, byte for byte; the data is left as it is. */
  async xor<T extends LatticeData>(data: T, key: T | number, o: XorOptions & BatchOption = {}): Promise<T> {
    this.session.check('xor');
    this.wanted('xor', o);
    checkData(data, 'xor');
    if (!isTensor(data)) return xorHost(data as HostData, key as HostData | number, o) as T;
    if (isTensor(key)) checkTensorKey(data, key, o);
    return (await this.#xorTensor(data, key as Tensor | number, o)) as T;
  }

  /** With a random key as long as the data: `xor(result.data, result.key)` gives the data back. */
  async xorWithNewKey<T extends LatticeData>(
    data: T,
    o: BatchOption & { readonly seed?: number | undefined } = {},
  ): Promise<{ data: T; key: T }> {
    const where = 'xorWithNewKey';
    this.session.check(where);
    this.wanted(where, o);
    checkData(data, where);
    if (o.seed !== undefined) wholeNumber(where, 'seed', o.seed);
    if (isTensor(data)) {
      const rt = await this.session.open(where);
      this.own(rt, data, where);
      const bytes = randomBytes((await data.bytes()).byteLength, o.seed);
      const key = rt.fromBytes(bytes, data.dtype, data.shape);
      return { data: (await this.#xorTensor(data, key, { batch: o.batch })) as T, key: key as unknown as T };
    }
    const key = newKey(data as HostData, o.seed) as T;
    return { data: xorHost(data as HostData, key as HostData) as T, key };
  }

  async transform<T extends LatticeData>(
    data: T,
    name: TransformName,
    o: XorOptions & BatchOption & { readonly key?: T | number | undefined; readonly factor?: number | undefined } = {},
  ): Promise<LatticeData> {
    const where = 'transform';
    this.session.check(where);
    this.wanted(where, o);
    oneOf(where, 'transform', name, transformNames);
    checkData(data, where);
    if (name === 'xor') {
      if (o.key !== undefined) return this.xor(data, o.key, { cycle: o.cycle, batch: o.batch });
      throw invalidArgument({
        where,
        problem: 'xor has no key',
        fix: 'Give { key }, or use xorWithNewKey().',
      });
    }
    const factor = checkFactor(o.factor ?? 1);
    if (!isTensor(data))
      return name === 'normalize' ? normalizeHost(data as HostData) : scaleHost(data as HostData, factor);
    if (name === 'normalize' && !this.session.can(await this.session.open(where), ['f64', data.dtype])) {
      const rt = await this.session.open(where);
      const values = normalizeHost(await data.data());
      this.session.fellBack(where, this.device ?? 'auto', 'host', 'no open device has f64');
      return rt.tensor(values, data.shape);
    }
    if (name === 'normalize') return this.#onTensor(where, data, ['f64'], (rt, x) => normalizeTensor(rt, x));
    const type = scaledType(data.dtype);
    return this.#onTensor(where, data, [type], (_, x) => x.cast(type).mul(factor).cast(type));
  }

  async permuteAxes<T extends TypedArray | Tensor>(data: T, order: readonly number[], o: BatchOption = {}): Promise<T> {
    return this.#mapped(data, 'permuteAxes', o, (shape) => permutation(order, shape.length));
  }

  async reflect<T extends TypedArray | Tensor>(data: T, axis: number, o: BatchOption = {}): Promise<T> {
    return this.#mapped(data, 'reflect', o, (shape) => reflection(axis, shape.length));
  }

  /** Quarter turns from the first axis towards the second. */
  async rotate90<T extends TypedArray | Tensor>(
    data: T,
    axes: readonly [number, number],
    quarterTurns = 1,
    o: BatchOption = {},
  ): Promise<T> {
    return this.#mapped(data, 'rotate90', o, (shape) => rotation(axes, quarterTurns, shape));
  }

  /** A field with one value per vertex, spread `steps` times. */
  async diffuse(field: Tensor | Float32Array, steps: number, o: DiffuseOptions = {}): Promise<Tensor> {
    const where = 'diffuse';
    this.session.check(where);
    wholeNumber(where, 'steps', steps);
    const how = resolveDiffusion(this.dimensions, o);
    const { vertices } = this.grid;
    if (!(isTensor(field) ? field.size === vertices : isNumeric(field) && field.length === vertices)) {
      throw invalidArgument({
        where,
        problem: `the field is ${kindOf(field)}, the lattice has ${vertices} vertices`,
        fix: 'Give one value per vertex.',
      });
    }
    this.wanted(where, o);
    const call: Spreading = { field, blocked: this.mask?.bytes ?? null };
    const rt = await this.session.open(where);
    if (isTensor(field)) this.own(rt, field, where);
    const together = (calls: readonly Spreading[], signal?: AbortSignal): Promise<Tensor[]> =>
      this.#spreadTogether(rt, calls, steps, how, signal);
    if (!o.batch) return (await together([call], o.signal))[0]!;
    throwIfAborted(o.signal, where);
    const dtype = isTensor(field) ? field.dtype : 'f32';
    return o.batch.join(`${where} ${steps} ${how.rate} ${how.boundary} ${dtype}`, call, together);
  }

  /** Fields of equal dtype side by side: one kernel per step for all of them. */
  async #spreadTogether(
    rt: Runtime,
    calls: readonly Spreading[],
    steps: number,
    how: Diffusion,
    signal?: AbortSignal,
  ): Promise<Tensor[]> {
    const where = 'diffuse';
    const { shape, vertices, dimensions } = this.grid;
    const pinned = this.session.scoped(rt, 'transform', where);
    const masks = calls.map((c) => c.blocked);
    const blocked = masks.some((m) => m !== null) ? interleaved(masks, vertices) : null;
    const { start, around } = pinned(() => {
      const fields = calls.map(({ field }) =>
        floatOf(isTensor(field) ? field : rt.tensor(Float32Array.from(field), shape)).reshape(shape),
      );
      const first = fields.length === 1 ? fields[0]! : rt.stack(fields, dimensions).compute();
      return { start: first, around: blocked && spreadOf(rt, first, how, blocked, dimensions) };
    });
    let x = start;
    try {
      for (let done = 0; done < steps; done += stepsAtOnce) {
        await look(where, signal);
        this.session.check(where);
        const old = x;
        x = pinned(() =>
          advance(around ?? spreadOf(rt, old, how, null, dimensions), old, Math.min(stepsAtOnce, steps - done)),
        );
        if (old !== start) old.dispose();
      }
      throwIfAborted(signal, where);
      return pinned(() => {
        const end = steps === 0 ? x.add(0) : x;
        return calls.map(({ field }, i) => {
          const whole = isTensor(field) ? field.shape : shape;
          if (calls.length === 1) return end.reshape(whole).compute();
          return end.slice([...shape.map((n): [number, number] => [0, n]), [i, i + 1]]).reshape(whole);
        });
      });
    } finally {
      if (x !== start) x.dispose();
      start.dispose();
      around?.end();
    }
  }

  async matmul(
    a: Tensor | readonly (readonly number[])[],
    b: Tensor | readonly (readonly number[])[],
    o: BatchOption = {},
  ): Promise<Tensor> {
    const rt = await this.session.open('matmul');
    this.wanted('matmul', o);
    for (const x of [a, b]) if (isTensor(x)) this.own(rt, x, 'matmul');
    return this.session.within(rt, 'matrix_multiply', 'matmul', () => {
      const [x, y] = [a, b].map((m) => (isTensor(m) ? m : rt.tensor(m))) as [Tensor, Tensor];
      return x.matmul(y).compute();
    });
  }

  async reduce(data: LatticeData, name: 'sum' | 'max' | 'min', o: BatchOption = {}): Promise<number> {
    const where = 'reduce';
    this.session.check(where);
    this.wanted(where, o);
    oneOf(where, 'reduction', name, ['sum', 'max', 'min']);
    checkData(data, where);
    const size = isTensor(data) ? data.size : data.length;
    if (size === 0 && name !== 'sum')
      throw invalidArgument({ where, problem: `${name} of no elements`, fix: 'Give at least one element.' });
    if (!isTensor(data)) return reduceHost(data as HostData, name);
    const result = await this.#onTensor(where, data, [data.dtype], (_, x) => x[name]());
    const [value] = await result.data();
    result.dispose();
    return Number(value);
  }

  async #onTensor(
    where: string,
    x: Tensor,
    dtypes: readonly DType[],
    body: (rt: Runtime, x: Tensor) => Tensor,
  ): Promise<Tensor> {
    const rt = await this.session.open(where);
    this.own(rt, x, where);
    return this.session.within(rt, 'transform', where, () => body(rt, x).compute(), [x.dtype, ...dtypes]);
  }

  async #xorTensor(x: Tensor, key: Tensor | number, o: XorOptions & BatchOption): Promise<Tensor> {
    const rt = await this.session.open('xor');
    this.own(rt, x, 'xor');
    if (isTensor(key)) this.own(rt, key, 'xor');
    const bits = bitTypes[x.dtype];
    // Types without an integer type as wide, keys that repeat and plain numbers go through the host.
    if (!bits || !isTensor(key) || (key.size !== x.size && key.size !== 1)) {
      const data = await x.bytes();
      const by = isTensor(key) ? await key.bytes() : numberKey(x, key);
      const result = xorHost(data, by, { cycle: o.cycle === true || !isTensor(key) });
      return rt.fromBytes(result, x.dtype, x.shape);
    }
    const together = async (calls: readonly Combining[]): Promise<Tensor[]> =>
      this.session.within(rt, 'transform', 'xor', () => xorTensors(rt, calls, bits), [x.dtype, bits]);
    const call: Combining = { x, by: key.size === x.size ? key.reshape(x.shape) : key.reshape([]) };
    if (!o.batch) return (await together([call]))[0]!;
    return o.batch.join(`xor ${x.dtype} ${x.shape} ${key.size}`, call, together);
  }

  async #mapped<T extends TypedArray | Tensor>(
    data: T,
    where: string,
    o: BatchOption,
    map: (shape: readonly number[]) => AxisMap,
  ): Promise<T> {
    this.session.check(where);
    this.wanted(where, o);
    checkData(data, where);
    if (isTensor(data)) {
      const steps = map(data.shape);
      return (await this.#onTensor(where, data, [], (_, x) => mapTensor(x, steps))) as T;
    }
    const steps = map(this.grid.shape);
    checkElements(data as TypedArray, this.grid.vertices, where);
    return mapHost(data as TypedArray, this.grid.shape, steps) as T;
  }
}

/** Steps of a diffusion between two looks at the event loop and the caller's signal. */
const stepsAtOnce = 240;

interface Spreading {
  readonly field: Tensor | Float32Array;
  readonly blocked: Uint8Array | null;
}

/** Masks side by side, as the fields they belong to. */
function interleaved(masks: readonly (Uint8Array | null)[], vertices: number): Uint8Array {
  const all = new Uint8Array(vertices * masks.length);
  masks.forEach((mask, i) => {
    mask?.forEach((blocked, v) => {
      all[v * masks.length + i] = blocked;
    });
  });
  return all;
}

/** The integer type whose bits stand for those of a dtype. */
const bitTypes: Readonly<Partial<Record<DType, DType>>> = {
  u8: 'u8',
  i32: 'i32',
  u32: 'u32',
  i64: 'i64',
  u64: 'u64',
  f32: 'u32',
  f64: 'u64',
};

/** A number as the bytes of one element; for floats, as the byte that every byte is combined with. */
function numberKey(x: Tensor, key: number): Uint8Array {
  const make: Readonly<Partial<Record<DType, TypedArray>>> = {
    i32: new Int32Array(1),
    u32: new Uint32Array(1),
    i64: new BigInt64Array(1),
    u64: new BigUint64Array(1),
  };
  const one = make[x.dtype] ?? new Uint8Array(1);
  const made = xorHost(one, key) as TypedArray;
  return new Uint8Array(made.buffer);
}

function reduceHost(data: HostData, name: 'sum' | 'max' | 'min'): number {
  const values = Float64Array.from(data as ArrayLike<number>, Number);
  if (name === 'sum') return values.reduce((a, b) => a + b, 0);
  return values.reduce((a, b) => (Number.isNaN(a) || Number.isNaN(b) ? Number.NaN : Math[name](a, b)));
}
