import { describe, expect, it } from 'vitest';
import { asType, runOn, sample } from '../../../test/support/cpu.ts';
import { f16ToNumber } from '../../base/half.ts';
import type { Routine } from '../../kernel/kernel.ts';
import { Blas, type Product } from './blas.ts';
import { type CpuDevice, createCpuDevice } from './device.ts';
import { openHost, type ThreadHost } from './host.ts';
import { withVariables } from './node-host.ts';

interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
}

/** A host whose only libraries are the given ones, each with the functions it exports. */
function hostWith(libraries: Readonly<Record<string, readonly string[]>>, calls: Call[]): ThreadHost {
  const koffi = {
    load: (path: string) => {
      const exported = libraries[path];
      if (!exported) throw new Error(`no ${path}`);
      return {
        func: (prototype: string) => {
          const name = /(\w+)\(/.exec(prototype)![1]!;
          if (!exported.includes(name)) throw new Error(`no ${name}`);
          return (...args: unknown[]) => calls.push({ name, args });
        },
      };
    },
  };
  return {
    parallelism: 2,
    spawn: () => null,
    require: (name) => {
      if (name !== 'koffi') throw new Error(`no ${name}`);
      return koffi;
    },
  };
}

/** Two products of a matrix and its own transpose, bound as one buffer, beside those of two equal ones. */
function checkOwnTranspose(one: CpuDevice, two: CpuDevice, type: 'f32' | 'f64', transposeA: boolean, n: number): void {
  const [k, batch] = [90, 2];
  const work: Routine = {
    kind: 'routine',
    op: 'matmul',
    name: 'matmul',
    type,
    batch,
    batchA: batch,
    batchB: batch,
    m: n,
    n,
    k,
    transposeA,
    transposeB: !transposeA,
    precision: 'exact',
    epilogue: null,
    estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
  };
  const x = sample(type, batch * n * k, 3);
  const bytes = batch * n * n * { f32: 4, f64: 8 }[type];
  const [operand, result] = [one.allocate(x.byteLength), one.allocate(bytes)];
  one.write(operand, new Uint8Array(x.buffer, x.byteOffset, x.byteLength));
  const program = one.prepare(work);
  expect(program.source).toContain('syrk');
  one.launch(program, [operand, operand, result], []);
  const got = asType(type, one.readSync!(result)) as Float64Array;
  const want = asType(type, runOn(two, work, [x, x], [bytes])[0]!) as Float64Array;
  for (let i = 0; i < got.length; i++)
    if (!(Math.abs(got[i]! - want[i]!) <= { f32: 1e-3, f64: 1e-11 }[type]))
      expect(got[i], `element ${i}`).toBe(want[i]);
  for (const b of [operand, result]) one.release(b);
}

const product: Product = { type: 'f32', m: 100, n: 90, k: 80, transposeA: true, transposeB: false };
const gemm = ['cblas_sgemm', 'cblas_dgemm'];

describe('a system BLAS', () => {
  it('is taken from the first library that has what is needed, with the threads of the device', () => {
    const calls: Call[] = [];
    const blas = new Blas(
      hostWith({ 'libblas.so.3': gemm, 'libblis.so.4': [...gemm, 'bli_thread_set_num_threads'] }, calls),
      true,
      3,
    );
    expect(blas.name).toBe('BLIS (libblis.so.4)');
    expect(calls).toEqual([{ name: 'bli_thread_set_num_threads', args: [3] }]);
  });

  it('is told, while it is loaded, that its threads shall sleep soon', () => {
    const told: Readonly<Record<string, string>>[] = [];
    const host: ThreadHost = {
      ...hostWith({ 'libopenblas.so.0': [...gemm, 'openblas_set_num_threads'] }, []),
      withVariables: (variables, load) => {
        told.push(variables);
        return load();
      },
    };
    expect(new Blas(host, true, 2).name).toBe('OpenBLAS (libopenblas.so.0)');
    expect(told.at(-1)).toEqual({ OPENBLAS_THREAD_TIMEOUT: '16' });
  });

  it('sees variables that nobody has set, and only while it is loaded', () => {
    const env: Record<string, string | undefined> = { A: 'mine' };
    expect(withVariables(env, { A: '1', B: '2' }, () => ({ ...env }))).toEqual({ A: 'mine', B: '2' });
    const fail = (): never => {
      throw new Error('not installed');
    };
    expect(() => withVariables(env, { C: '3' }, fail)).toThrow('not installed');
    expect(env).toEqual({ A: 'mine' });
  });

  it('gets leading dimensions of operands as they lie', () => {
    const calls: Call[] = [];
    const blas = new Blas(hostWith({ 'libopenblas.so.0': [...gemm, 'openblas_set_num_threads'] }, calls), true, 1);
    const [a, b, c] = [new Float32Array(1), new Float32Array(1), new Float32Array(1)];
    expect(blas.serves(product)).toBe(true);
    blas.run(product, a, b, c);
    blas.run({ ...product, type: 'f64', transposeA: false, transposeB: true }, a, b, c);
    expect(calls.slice(1).map((x) => [x.name, x.args.filter((v) => typeof v === 'number')])).toEqual([
      ['cblas_sgemm', [101, 112, 111, 100, 90, 80, 1, 100, 90, 0, 90]],
      ['cblas_dgemm', [101, 111, 112, 100, 90, 80, 1, 80, 80, 0, 90]],
    ]);
  });

  it('computes half of the product of a matrix and its own transpose', () => {
    const calls: Call[] = [];
    const half = ['cblas_ssyrk', 'cblas_dsyrk'];
    const blas = new Blas(
      hostWith({ 'libopenblas.so.0': [...gemm, ...half, 'openblas_set_num_threads'] }, calls),
      true,
      1,
    );
    const [a, c] = [new Float32Array(1), new Float32Array(1)];
    expect(blas.halves).toBe(true);
    blas.runHalf({ ...product, n: 100 }, a, c);
    blas.runHalf({ ...product, n: 100, type: 'f64', transposeA: false, transposeB: true }, a, c);
    expect(calls.slice(1).map((x) => [x.name, x.args.filter((v) => typeof v === 'number')])).toEqual([
      ['cblas_ssyrk', [101, 121, 112, 100, 80, 1, 100, 0, 100]],
      ['cblas_dsyrk', [101, 121, 111, 100, 80, 1, 80, 0, 100]],
    ]);
    const without = new Blas(hostWith({ 'libopenblas.so.0': [...gemm, 'openblas_set_num_threads'] }, []), true, 1);
    expect(without.halves).toBe(false);
  });

  it('is not used for many rows through a right operand of a kilobyte', () => {
    const libraries = { 'libopenblas.so.0': [...gemm, 'openblas_set_num_threads'] };
    const blas = new Blas(hostWith(libraries, []), true, 1);
    const tall = { ...product, m: 100_000, k: 16, n: 16 };
    expect(blas.serves({ ...tall, type: 'f32' })).toBe(false);
    expect(blas.serves({ ...tall, type: 'f32', n: 17 })).toBe(true);
    expect(blas.serves({ ...tall, type: 'f64' })).toBe(true);
    expect(blas.serves({ ...tall, type: 'f64', n: 8 })).toBe(false);
  });

  it('is not used for small products, nor where it is missing or not wanted', () => {
    const libraries = { 'libopenblas.so.0': [...gemm, 'openblas_set_num_threads'] };
    expect(new Blas(hostWith(libraries, []), true, 1).serves({ ...product, m: 8, n: 8 })).toBe(false);
    expect(new Blas(hostWith(libraries, []), false, 1).serves(product)).toBe(false);
    expect(new Blas(hostWith(libraries, []), false, 1).name).toBeNull();
    expect(new Blas(hostWith({}, []), true, 1).name).toBeNull();
    expect(new Blas({ parallelism: 1, spawn: () => null, require: null }, true, 1).name).toBeNull();
    const noKoffi: ThreadHost = {
      parallelism: 1,
      spawn: () => null,
      require: () => {
        throw new Error('not installed');
      },
    };
    expect(new Blas(noKoffi, true, 1).name).toBeNull();
  });

  it('can be given by its path', () => {
    const host = hostWith({ '/opt/mine.so': [...gemm, 'openblas_set_num_threads'] }, []);
    expect(new Blas(host, '/opt/mine.so', 1).name).toContain('/opt/mine.so');
  });

  it('agrees with the built-in kernel where one is installed, on shared and unshared memory', async (context) => {
    const found = new Blas(await openHost(), true, 1).name;
    if (!found) context.skip('no system BLAS on this machine');
    for (const threads of [1, 2]) {
      const [with_, without] = [await createCpuDevice({ threads }), await createCpuDevice({ threads, blas: false })];
      for (const type of ['f32', 'f64', 'f16'] as const) {
        for (const [transposeA, transposeB] of [
          [false, false],
          [true, false],
          [false, true],
          [true, true],
        ] as const) {
          const work: Routine = {
            kind: 'routine',
            op: 'matmul',
            name: 'matmul',
            type,
            batch: 2,
            batchA: 2,
            batchB: 1,
            m: 70,
            n: 65,
            k: 90,
            transposeA,
            transposeB,
            precision: 'exact',
            epilogue: null,
            estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
          };
          const inputs = [sample(type, 2 * 70 * 90, 1), sample(type, 90 * 65, 2)];
          const bytes = 2 * 70 * 65 * { f32: 4, f64: 8, f16: 2 }[type];
          expect(with_.prepare(work).source).toContain('cblas');
          expect(without.prepare(work).source).not.toContain('cblas');
          const [x, y] = [with_, without].map((d) => {
            const got = asType(type, runOn(d, work, inputs, [bytes])[0]!) as Float64Array;
            return type === 'f16' ? Float64Array.from(got, f16ToNumber) : got;
          }) as [Float64Array, Float64Array];
          const tolerance = { f32: 1e-3, f64: 1e-11, f16: 1e-3 }[type];
          // Sums of f16 are sums of f32 that are rounded at the end: to neighbours, where these lie on two sides of the middle.
          const step = type === 'f16' ? 2 ** -10 : 0;
          for (let i = 0; i < x.length; i++)
            if (!(Math.abs(x[i]! - y[i]!) <= tolerance + step * Math.abs(y[i]!)))
              expect(x[i], `element ${i}`).toBe(y[i]);
        }
      }
      for (const type of ['f32', 'f64'] as const)
        for (const transposeA of [false, true])
          for (const n of [64, 75, 97, 130]) checkOwnTranspose(with_, without, type, transposeA, n);
      expect(with_.caps.details.blas).toBe(found);
      expect(without.caps.details.blas).toBe('none');
      await with_.close();
      await without.close();
    }
  });
});
