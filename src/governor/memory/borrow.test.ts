import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countWalks, type Grid, verticesOf } from '../../../test/support/memory-walks.ts';
import { type CpuDevice, createCpuDevice } from '../../devices/cpu/device.ts';
import type { Device, DeviceBuffer } from '../../devices/device.ts';
import { DeviceLost } from '../../errors.ts';
import { type Borrowed, borrow, type Lendable, type ReversibleStep } from './borrow.ts';
import { digests } from './digest.ts';
import { BorrowViolation, BufferLent, refuseLent } from './errors.ts';

let device: CpuDevice;
beforeAll(async () => {
  device = await createCpuDevice({ threads: 1 });
});
afterAll(async () => {
  await device.close();
});

/** A buffer with an owner who keeps to the rules. */
class Owned implements Lendable {
  readonly name: string;
  readonly buffer: DeviceBuffer;
  state: 'own' | 'lent' | 'corrupt' = 'own';
  readonly device = device;

  constructor(bytes: Uint8Array, name = `u8 [${bytes.length}]`) {
    this.name = name;
    this.buffer = device.allocate(bytes.length);
    device.write(this.buffer, bytes);
  }

  get bytes(): number {
    return this.buffer.bytes;
  }

  read(): Uint8Array {
    if (this.state !== 'own') throw refuseLent(this.name, this.state, 'read');
    return device.readSync(this.buffer);
  }

  lend(): void {
    if (this.state !== 'own') throw refuseLent(this.name, this.state, 'borrow');
    this.state = 'lent';
  }

  takeBack(corrupt: boolean): void {
    this.state = corrupt ? 'corrupt' : 'own';
  }
}

/** The device, with something about it changed. */
function altered(change: Partial<Device>): Device {
  const names = ['allocate', 'release', 'read', 'write', 'prepare', 'launch'] as const;
  const own = Object.fromEntries(names.map((name) => [name, (device[name] as () => unknown).bind(device)]));
  return { ...own, id: device.id, caps: device.caps, ...change } as unknown as Device;
}

const random = (n: number, seed: number): Uint8Array => {
  let x = seed >>> 0 || 1;
  return new Uint8Array(n).map(() => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return x;
  });
};

