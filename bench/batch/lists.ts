// Lists beside loops of single calls, on one device: a list must never be the slower way, whatever its items are.
//
// Both sides by lot, in many short rounds; of each side the time that a fifth of its rounds stay within: what else the machine does
// meanwhile is in the others. Above 1 the list is faster.

import { byteSize, dtypeInfo } from '../../src/base/dtype.ts';
import { batchElementwise, batchMatmul, batchXor, batchXorWithNewKeys } from '../../src/batch/index.ts';
import { createRuntime, type DeviceKind, type Runtime, type Tensor, type TypedArray } from '../../src/index.ts';
import { random } from '../../test/support/cpu.ts';
import { type Row, verdict } from '../compute/report.ts';

type Name = 'f32' | 'f64' | 'i32' | 'u32' | 'i64' | 'u64' | 'u8';

const itemBytes = [4, 64, 1 << 10, 10 << 10, 40 << 10, 256 << 10, 4 << 20, 16 << 20];
const counts = [1, 2, 10, 100, 1000, 10_000];

export interface ListsOptions {
  readonly device: DeviceKind;
  readonly dtypes: readonly Name[];
  /** Of a list, its operands and results. */
  readonly mostBytes: number;
  readonly rounds: number;
  readonly time: 'wall' | 'cpu';
  /** Cases whose name has this in it. Default: all. */
  readonly only?: string | undefined;
  /** Sizes of items. Default: many. */
  readonly bytes?: readonly number[] | undefined;
  /** Items of a list. Default: from one to ten thousand. */
  readonly counts?: readonly number[] | undefined;
  /** Before their code is compiled, as far as so few calls leave it so. */
  readonly cold: boolean;
}

interface Case {
  readonly list: () => Promise<unknown>;
  readonly loop: () => Promise<unknown>;
  free(): void;
}

type Make = (rt: Runtime, dtype: Name, bytes: number, count: number) => Case | null;

function items(dtype: Name, bytes: number, count: number, from: number): TypedArray[] {
  const { storage, bytes: size } = dtypeInfo[dtype];
  const length = Math.max(1, Math.floor(bytes / size));
  const big = dtype === 'i64' || dtype === 'u64';
  return Array.from({ length: count }, (_, i) => {
    const array = new storage(new ArrayBuffer(length * size));
    for (let k = 0; k < length; k++)
      (array as unknown as (number | bigint)[])[k] = big ? BigInt((i + k + from) % 97) : (i + k + from) % 97;
    return array;
  });
}

export const free = (list: Iterable<{ dispose(): void }>): void => {
  for (const t of list) t.dispose();
};
const none = (): void => {};
const words = (x: TypedArray): TypedArray =>
  x.byteLength % 4 === 0 ? new Uint32Array(x.buffer, x.byteOffset, x.byteLength / 4) : x;

/** What a list gives: all results. A loop that drops them would find their memory again. */
export async function xorInTurn(
  rt: Runtime,
  data: readonly TypedArray[],
  keys: readonly TypedArray[],
): Promise<readonly unknown[]> {
  const made: unknown[] = [];
  for (let i = 0; i < data.length; i++) {
    const [x, k] = [rt.tensor(words(data[i]!)), rt.tensor(words(keys[i]!))];
    const y = x.bitwiseXor(k);
    made.push(await y.data());
    free([x, k, y]);
  }
  return made;
}

const side = (bytes: number, dtype: Name): number => Math.max(1, Math.floor(Math.sqrt(bytes / byteSize(dtype))));

