import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  bytesOf,
  elementsOf,
  elementwise,
  makeKernel,
  runOn,
  sameBytes,
  sample,
} from '../../../../test/support/cpu.ts';
import { within } from '../../../../test/support/time.ts';
import type { DType } from '../../../base/dtype.ts';
import { DeviceLost, KernelError } from '../../../errors.ts';
import { Exprs } from '../../../kernel/expr.ts';
import type { Kernel, Routine } from '../../../kernel/kernel.ts';
import { type CpuDevice, type CpuOptions, createCpuDevice } from '../device.ts';
import type { ThreadHost } from '../host.ts';
import { CpuMemory } from '../memory.ts';
import { type Job, WorkerPool } from './pool.ts';

const opened: CpuDevice[] = [];
async function open(options: CpuOptions): Promise<CpuDevice> {
  const device = await createCpuDevice({ blas: false, ...options });
  opened.push(device);
  return device;
}
afterEach(async () => {
  for (const d of opened.splice(0)) await d.close();
});

const n = 400_000;
const chain = elementwise(n, ['f32', 'f32'], 'f32', (b, [x, y]) =>
  b.alu('add', b.alu('mul', x!, y!), b.alu('sqrt', b.alu('abs', x!))),
);
const estimate = { flops: 0, bytesRead: 0, bytesWritten: 0 };

function rowSums(type: DType, rows: number, columns: number): Kernel {
  const b = new Exprs();
  const at = b.alu('add', b.alu('mul', b.axis(0, rows), b.const('index', columns)), b.axis(1, columns));
  return makeKernel({
    space: [rows],
    reduced: [columns],
    inputs: [{ type, elements: rows * columns }],
    accumulators: [{ op: 'sum', type, value: b.load(type, 0, at) }],
    outputs: [{ type, value: b.acc(type, 0) }],
  });
}

const matmul: Routine = {
  kind: 'routine',
  op: 'matmul',
  name: 'matmul',
  type: 'f32',
  batch: 2,
  batchA: 2,
  batchB: 1,
  m: 131,
  n: 157,
  k: 300,
  transposeA: false,
  transposeB: true,
  precision: 'exact',
  epilogue: null,
  estimate,
};
const sort: Routine = {
  kind: 'routine',
  op: 'sort',
  name: 'sort',
  type: 'f32',
  rows: 200,
  columns: 300,
  descending: false,
  estimate,
};