/** Deep equality of megabytes is slow. */
const same = (a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean =>
  a.length === b.length && a.every((x, i) => Buffer.compare(x, b[i]!) === 0);

const contents: readonly [string, (n: number) => Uint8Array][] = [
  ['random', (n) => random(n, 7)],
  ['all zero', (n) => new Uint8Array(n)],
  ['all ones', (n) => new Uint8Array(n).fill(255)],
  ['text', (n) => new TextEncoder().encode('the quick brown fox '.repeat(n / 20 + 1)).slice(0, n)],
];

function arrays(grid: Grid, length: number, type: 'u32' | 'u64', fill = contents[0]![1]): Owned[] {
  const bytes = verticesOf(grid) * (type === 'u32' ? 4 : 8);
  return Array.from({ length: length + 1 }, (_, i) => new Owned(fill(bytes).map((v) => (i % 2 ? v : v ^ (i & 255)))));
}

describe('walks counted in borrowed memory', () => {
  // Dimensions, size, from, to, length, walks modulo 2^64.
  const oracles: [number, number, number, number, number, bigint][] = [
    [2, 4, 0, 15, 6, 20n],
    [2, 6, 0, 35, 10, 252n],
    [3, 5, 0, 124, 12, 34_650n],
    [4, 5, 0, 624, 16, 63_063_000n],
    [4, 10, 0, 9999, 36, 3_006_008_192_555_768_384n],
    [2, 4, 0, 0, 0, 1n],
    [2, 4, 0, 0, 2, 2n],
    [2, 4, 0, 0, 4, 10n],
    [2, 4, 5, 5, 4, 34n],
    [2, 4, 0, 15, 8, 336n],
    [2, 4, 0, 1, 4, 0n],
    [3, 5, 0, 0, 4, 24n],
    [3, 5, 0, 124, 14, 2_522_520n],
  ];
  it.each(oracles)('%d dimensions of %d, %d → %d in %d steps: %s', async (dimensions, size, s, t, length, walks) => {
    const grid = { dimensions, size };
    for (const type of ['u64', 'u32'] as const) {
      const owned = arrays(grid, length, type);
      const before = owned.map((o) => o.read());
      const { value, report } = await borrow(owned, countWalks(device, grid, s, t, length, type));
      expect(value).toBe(type === 'u64' ? walks : BigInt.asUintN(32, walks));
      expect(
        same(
          owned.map((o) => o.read()),
          before,
        ),
      ).toBe(true);
      expect(report).toMatchObject({
        buffers: length + 1,
        bytes: (length + 1) * verticesOf(grid) * (type === 'u64' ? 8 : 4),
        steps: 4 * length + 2,
        cleanBytes: 8,
        plainMs: null,
      });
      for (const o of owned) device.release(o.buffer);
    }
  });

  it('borrows 2,960,000 bytes for (4, 10), and gives 1,295,211,072 modulo 2^32', async () => {
    const grid = { dimensions: 4, size: 10 };
    const owned = arrays(grid, 36, 'u64');
    let inUse = 1000;
    const parts = { inUse: () => inUse, now: () => inUse++ };
    const { value, report } = await borrow(
      owned,
      countWalks(device, grid, 0, 9999, 36, 'u64'),
      { plain: () => 0 },
      parts,
    );
    expect(BigInt.asUintN(32, value)).toBe(1_295_211_072n);
    expect(report.bytes).toBe(2_960_000);
    expect(report.plainMs).not.toBeNull();
    for (const o of owned) device.release(o.buffer);
  });

  it.each(contents)('gives back %s, by hash', async (_, fill) => {
    const grid = { dimensions: 3, size: 5 };
    const owned = arrays(grid, 12, 'u64', fill);
    const hashes = () => owned.map((o) => createHash('sha256').update(o.read()).digest('hex'));
    const before = hashes();
    const { value } = await borrow(owned, countWalks(device, grid, 0, 124, 12, 'u64'));
    expect(value).toBe(34_650n);
    expect(hashes()).toEqual(before);
  });

  it('undoes its steps wherever it is stopped, by an error or by a signal', async () => {
    const grid = { dimensions: 2, size: 4 };
    const length = 6;
    const owned = arrays(grid, length, 'u64');
    const before = owned.map((o) => o.read());
    const program = countWalks(device, grid, 0, 15, length, 'u64');
    const total = 4 * length + 2;
    for (let stop = 0; stop <= total; stop++) {
      const abort = new AbortController();
      const stopped = (how: 'throw' | 'step' | 'abort') =>
        async function* (r: readonly Borrowed[], clean: (bytes: number) => void): AsyncGenerator<ReversibleStep> {
          let n = 0;
          const inner = program(r, clean);
          for (;;) {
            if (n++ === stop) {
              if (how === 'throw') throw new Error('stopped');
              if (how === 'step') yield { do: () => Promise.reject(new Error('stopped')), undo: () => {} };
              abort.abort(new Error('stopped'));
            }
            const next = await inner.next();
            if (next.done) return;
            yield next.value;
          }
        };
      for (const how of ['throw', 'step', 'abort'] as const) {
        const run = borrow(owned, stopped(how), how === 'abort' ? { signal: abort.signal } : {});
        // After the last step there is nothing left that an abort could stop.
        if (how === 'abort' && stop === total) await run;
        else if (how === 'abort')
          await expect(run).rejects.toMatchObject({ code: 'ABORTED', cause: { message: 'stopped' } });
        else await expect(run).rejects.toThrow('stopped');
        expect(owned.every((o) => o.state === 'own')).toBe(true);
        expect(
          same(
            owned.map((o) => o.read()),
            before,
          ),
        ).toBe(true);
      }
    }
  });

  it('can leave the undoing to the guard', async () => {
    const grid = { dimensions: 2, size: 4 };
    const owned = arrays(grid, 6, 'u32');
    const before = owned.map((o) => o.read());
    const whole = countWalks(device, grid, 0, 15, 6, 'u32');
    const half = async function* (r: readonly Borrowed[], clean: (bytes: number) => void) {
      const inner = whole(r, clean);
      // Up, the one, down: what the guard undoes is the other half.
      for (let i = 0; i < 13; i++) yield (await inner.next()).value as ReversibleStep;
      return device.readSync(r[6]!.buffer, 15 * 4, 4);
    };
    const { value } = await borrow(owned, half, { restore: 'guard' });
    const word = (b: Uint8Array): number => new DataView(b.buffer, b.byteOffset).getUint32(0, true);
    expect((word(value) - word(before[6]!.slice(60))) >>> 0).toBe(20);
    expect(
      same(
        owned.map((o) => o.read()),
        before,
      ),
    ).toBe(true);
  });
});

/** XORs a byte into one place: its own inverse. */
const flip = (i: number, at: number, mask = 1): ReversibleStep => {
  const run = async (r: readonly Borrowed[]): Promise<void> => {
    const { device: d, buffer } = r[i]!;
    d.write(buffer, new Uint8Array([(await d.read(buffer, at, 1))[0]! ^ mask]), at);
  };
  return { name: `flip ${at}`, do: run, undo: run };
};

describe('the guard', () => {
  it('runs plain lists of steps', async () => {
    const owned = new Owned(random(9000, 3));
    const before = owned.read();
    const { report } = await borrow([owned], [flip(0, 1), flip(0, 8000), flip(0, 1), flip(0, 8000)]);
    expect([owned.read(), report.steps]).toEqual([before, 4]);
  });

  it('refuses readers and a second borrower while memory is lent', async () => {
    const owned = new Owned(random(5000, 4));
    const seen: unknown[] = [];
    await borrow(
      [owned],
      [
        flip(0, 3),
        {
          do: async () => {
            const acts: (() => unknown)[] = [() => owned.read(), () => borrow([owned], [])];
            for (const act of acts)
              seen.push(
                await Promise.resolve()
                  .then(act)
                  .catch((e: unknown) => e),
              );
          },
          undo: () => {},
        },
        flip(0, 3),
      ],
    );
    expect(seen.length).toBe(2);
    for (const error of seen) expect(error).toBeInstanceOf(BufferLent);
    expect(owned.state).toBe('own');
  });

  it('names and marks what came back changed, and only that', async () => {
    const [good, bad] = [new Owned(random(5000, 5)), new Owned(random(5000, 6), 'f32 [1250]')];
    const run = borrow([good, bad], [flip(0, 1), flip(1, 2), flip(0, 1)]);
    await expect(run).rejects.toThrow(BorrowViolation);
    await expect(run).rejects.toMatchObject({ code: 'BORROW_VIOLATION', message: /buffer 1 \(f32 \[1250\]\)/ });
    expect([good.state, bad.state]).toEqual(['own', 'corrupt']);
    expect(() => bad.read()).toThrow(/came back changed/);
  });

  it('says so when a step could not be undone', async () => {
    const owned = new Owned(random(5000, 8));
    const broken: ReversibleStep = {
      name: 'broken',
      do: () => {},
      undo: () => {
        throw new Error('cannot');
      },
    };
    const stop: ReversibleStep = { do: () => Promise.reject(new Error('stop')), undo: () => {} };
    await expect(borrow([owned], [broken, stop])).rejects.toMatchObject({
      code: 'BORROW_VIOLATION',
      message: /undoing step 1 'broken' failed/,
    });
    expect(owned.state).toBe('corrupt');
  });

  it('is honest about a device that is lost in the middle', async () => {
    const lost = new DeviceLost({ code: 'DEVICE_LOST', message: 'gone', fix: '', where: 'cpu' });
    const owned = new Owned(random(5000, 9));
    const dead: ReversibleStep = { do: () => Promise.reject(lost), undo: () => {} };
    const gone: ReversibleStep = { do: () => {}, undo: () => Promise.reject(lost) };
    await expect(borrow([owned], [gone, dead])).rejects.toMatchObject({
      code: 'BORROW_LOST',
      message: /cannot be recovered/,
      cause: lost,
    });
    expect(owned.state).toBe('corrupt');
  });

  it('takes all or nothing', async () => {
    const [a, b] = [new Owned(random(10, 1)), new Owned(random(10, 2))];
    b.state = 'lent';
    await expect(borrow([a, b], [])).rejects.toThrow(BufferLent);
    expect(a.state).toBe('own');
    await expect(borrow([a, a], [])).rejects.toThrow(/given twice/);
    await expect(borrow([], [])).rejects.toThrow(/no memory/);
    const aborted = AbortSignal.abort(new Error('early'));
    await expect(borrow([a], [], { signal: aborted })).rejects.toMatchObject({
      code: 'ABORTED',
      cause: { message: 'early' },
    });
    expect(a.state).toBe('own');
  });

  it('lets go of memory that could not be hashed at the start', async () => {
    const a = new Owned(random(10, 1));
    const blind: Lendable = {
      name: 'blind',
      buffer: a.buffer,
      bytes: 10,
      device: altered({ id: 'blind', read: () => Promise.reject(new Error('blind')) }),
      lend: () => a.lend(),
      takeBack: (c) => a.takeBack(c),
    };
    await expect(borrow([blind], [])).rejects.toThrow('blind');
    expect(a.state).toBe('own');
  });

  it('runs the clean-up of a program before its steps are undone', async () => {
    const owned = new Owned(random(100, 1));
    const order: string[] = [];
    const program = function* (): Generator<ReversibleStep> {
      try {
        yield { do: () => {}, undo: () => void order.push('undo') };
        yield { do: () => Promise.reject(new Error('stop')), undo: () => {} };
      } finally {
        order.push('finally');
      }
    };
    await expect(borrow([owned], program)).rejects.toThrow('stop');
    expect(order).toEqual(['finally', 'undo']);
  });
});

describe.each(['host', 'GPU'])('hashes as on a %s', (as) => {
  /** A GPU hashes several buffers in one launch. */
  const hashed = (items: readonly Owned[]): Promise<string[]> => {
    const there = altered({ caps: { ...device.caps, host: as === 'host' } });
    return digests(items.map(({ buffer, bytes }) => ({ device: there, buffer, bytes })));
  };

  it('see every byte, its place, and which of equal buffers changed', async () => {
    // More than one launch takes, of several lengths, with and without bytes behind the last word.
    const sizes = [0, 3, 4, 4096, 4096, 4097, 4099, ...new Array<number>(9).fill(4096), 80_000];
    const owned = sizes.map((bytes, i) => new Owned(random(bytes, 1 + (i % 3))));
    const all = () => hashed(owned);
    const before = await all();
    expect(before.map((h) => h.length / 2)).toEqual(sizes.map((bytes) => (bytes < 4 ? 0 : 16) + (bytes % 4)));
    // Equal contents have equal hashes, wherever they lie.
    expect(before[3]).toBe(before[9]);
    expect(before[3]).not.toBe(before[4]);
    for (const [item, at] of [
      [1, 2],
      [2, 0],
      [4, 4095],
      [5, 4096],
      [6, 17],
      [15, 1],
      [16, 79_999],
    ] as const) {
      for (const mask of [1, 128]) {
        await flip(item, at, mask).do(owned);
        expect((await all()).map((h, i) => h === before[i])).toEqual(sizes.map((_, i) => i !== item));
        await flip(item, at, mask).undo(owned);
      }
    }
    expect(await all()).toEqual(before);
    // Two words that change places, and the highest bits of two words.
    const words = new Owned(new Uint8Array(Uint32Array.of(1, 2, 3, 2 ** 31).buffer));
    const seen = new Set(await hashed([words]));
    for (const [from, values] of [
      [0, [2, 1]],
      [2, [2 ** 31, 3]],
    ] as const) {
      device.write(words.buffer, new Uint8Array(Uint32Array.of(1, 2, 3, 2 ** 31).buffer));
      device.write(words.buffer, new Uint8Array(Uint32Array.from(values).buffer), 4 * from);
      seen.add((await hashed([words]))[0]!);
    }
    device.write(words.buffer, new Uint8Array(Uint32Array.of(2 ** 31 + 1, 2 ** 31 + 2, 3, 2 ** 31).buffer));
    seen.add((await hashed([words]))[0]!);
    expect(seen.size).toBe(4);
    for (const o of [...owned, words]) device.release(o.buffer);
  });
});

describe('tensors that are lent again', () => {
  it('are hashed once a loan: their bytes cannot have changed in between', async () => {
    const { createRuntime } = await import('../../index.ts');
    let hashed = 0;
    await using rt = await createRuntime({
      devices: ['cpu'],
      cpu: { threads: 1 },
      wrap: (inner) =>
        new Proxy(inner, {
          get: (target, key) => {
            const value = Reflect.get(target, key, target) as unknown;
            if (typeof value !== 'function') return value;
            return (...args: unknown[]) => {
              if (key === 'launch' && (args[0] as { name: string }).name.startsWith('digest')) hashed++;
              return (value as (...all: unknown[]) => unknown).apply(target, args);
            };
          },
        }),
    });
    const lent = [rt.random.normal([2000], { seed: 1 }), rt.random.normal([2000], { seed: 2 })].map((t) => t.compute());
    const before = await Promise.all(lent.map((t) => t.bytes()));
    const flip = ([m]: readonly Borrowed[]): void =>
      m!.device.write(
        m!.buffer,
        m!.device.readSync!(m!.buffer).map((b) => ~b),
      );
    const step: ReversibleStep = { do: flip, undo: flip };
    await rt.memory.borrow(lent, [step, step]);
    expect(hashed).toBe(4);
    await rt.memory.borrow(lent, [step, step]);
    expect(hashed).toBe(6);
    // A tensor that is lent for the first time is hashed before as well.
    const fresh = rt.random.normal([2000], { seed: 3 }).compute();
    await rt.memory.borrow([...lent, fresh], [step, step]);
    expect(hashed).toBe(10);
    expect(await Promise.all(lent.map((t) => t.bytes()))).toEqual(before);
    await expect(rt.memory.borrow(lent, [step])).rejects.toBeInstanceOf(BorrowViolation);
    await expect(lent[0]!.bytes()).rejects.toBeInstanceOf(BufferLent);
    expect(await lent[1]!.bytes()).toEqual(before[1]);
  });
});