/** Each operation on lists: the list, and what one writes without it. */
export const cases: Readonly<Record<string, Make>> = {
  'xor of arrays': (rt, dtype, bytes, count) => {
    const [data, keys] = [items(dtype, bytes, count, 0), items(dtype, bytes, count, 5)];
    return {
      list: () => batchXor(data, keys, { runtime: rt }),
      loop: () => xorInTurn(rt, data, keys),
      free: none,
    };
  },
  'xor of tensors': (rt, dtype, bytes, count) => {
    if (dtype === 'f32' || dtype === 'f64') return null;
    const up = (list: readonly TypedArray[]): Tensor[] => list.map((x) => rt.tensor(x) as Tensor);
    const [data, keys] = [up(items(dtype, bytes, count, 0)), up(items(dtype, bytes, count, 5))];
    return {
      list: async () => free(await batchXor(data, keys, { runtime: rt })),
      loop: async () => {
        const made = data.map((x, i) => x.bitwiseXor(keys[i]!).compute());
        await rt.flush();
        free(made);
      },
      free: () => free([...data, ...keys]),
    };
  },
  'xor with new keys': (rt, dtype, bytes, count) => {
    const data = items(dtype, bytes, count, 0);
    return {
      list: () => batchXorWithNewKeys(data, { runtime: rt }),
      loop: async () => {
        const keys = data.map((x) => {
          const key = new (x.constructor as new (n: number) => TypedArray)(x.length);
          const raw = new Uint8Array(key.buffer as ArrayBuffer);
          for (let at = 0; at < raw.length; at += 65_536) crypto.getRandomValues(raw.subarray(at, at + 65_536));
          return key;
        });
        return [await xorInTurn(rt, data, keys), keys];
      },
      free: none,
    };
  },
  'squares of arrays': (rt, dtype, bytes, count) => {
    const data = items(dtype, bytes, count, 0);
    return {
      list: () => batchElementwise(data, 'square', undefined, { runtime: rt }),
      loop: async () => {
        const made: unknown[] = [];
        for (const x of data) {
          const t = rt.tensor(x);
          const y = t.mul(t);
          made.push(await y.data());
          free([t, y]);
        }
        return made;
      },
      free: none,
    };
  },
  'squares of tensors': (rt, dtype, bytes, count) => {
    const data = items(dtype, bytes, count, 0).map((x) => rt.tensor(x) as Tensor);
    return {
      list: async () => free(await batchElementwise(data, 'square', undefined, { runtime: rt })),
      loop: async () => {
        const made = data.map((x) => x.mul(x).compute());
        await rt.flush();
        free(made);
      },
      free: () => free(data),
    };
  },
  'products of arrays': (rt, dtype, bytes, count) => {
    if (bytes > 256 << 10) return null;
    const n = side(bytes, dtype);
    const size = n * n * byteSize(dtype);
    const [a, b] = [items(dtype, size, count, 0), items(dtype, size, count, 5)];
    return {
      list: () => batchMatmul(a, b, { runtime: rt, shapes: [[n, n, n]] }),
      loop: async () => {
        const made: unknown[] = [];
        for (let i = 0; i < count; i++) {
          const [x, y] = [rt.tensor(a[i]!, [n, n]), rt.tensor(b[i]!, [n, n])];
          const z = x.matmul(y as Tensor);
          made.push(await z.data());
          free([x, y, z]);
        }
        return made;
      },
      free: none,
    };
  },
  'products of tensors': (rt, dtype, bytes, count) => {
    if (bytes > 256 << 10) return null;
    const n = side(bytes, dtype);
    const size = n * n * byteSize(dtype);
    const up = (from: number): Tensor[] => items(dtype, size, count, from).map((x) => rt.tensor(x, [n, n]) as Tensor);
    const [a, b] = [up(0), up(5)];
    return {
      list: async () => free(await batchMatmul(a, b, { runtime: rt })),
      loop: async () => {
        const made = a.map((x, i) => x.matmul(b[i]!).compute());
        await rt.flush();
        free(made);
      },
      free: () => free([...a, ...b]),
    };
  },
};

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

/** Milliseconds of this process's CPU time: others that run on a busy machine are not in it. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

async function times(work: () => Promise<unknown>, calls: number, now: () => number): Promise<number> {
  const start = now();
  for (let i = 0; i < calls; i++) await work();
  return (now() - start) / calls;
}

const low = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[Math.floor(list.length / 5)]!;

/**
 * Both sides on small items until their code is compiled: of large items there are too few calls for that, and a list has more code than
 * a loop. `--cold` leaves it out.
 */
