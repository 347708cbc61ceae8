// Whether a device keeps the contract: a list of checks that any device must pass, each against the reference device.
//
// Every check runs through a runtime, as users' work does, or on the device itself where the contract says more than that. What
// a device does not claim (a dtype, a routine, `record`, `readSync`) is not asked of it, and the result says so.

import { type DType, isFloat } from '../base/dtype.ts';
import type { Device } from '../devices/device.ts';
import { DTypeError, OutOfMemory } from '../errors.ts';
import { selfCheck } from '../governor/recovery/self-check.ts';
import type { RoutineOp } from '../kernel/kernel.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { createRuntime } from './create.ts';
import type { Runtime } from './runtime.ts';

export interface ConformanceResult {
  readonly check: string;
  readonly outcome: 'passed' | 'failed' | 'not claimed';
  /** What was wrong, or what is not claimed. */
  readonly detail: string;
}

/** Null if all is well, else what is wrong. */
type Verdict = string | null | Promise<string | null>;

/** A check of the device itself. */
interface DeviceCheck {
  readonly name: string;
  run(device: Device): Verdict;
  /** What the device lacks for it. */
  lacks?(device: Device): string | null;
}

const pattern = (n: number): Uint8Array => new Uint8Array(n).map((_, i) => (i * 31 + 7) & 255);

const differ = (got: Uint8Array, want: Uint8Array): string | null => {
  if (got.length !== want.length) return `${got.length} bytes came back of ${want.length}`;
  const at = want.findIndex((b, i) => got[i] !== b);
  return at < 0 ? null : `byte ${at} is ${got[at]}, not ${want[at]}`;
};

/** Uses buffers and gives them back whatever happens. */
async function using(
  device: Device,
  sizes: readonly number[],
  use: (buffers: readonly ReturnType<Device['allocate']>[]) => Verdict,
) {
  const buffers = sizes.map((bytes) => device.allocate(bytes));
  try {
    return await use(buffers);
  } finally {
    for (const b of buffers) if (!b.collected) device.release(b);
  }
}

const deviceChecks: readonly DeviceCheck[] = [
  { name: 'computes exp', run: (d) => selfCheck(d) },
  ...[0, 1, 3, 4, 100, 65_537].map(
    (n): DeviceCheck => ({
      name: `brings ${n} bytes up and back`,
      run: (d) =>
        using(d, [n], async ([b]) => {
          const source = pattern(n);
          const copy = source.slice();
          d.write(b!, source);
          // The caller may change the bytes at once.
          source.fill(0);
          return differ(await d.read(b!), copy);
        }),
    }),
  ),
  {
    name: 'writes and reads parts of a buffer',
    run: (d) =>
      using(d, [64], async ([b]) => {
        d.write(b!, new Uint8Array(64));
        d.write(b!, pattern(8), 16);
        return differ(await d.read(b!, 12, 16), new Uint8Array([0, 0, 0, 0, ...pattern(8), 0, 0, 0, 0]));
      }),
  },
  {
    name: 'reads synchronously',
    lacks: (d) => (d.caps.syncRead ? null : 'readSync'),
    run: (d) =>
      using(d, [100], ([b]) => {
        d.write(b!, pattern(100));
        return differ(d.readSync!(b!, 10, 50), pattern(100).slice(10, 60));
      }),
  },
  {
    name: 'reaches a mark after the work before it',
    run: async (d) => {
      const mark = d.mark();
      await mark.whenDone();
      return mark.done() ? null : 'whenDone resolved, and done() is false';
    },
  },
  {
    name: 'refuses more memory than there is with OutOfMemory',
    run: (d) => {
      const { total } = d.memory();
      const bytes = Number.isFinite(total) ? total * 2 : 2 ** 52;
      try {
        d.allocate(bytes);
      } catch (e) {
        return e instanceof OutOfMemory ? null : `it throws ${e instanceof Error ? e.name : String(e)}`;
      }
      return `it gives ${bytes} bytes of ${total}`;
    },
    lacks: (d) => (Number.isFinite(d.memory().total) ? null : 'a limit of its memory'),
  },
  {
    name: 'tells memory that adds up',
    run: (d) => {
      const { total, free } = d.memory();
      return total > 0 && free >= 0 && free <= total ? null : `${free} bytes are free of ${total}`;
    },
  },
  {
    name: 'gives memory back with trim',
    run: (d) => {
      d.trim();
      return null;
    },
  },
  {
    name: 'measures spans on a clock that can be compared',
    lacks: (d) => (d.spans && d.takeSpans && d.clock ? null : 'spans'),
    run: async (d) => {
      d.spans!(true);
      try {
        const { errorUs } = await d.clock!();
        return errorUs >= 0 ? null : `the clocks are known to ${errorUs} µs`;
      } finally {
        d.spans!(false);
      }
    },
  },
];

/** A program, run on the device and on the reference. */
interface ProgramCheck {
  readonly name: string;
  readonly routine?: RoutineOp;
  readonly floats?: boolean;
  run(rt: Runtime, x: Tensor): Tensor | readonly Tensor[];
}