/** Launches until the workers have started, so that a test of them tests something. */
async function warm(device: CpuDevice, workers: number): Promise<void> {
  const inputs = [sample('f32', n, 1), sample('f32', n, 2)];
  for (const end = performance.now() + within(5000); performance.now() < end; ) {
    runOn(device, chain, inputs, [n * 4]);
    if (device.workers!.ready === workers) return;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error('the workers did not start');
}

describe('worker threads', () => {
  it('give the same bits for any number of threads', async () => {
    const works: [Kernel | Routine, readonly Parameters<typeof sample>[], number[]][] = [
      [
        chain,
        [
          ['f32', n, 1],
          ['f32', n, 2],
        ],
        [n * 4],
      ],
      [rowSums('f32', 1, 1_000_003), [['f32', 1_000_003, 3]], [4]],
      [rowSums('f32', 500, 777), [['f32', 500 * 777, 4]], [2000]],
      [
        matmul,
        [
          ['f32', 2 * 131 * 300, 5],
          ['f32', 157 * 300, 6],
        ],
        [2 * 131 * 157 * 4],
      ],
      [sort, [['f32', 60_000, 7]], [240_000, 240_000]],
    ];
    const results: Uint8Array[][] = [];
    for (const threads of [1, 2, 4]) {
      const device = await open({ threads });
      if (threads > 1) await warm(device, threads - 1);
      results.push(
        works.flatMap(([work, inputs, outputs]) =>
          runOn(
            device,
            work,
            inputs.map((i) => sample(...i)),
            outputs,
          ),
        ),
      );
    }
    for (const other of results.slice(1)) {
      for (const [i, bytes] of other.entries()) expect(sameBytes(bytes, results[0]![i]!), `result ${i}`).toBe(true);
    }
  });

  it('start only when work is worth them, and never with one thread', async () => {
    const device = await open({ threads: 2 });
    runOn(
      device,
      elementwise(3000, ['f32'], 'f32', (b, [x]) => b.alu('neg', x!)),
      [sample('f32', 3000, 1)],
      [12_000],
    );
    expect(device.workers).toBeNull();
    const single = await open({ threads: 1 });
    runOn(single, chain, [sample('f32', n, 1), sample('f32', n, 2)], [n * 4]);
    expect(single.workers).toBeNull();
    expect(single.caps.details).toMatchObject({ threads: 1, shared: false });
  });

  it('take part in the work', async () => {
    const device = await open({ threads: 3 });
    await warm(device, 2);
    expect(device.workers!.size).toBe(2);
    expect(device.workers!.settled).toBe(true);
  });
});

describe('a worker that dies', () => {
  const inputs = [sample('f32', n, 1), sample('f32', n, 2)];
  const expected = async (): Promise<Uint8Array> => runOn(await open({ threads: 1 }), chain, inputs, [n * 4])[0]!;

  it('between calls is replaced', async () => {
    const device = await open({ threads: 2 });
    const want = await expected();
    await warm(device, 1);
    await device.workers!.terminateOne();
    expect(device.workers!.size).toBe(0);
    expect(sameBytes(runOn(device, chain, inputs, [n * 4])[0]!, want)).toBe(true);
    expect(device.workers!.size).toBe(1);
    await warm(device, 1);
  });

  it.each([
    ['by ending inside a chunk', 1],
    ['by a trap inside a chunk', 2],
    ['by not coming back from a chunk', 3],
  ] as const)('%s costs nothing but time', async (_, fault) => {
    const device = await open({ threads: 2, patience: 150 });
    const want = await expected();
    await warm(device, 1);
    device.workers!.injectFault(fault);
    // The calling thread may take all chunks itself; go on until the worker was hit.
    for (const end = performance.now() + within(3000); device.workers!.settled && performance.now() < end; ) {
      expect(sameBytes(runOn(device, chain, inputs, [n * 4])[0]!, want)).toBe(true);
    }
    expect(device.workers!.settled).toBe(false);
    // Memory that the lost worker might still write to is not given out again before it has ended.
    const held = device.memory().free;
    const buffer = device.allocate(1 << 20);
    device.release(buffer);
    expect(device.memory().free).toBe(held - (1 << 20));
    await vi.waitFor(() => expect(device.workers!.settled).toBe(true), { timeout: within(3000), interval: 10 });
    expect(device.memory().free).toBeGreaterThanOrEqual(held);
    await warm(device, 1);
    expect(sameBytes(runOn(device, chain, inputs, [n * 4])[0]!, want)).toBe(true);
  });

  it('and was only slow finds nothing to spoil when it comes back', async () => {
    // Threads that are ended go on for a while: here for as long as the test lasts.
    const { Worker } = await import('node:worker_threads');
    const ended: (() => Promise<number>)[] = [];
    const { terminate } = Worker.prototype;
    const spy = vi.spyOn(Worker.prototype, 'terminate').mockImplementation(function (
      this: InstanceType<typeof Worker>,
    ) {
      ended.push(() => terminate.call(this));
      return Promise.resolve(0);
    });
    try {
      const device = await open({ threads: 2, patience: 50 });
      await warm(device, 1);
      const values = sample('f32', 60_000, 7);
      const want = runOn(await open({ threads: 1 }), sort, [values], [240_000, 240_000]);
      const program = device.prepare(sort);
      const [input, ...sorted] = [240_000, 240_000, 240_000].map((bytes) => device.allocate(bytes));
      device.write(input!, bytesOf(values));
      device.workers!.injectFault(4);
      for (const end = performance.now() + within(3000); device.workers!.settled && performance.now() < end; )
        device.launch(program, [input!, ...sorted], []);
      expect(device.workers!.settled).toBe(false);
      expect(sorted.map((b, i) => sameBytes(device.readSync(b), want[i]!))).toEqual([true, true]);
      // What it was told when it began is overwritten by what others are told.
      const later = [inputs[0]!, inputs[1]!].map((x) => {
        const b = device.allocate(n * 4);
        device.write(b, bytesOf(x));
        return b;
      });
      const result = device.allocate(n * 4);
      device.launch(device.prepare(chain), [...later, result], []);
      device.workers!.injectFault(5);
      await new Promise((done) => setTimeout(done, 100));
      expect(sameBytes(device.readSync(result), await expected())).toBe(true);
      expect(later.map((b, i) => sameBytes(device.readSync(b), bytesOf(inputs[i]!)))).toEqual([true, true]);
      expect(sorted.map((b, i) => sameBytes(device.readSync(b), want[i]!))).toEqual([true, true]);
    } finally {
      spy.mockRestore();
      for (const end of ended) await end();
    }
  });

  it('in work that overwrites its input is a typed error, and the device goes on', async () => {
    const device = await open({ threads: 2, patience: 150 });
    const want = await expected();
    const double = elementwise(n, ['f32'], 'f32', (b, [x]) => b.alu('add', x!, x!), [0]);
    await warm(device, 1);
    const buffer = device.allocate(n * 4);
    device.write(buffer, bytesOf(elementsOf('f32', n, () => 0)));
    const program = device.prepare(double);
    device.workers!.injectFault(2);
    let error: unknown;
    for (const end = performance.now() + within(3000); !error && performance.now() < end; ) {
      try {
        device.launch(program, [buffer, buffer], []);
      } catch (e) {
        error = e;
      }
    }
    expect(error).toBeInstanceOf(DeviceLost);
    expect(error).toMatchObject({ code: 'WORKER_DIED' });
    expect(sameBytes(runOn(device, chain, inputs, [n * 4])[0]!, want)).toBe(true);
  });

  it('does not hide a kernel that traps everywhere', async () => {
    const device = await open({ threads: 2, patience: 150 });
    await warm(device, 1);
    // Reads far beyond the end of all memory.
    const b = new Exprs();
    const at = b.cast('index', b.load('i32', 0, b.axis(0, n)));
    const astray: Kernel = {
      kind: 'kernel',
      name: 'astray',
      space: [n],
      reduced: [],
      accumulators: [],
      outputs: [{ type: 'f32', value: b.load('f32', 1, at) }],
      inputs: [
        { type: 'i32', elements: n },
        { type: 'f32', elements: n },
      ],
      scalars: [],
      inPlace: [],
      estimate,
    };
    const bad = elementsOf('i32', n, () => 2 ** 29 + 2 ** 28);
    expect(() => runOn(device, astray, [bad, sample('f32', n, 2)], [n * 4])).toThrow(KernelError);
  });
});

describe('a platform that has no threads to give', () => {
  const job = (calls: [number, number][]): Job => ({
    code: 1,
    codeAddress: 0,
    codeBytes: 0,
    run: (_, begin, end) => {
      calls.push([begin, end]);
    },
    args: 0,
    items: 10,
    chunkItems: 4,
    helpers: 1,
    chunkMs: 1,
  });
  const none = async (): Promise<void> => {};
  it.each([
    [
      'throws',
      () => () => {
        throw new Error('refused');
      },
    ],
    ['says so', () => () => null],
    [
      'starts workers that end at once',
      () => (_: string, __: unknown, onExit: () => void) => {
        queueMicrotask(onExit);
        return { terminate: none };
      },
    ],
  ] as const)('%s: the calling thread does the work, and starting is given up', async (_, make) => {
    let tries = 0;
    const spawn = make() as ThreadHost['spawn'];
    const host: ThreadHost = {
      parallelism: 2,
      require: null,
      spawn: (...args) => {
        tries++;
        return spawn(...args);
      },
    };
    const pool = new WorkerPool(host, new CpuMemory(1 << 20, true), 1, 1000, () => {});
    for (let i = 0; i < 20; i++) {
      const calls: [number, number][] = [];
      expect(pool.run(job(calls))).toBe(true);
      expect(calls).toEqual([
        [0, 4],
        [4, 8],
        [8, 10],
      ]);
      await none();
    }
    expect(tries).toBe(5);
    expect(pool.size).toBe(0);
    await pool.close();
  });
});

describe('trimming', () => {
  const inputs = [sample('f32', n, 1), sample('f32', n, 2)];

  it('replaces the memory once nothing is left in it, and everything goes on working', async () => {
    const device = await open({ threads: 2 });
    await warm(device, 1);
    const want = runOn(device, chain, inputs, [n * 4])[0]!;
    const pool = device.workers;
    device.trim();
    expect(device.workers).toBeNull();
    expect(device.memory().free).toBe(device.memory().total);
    expect(sameBytes(runOn(device, chain, inputs, [n * 4])[0]!, want)).toBe(true);
    expect(device.workers).not.toBe(pool);
    await warm(device, 1);
  });

  it('keeps what is in use', async () => {
    const device = await open({ threads: 2 });
    await warm(device, 1);
    const want = runOn(device, chain, inputs, [n * 4])[0]!;
    const kept = device.allocate(n * 4);
    device.write(kept, bytesOf(inputs[0]!));
    device.trim();
    expect(device.workers).not.toBeNull();
    expect(sameBytes(device.readSync(kept), bytesOf(inputs[0]!))).toBe(true);
    expect(sameBytes(runOn(device, chain, inputs, [n * 4])[0]!, want)).toBe(true);
  });
});