async function compiled(rt: Runtime, make: Make, dtype: Name): Promise<void> {
  for (const count of [1, 2, 10]) {
    const one = make(rt, dtype, 64, count);
    if (!one) continue;
    for (const work of [one.list, one.loop]) for (let i = 0; i < 10_000; i++) await work();
    one.free();
  }
}

/** A round takes about so many ms. */
const roundMs = 1.5;

/** The loop's time over the list's, and both in ms. */
async function ratioOf({ list, loop }: Case, options: ListsOptions): Promise<readonly [number, number, number]> {
  const now = options.time === 'cpu' ? cpuMs : () => performance.now();
  // Compiled code is in place after so many calls of both.
  for (const work of [list, loop]) for (const end = now() + 40; now() < end; ) await work();
  const calls = Math.max(1, Math.min(2000, Math.floor(roundMs / Math.max(0.001, await times(loop, 3, now)))));
  const [lists, loops]: [number[], number[]] = [[], []];
  const draw = random(options.rounds);
  for (let round = 0; round < options.rounds; round++) {
    // Whoever is second finds the other's memory warm, and what is thrown away is collected every so many rounds: by lot.
    for (const side of draw() < 0.5 ? [list, loop] : [loop, list])
      (side === list ? lists : loops).push(await times(side, calls, now));
  }
  const [listMs, loopMs] = [low(lists), low(loops)];
  return [loopMs / listMs, listMs, loopMs];
}

/** What that may be off on a busy machine. */
const noise = 0.95;
/** What a list may cost beyond its items, in ms: it is checked, counted and reported. */
const callMs = 0.005;
const itemMs = 0.0002;

/** The loop's time over the list's without that. */
const fair = (count: number, listMs: number, loopMs: number): boolean =>
  loopMs >= noise * (listMs - callMs - count * itemMs);

export async function lists(options: ListsOptions): Promise<Row[]> {
  const rt = await createRuntime({ devices: [options.device], routing: { mode: 'off' } });
  const rows: Row[] = [];
  for (const [name, make] of Object.entries(cases)) {
    if (options.only && !name.includes(options.only)) continue;
    for (const dtype of options.dtypes) {
      const found: { readonly bytes: number; readonly count: number; readonly ratio: number; readonly met: boolean }[] =
        [];
      if (!options.cold) await compiled(rt, make, dtype);
      for (const bytes of options.bytes ?? itemBytes) {
        for (const count of options.counts ?? counts) {
          if (3 * bytes * count > options.mostBytes) continue;
          const one = make(rt, dtype, bytes, count);
          if (!one) continue;
          const [ratio, listMs, loopMs] = await ratioOf(one, options);
          const met = fair(count, listMs, loopMs);
          found.push({ bytes, count, ratio, met });
          console.log(
            `${name} ${dtype} ${count} × ${bytes} B: list ${listMs.toFixed(4)} ms, loop ${loopMs.toFixed(4)} ms, ${ratio.toFixed(2)} ×${met ? '' : '  SLOWER'}`,
          );
          one.free();
        }
      }
      if (found.length === 0) continue;
      const worst = found.reduce((w, f) => (f.ratio < w.ratio ? f : w));
      rows.push({
        id: 'lists',
        what: `${options.device}: ${name} of ${dtype}, ${found.length} sizes`,
        figures: `median ${median(found.map((f) => f.ratio)).toFixed(2)} ×, least ${worst.ratio.toFixed(2)} × (${worst.count} × ${worst.bytes} B)`,
        limit: 'as fast as a loop, beyond 5 µs a list and 0.2 µs an item',
        verdict: verdict(found.every((f) => f.met)),
        data: { found },
      });
    }
  }
  await rt.close();
  return rows;
}