const programChecks: readonly ProgramCheck[] = [
  { name: 'elementwise work', run: (_, x) => x.mul(x).add(x).sub(3) },
  { name: 'comparison and choice', run: (rt, x) => rt.where(x.greater(2), x, x.mul(2)) },
  {
    name: 'movement',
    run: (_, x) =>
      x
        .reshape([4, 6])
        .transpose()
        .roll(1, 0)
        .slice([[1, 5]]),
  },
  { name: 'broadcasting', run: (_, x) => x.reshape([24, 1]).add(x.slice([[0, 5]])) },
  { name: 'several results', run: (_, x) => [x.add(1), x.mul(2)] },
  {
    name: 'reductions',
    run: (_, x) => [x.sum(), x.reshape([4, 6]).max({ axis: 1 }), x.reshape([4, 6]).min({ axis: 0 }), x.argmax()],
  },
  { name: 'functions', floats: true, run: (_, x) => [x.tanh(), x.exp(), x.sqrt(), x.sin(), x.add(1).log()] },
  { name: 'matmul', routine: 'matmul', run: (_, x) => x.reshape([4, 6]).matmul(x.reshape([6, 4])) },
  { name: 'sort', routine: 'sort', run: (_, x) => x.mul(x).sub(x.mul(5)).sort() },
  { name: 'scan', routine: 'scan', run: (_, x) => x.cumsum(0) },
];

/** The dtypes whose results are compared. */
const compared: readonly DType[] = ['f32', 'f64', 'f16', 'i32', 'u32', 'i64', 'u8'];

/** How far results may be from the reference, relative: sums and functions are rounded on the way. */
const tolerance: Readonly<Partial<Record<DType, number>>> = { f32: 1e-5, f64: 1e-12, f16: 4e-3, bf16: 3e-2 };

/**
 * Runs the checks on a device, which stays open. Nothing is thrown: every failure is a line of the result.
 * @example
 * ```ts
 * import { checkConformance, createCpuDevice } from 'gpuforge/devices';
 * const device = await createCpuDevice();
 * const results = await checkConformance(device);
 * console.log(results.filter((r) => r.outcome === 'failed')); // → []
 * await device.close();
 * ```
 */
export async function checkConformance(device: Device): Promise<readonly ConformanceResult[]> {
  const results: ConformanceResult[] = [];
  const note = async (check: string, lacks: string | null, run: () => Verdict): Promise<void> => {
    if (lacks !== null) {
      results.push({ check, outcome: 'not claimed', detail: lacks });
      return;
    }
    let wrong: string | null;
    try {
      wrong = await run();
    } catch (e) {
      if (e instanceof DTypeError && e.code === 'DTYPE_NOT_ON_DEVICE') {
        results.push({ check, outcome: 'not claimed', detail: e.message.split('\n')[0]! });
        return;
      }
      wrong = e instanceof Error ? `${e.name}: ${e.message}` : String(e);
    }
    results.push({ check, outcome: wrong === null ? 'passed' : 'failed', detail: wrong ?? '' });
  };
  for (const c of deviceChecks) await note(c.name, c.lacks?.(device) ?? null, () => c.run(device));
  let rt: Runtime | null = null;
  await note('opens in a runtime', null, async () => {
    rt = await createRuntime({ devices: [kept(device)], routing: { mode: 'off' } });
    return null;
  });
  if (rt !== null) await programs(rt, device, note);
  return results;
}

async function programs(
  rt: Runtime,
  device: Device,
  note: (check: string, lacks: string | null, run: () => Verdict) => Promise<void>,
): Promise<void> {
  await using on = rt;
  await using reference = await createRuntime({ devices: ['reference'] });
  for (const dtype of compared) {
    for (const { name, routine, floats, run } of programChecks) {
      if (floats && !isFloat(dtype)) continue;
      const lacks = !device.caps.dtypes.has(dtype)
        ? dtype
        : routine !== undefined && !device.caps.routines.has(routine)
          ? routine
          : null;
      await note(`${name} in ${dtype}`, lacks, async () => {
        const [got, want] = await Promise.all([on, reference].map((r) => results(r, dtype, run)));
        return compare(got!, want!, tolerance[dtype] ?? 0);
      });
    }
  }
  await note('replays a compiled function with other inputs', device.record ? null : 'record', async () => {
    const f = on.compile((x: Tensor) => x.sub(x.mean()).mul(2).sum());
    for (const values of [
      [1, 2, 3],
      [4, 8, 9],
      [1, 2, 3],
    ]) {
      const x = on.tensor(values);
      const wanted = values.reduce((s, v) => s + 2 * (v - values.reduce((a, b) => a + b) / 3), 0);
      const [got] = await f(x).data();
      if (Math.abs(Number(got) - wanted) > 1e-4) return `${values} gives ${got}, not ${wanted}`;
    }
    return null;
  });
}

/** The same small values in every dtype. */
const values = Array.from({ length: 24 }, (_, i) => (i * 7) % 11);

async function results(rt: Runtime, dtype: DType, run: ProgramCheck['run']): Promise<number[][]> {
  const x = rt.tensor(values, [24], { dtype: 'i32' }).cast(dtype);
  const made = run(rt, x);
  const list = Array.isArray(made) ? (made as readonly Tensor[]) : [made as Tensor];
  return Promise.all(list.map(async (t) => Array.from(await t.data(), Number)));
}

function compare(got: readonly number[][], want: readonly number[][], within: number): string | null {
  for (const [r, expected] of want.entries()) {
    for (const [i, w] of expected.entries()) {
      const g = got[r]![i]!;
      if (Object.is(g, w) || Math.abs(g - w) <= within * Math.max(1, Math.abs(w))) continue;
      return `result ${r}, element ${i} is ${g}, not ${w}`;
    }
    if (got[r]!.length !== expected.length) return `result ${r} has ${got[r]!.length} elements, not ${expected.length}`;
  }
  return null;
}

/** The device, without its end: closing the runtime of a check leaves it open. */
function kept(device: Device): Device {
  return new Proxy(device, {
    get: (target, key) => {
      if (key === 'close') return async () => {};
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
