// Scopes: what is recorded, whose child is what, whose time it was.

import ts from 'typescript';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ArgumentError, createRuntime, whenRuntimeOpens } from '../../src/index.ts';
import { getProfiler, Profiler } from '../../src/profile/index.ts';
import { sleep, within } from '../support/time.ts';

/** Keeps the processor busy for some ms of the clock. */
function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const named = (profiler: Profiler, operation: string) => profiler.getEntries().filter((e) => e.operation === operation);

describe('profile', () => {
  it('records a scope of 10 ms as one entry of at least 10 ms', async () => {
    const profiler = new Profiler();
    await profiler.profile('work', () => sleep(11));
    const [entry, ...more] = profiler.getEntries();
    expect(more).toEqual([]);
    expect(entry!.durationMs).toBeGreaterThanOrEqual(10);
    expect(entry).toMatchObject({ operation: 'work', parentId: null, failed: false, thread: 'main' });
  });

  it('records op1, op2, op1 as 3 entries of 2 operations, and returns what the body returns', () => {
    const profiler = new Profiler();
    expect(profiler.profile('op1', () => 1)).toBe(1);
    expect(profiler.profile('op2', { device: 'gpu', meta: { rows: 3 } }, () => 'x')).toBe('x');
    profiler.profile('op1', () => 2);
    expect(profiler.getEntries().map((e) => e.operation)).toEqual(['op1', 'op2', 'op1']);
    expect(Object.keys(profiler.getSummary())).toEqual(['op1', 'op2']);
    expect(profiler.getSummary().op1).toMatchObject({ callCount: 2, failures: 0 });
    expect(named(profiler, 'op2')[0]).toMatchObject({ device: 'gpu', backend: null, metadata: { rows: 3 } });
  });

  it('records nothing while it is off, and again when it is on; nested scopes run once', () => {
    const profiler = new Profiler({ enabled: false });
    const body = vi.fn(() => profiler.profile('inner', () => 5));
    expect(profiler.profile('outer', body)).toBe(5);
    expect(body).toHaveBeenCalledTimes(1);
    expect(profiler.getEntries()).toEqual([]);
    profiler.enable();
    profiler.profile('outer', () => 1);
    expect(profiler.getEntries().length).toBe(1);
    profiler.disable();
    profiler.profile('outer', () => 1);
    expect(profiler.getEntries().length).toBe(1);
  });

  it('has the counts and the bottlenecks of delays', async () => {
    const profiler = new Profiler();
    let time = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => time);
    for (const [name, delays] of Object.entries({
      matrix_multiply: [20, 25, 22],
      xor_transform: [1, 2],
      graph_search: [100],
    })) {
      for (const d of delays)
        await profiler.profile(name, async () => {
          time += d;
        });
    }
    clock.mockRestore();
    const summary = profiler.getSummary();
    expect(Object.entries(summary).map(([k, s]) => [k, s.callCount])).toEqual([
      ['matrix_multiply', 3],
      ['xor_transform', 2],
      ['graph_search', 1],
    ]);
    expect(
      profiler
        .getBottlenecks(5)
        .slice(0, 2)
        .map((b) => b.operation),
    ).toEqual(['graph_search', 'matrix_multiply']);
    expect(profiler.getBottlenecks(1).length).toBe(1);
    const { min, median, max, avg, total, std } = summary.matrix_multiply!;
    expect(min).toBeLessThanOrEqual(median);
    expect(median).toBeLessThanOrEqual(max);
    expect(avg).toBeCloseTo(total / 3, 3);
    expect(std).toBeGreaterThan(0);
    expect(summary.graph_search!.std).toBe(0);
  });

  it('marks what throws as failed and throws it on, sync and async', async () => {
    const profiler = new Profiler();
    const broken = new Error('broken');
    const fail = (): never => {
      throw broken;
    };
    expect(() => profiler.profile('sync', fail)).toThrow(broken);
    await expect(profiler.profile('async', async () => fail())).rejects.toBe(broken);
    expect(profiler.getEntries().map((e) => [e.operation, e.failed])).toEqual([
      ['sync', true],
      ['async', true],
    ]);
    expect(profiler.getSummary().sync!.failures).toBe(1);
    // The context is the one before: what follows is no child of what failed.
    profiler.profile('after', () => 1);
    expect(named(profiler, 'after')[0]!.parentId).toBe(null);
  });

  it('has null for everything about devices without a runtime', () => {
    const profiler = new Profiler();
    profiler.profile('work', () => spin(1));
    expect(profiler.getEntries()[0]).toMatchObject({
      gpuTimeMs: null,
      cpuTimeMs: null,
      transferTimeMs: null,
      overheadMs: null,
      gpuUtilization: null,
      memoryPeakMb: null,
      memoryAllocatedMb: null,
      backend: null,
    });
    expect(profiler.getSummary().work).toMatchObject({ gpuTotal: null, peakMemoryMb: null, avgGpuUtilization: null });
  });

  it('keeps the newest entries and counts the others', () => {
    const profiler = new Profiler({ capacity: 10 });
    for (let i = 0; i < 25; i++) profiler.profile(`op ${i}`, () => i);
    const { entries, dropped } = profiler.toProfile();
    expect(entries.map((e) => e.operation)).toEqual(Array.from({ length: 10 }, (_, i) => `op ${i + 15}`));
    expect(dropped.entries).toBe(15);
    profiler.reset();
    expect(profiler.toProfile().dropped.entries).toBe(0);
    expect(profiler.getEntries()).toEqual([]);
  });

  it('refuses bad input by name', () => {
    const profiler = new Profiler();
    const bad = (work: () => unknown, text: RegExp): void => {
      expect(work).toThrow(ArgumentError);
      expect(work).toThrow(text);
    };
    bad(() => new Profiler({ speed: 1 } as never), /no option 'speed'/);
    bad(() => new Profiler({ capacity: 0 }), /capacity is 0/);
    bad(() => new Profiler({ runtimes: [{}] as never }), /runtimes/);
    bad(() => profiler.profile('', () => 1), /empty/);
    bad(() => profiler.profile('x', 5 as never), /body is 5/);
    bad(() => profiler.profile('x', { devise: 'gpu' } as never, () => 1), /devise/);
    for (const count of [-1, 1.5, Number.NaN, '5' as never])
      bad(() => profiler.getBottlenecks(count), /getBottlenecks/);
    bad(() => profiler.attach(null as never), /runtime is null/);
    bad(() => profiler.wrap(null as never), /fn is null/);
    expect(profiler.getEntries()).toEqual([]);
    profiler.profile('n'.repeat(300), () => 1);
    expect(profiler.getEntries()[0]!.operation.length).toBe(200);
    expect(profiler.toProfile().cutNames).toBe(1);
  });
});

describe('nested and concurrent scopes', () => {
  it('have the right parents for 50 at the same time', async () => {
    const profiler = new Profiler();
    await profiler.profile('root', async () => {
      await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          profiler.profile(`outer ${i}`, async () => {
            await sleep(i % 7);
            await profiler.profile(`inner ${i}`, async () => {
              await sleep(1);
              profiler.profile(`leaf ${i}`, () => 1);
            });
          }),
        ),
      );
    });
    const entries = new Map(profiler.getEntries().map((e) => [e.operation, e]));
    expect(entries.size).toBe(151);
    for (let i = 0; i < 50; i++) {
      expect(entries.get(`leaf ${i}`)!.parentId).toBe(entries.get(`inner ${i}`)!.id);
      expect(entries.get(`inner ${i}`)!.parentId).toBe(entries.get(`outer ${i}`)!.id);
      expect(entries.get(`outer ${i}`)!.parentId).toBe(entries.get('root')!.id);
    }
    expect(profiler.orphans).toBe(0);
  });

  it('share the time: self times add up to the total of the root', async () => {
    const profiler = new Profiler();
    await profiler.profile('root', async () => {
      profiler.profile('a', () => profiler.profile('b', () => spin(3)));
      await Promise.all([1, 2, 3].map((k) => profiler.profile('parallel', () => sleep(5 * k))));
      spin(2);
    });
    const entries = profiler.getEntries();
    const root = entries.find((e) => e.operation === 'root')!;
    const sum = entries.reduce((s, e) => s + e.selfMs, 0);
    expect(sum).toBeCloseTo(root.durationMs, 1);
    const parallel = named(profiler, 'parallel').reduce((s, e) => s + e.durationMs, 0);
    // Three at once take more than the wall has; their shares do not.
    expect(parallel).toBeGreaterThan(28);
    expect(named(profiler, 'parallel').reduce((s, e) => s + e.selfMs, 0)).toBeLessThan(root.durationMs);
    for (const e of entries) expect(e.selfMs).toBeLessThanOrEqual(e.durationMs + 0.001);
  });

  it('end with `using`, sync and async', async () => {
    const profiler = new Profiler();
    {
      using outer = profiler.span('outer');
      expect(outer.operation).toBe('outer');
      {
        using _inner = profiler.span('inner', { meta: { k: 1 } });
        profiler.profile('leaf', () => 1);
      }
    }
    await (async () => {
      using _span = profiler.span('async');
      await sleep(2);
      profiler.profile('later', () => 1);
    })();
    profiler.profile('alone', () => 1);
    const byName = new Map(profiler.getEntries().map((e) => [e.operation, e]));
    expect(byName.get('leaf')!.parentId).toBe(byName.get('inner')!.id);
    expect(byName.get('inner')!.parentId).toBe(byName.get('outer')!.id);
    expect(byName.get('later')!.parentId).toBe(byName.get('async')!.id);
    expect(byName.get('async')!.parentId).toBe(null);
    expect(byName.get('alone')!.parentId).toBe(null);
    expect(byName.get('async')!.durationMs).toBeGreaterThanOrEqual(2);
  });

  it('end once, take notes, and can be entered again', () => {
    const profiler = new Profiler();
    const kept = profiler.profile('a', (span) => {
      span.note({ rows: 2 });
      return span;
    });
    kept.end();
    kept.end(true);
    // It has ended: what runs in it now belongs to the one around, and there is none.
    kept.run(() => profiler.profile('late', () => 1));
    expect(named(profiler, 'a').length).toBe(1);
    expect(named(profiler, 'a')[0]).toMatchObject({ failed: false, metadata: { rows: 2 } });
    expect(named(profiler, 'late')[0]!.parentId).toBe(null);
  });
});

describe('wrapped functions', () => {
  it('keep their value, this, name, length and promise', async () => {
    const profiler = new Profiler();
    const object = {
      factor: 2,
      times(this: { factor: number }, x: number, _y?: number) {
        return this.factor * x;
      },
    };
    object.times = profiler.wrap(object.times);
    expect(object.times(5)).toBe(10);
    expect(object.times.name).toBe('times');
    expect(object.times.length).toBe(2);
    const slow = profiler.wrap(async (x: number) => x + 1, { operation: 'slow' });
    for (let i = 0; i < 5; i++) expect(await slow(i)).toBe(i + 1);
    expect(named(profiler, 'slow').length).toBe(5);
    expect(named(profiler, 'times').length).toBe(1);
    profiler.disable();
    expect(object.times(6)).toBe(12);
    expect(named(profiler, 'times').length).toBe(1);
  });

  it('are measured step by step if they are generators: one entry, whose own time is that of the steps', async () => {
    const profiler = new Profiler();
    const count = profiler.wrap(function* count(n: number): Generator<number, string> {
      for (let i = 0; i < n; i++) {
        spin(2);
        profiler.profile('inside', () => spin(1));
        yield i;
      }
      return 'done';
    });
    const seen: number[] = [];
    for (const i of count(3)) {
      seen.push(i);
      await sleep(10);
    }
    expect(seen).toEqual([0, 1, 2]);
    const [entry] = named(profiler, 'count');
    expect(named(profiler, 'count').length).toBe(1);
    expect(entry!.durationMs).toBeGreaterThan(30);
    expect(entry!.selfMs).toBeGreaterThanOrEqual(5.9);
    expect(entry!.selfMs).toBeLessThan(entry!.durationMs - 20);
    expect(named(profiler, 'inside').every((e) => e.parentId === entry!.id)).toBe(true);
    // Timers may be early by as much as the event loop's own clock is late.
    let slept = 0;
    const lines = profiler.wrap(async function* lines() {
      const from = performance.now();
      await sleep(3);
      slept = performance.now() - from;
      yield 'a';
      yield 'b';
    });
    const all: string[] = [];
    for await (const l of lines()) all.push(l);
    expect(all).toEqual(['a', 'b']);
    expect(slept).toBeGreaterThan(1);
    expect(named(profiler, 'lines')[0]!.selfMs).toBeGreaterThanOrEqual(slept - 0.2);
    // A loop that is left early ends the entry too.
    for (const _ of count(3)) break;
    expect(named(profiler, 'count').length).toBe(2);
  });

  it('are measured when they are constructed if they are classes', () => {
    const profiler = new Profiler();
    class Thing {
      static made = 7;
      readonly #x: number;
      constructor(x: number) {
        this.#x = x;
      }
      get x(): number {
        return this.#x;
      }
    }
    const Wrapped = profiler.wrap(Thing as never, { operation: 'new Thing' }) as typeof Thing;
    expect(new Wrapped(3).x).toBe(3);
    expect(new Wrapped(3)).toBeInstanceOf(Thing);
    expect(Wrapped.made).toBe(7);
    expect(named(profiler, 'new Thing').length).toBe(2);
  });

  it('may be decorated: methods, getters, static; a class or a field is refused', () => {
    // Neither Node nor the test runner reads decorators, so the compiler does.
    const compiled = (source: string): ((profiler: Profiler) => Record<string, never>) => {
      const { outputText } = ts.transpileModule(source, { compilerOptions: { target: ts.ScriptTarget.ES2022 } });
      return new Function('profiler', `${outputText}\nreturn { A, B };`) as never;
    };
    const profiler = new Profiler();
    const { A, B } = compiled(`
      class A {
        x = 5;
        @profiler.profileFunction() step(y) { return this.x * y; }
        @profiler.profileFunction() get double() { return 2 * this.x; }
        @profiler.profileFunction() static make() { return new this(); }
        @profiler.profileFunction('named', 'gpu') async later() { return this.x; }
      }
      class B extends A {}
    `)(profiler) as unknown as Record<
      'A' | 'B',
      { new (): { step(y: number): number; double: number }; make(): object }
    >;
    const b = new B();
    for (let i = 0; i < 5; i++) expect(b.step(2)).toBe(10);
    expect(b.double).toBe(10);
    expect(B.make()).toBeInstanceOf(A);
    expect(Object.entries(profiler.getSummary()).map(([k, s]) => [k, s.callCount])).toEqual([
      ['A.step', 5],
      ['A.double', 1],
      ['A.make', 1],
    ]);
    const doubled = profiler.profileFunction('wrapped')((x: number) => 2 * x);
    expect(doubled(5)).toBe(10);
    for (const source of ['@profiler.profileFunction() class A {}', 'class A { @profiler.profileFunction() x = 1; }']) {
      expect(() => compiled(`${source}\nclass B {}`)(profiler)).toThrow(ArgumentError);
    }
  });
});

describe('the shared profiler', () => {
  afterEach(() => getProfiler().dispose());

  it('is one object, and asking with other options is an error', () => {
    const first = getProfiler({ capacity: 5 });
    expect(getProfiler()).toBe(first);
    expect(getProfiler({ capacity: 5 })).toBe(first);
    expect(() => getProfiler({ capacity: 6 })).toThrow(
      /getProfiler: the shared instance was made with another 'capacity'/,
    );
    first.dispose();
    expect(getProfiler({ capacity: 6 })).not.toBe(first);
    expect(() => first.enable()).toThrow(/disposed/);
  });
});

describe('an attached runtime', () => {
  it('has no listener before and after', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    let listeners = 0;
    const on = rt.on.bind(rt);
    rt.on = ((...args: Parameters<typeof on>) => {
      listeners++;
      const stop = on(...args);
      return () => {
        listeners--;
        stop();
      };
    }) as typeof rt.on;
    const profiler = new Profiler({ runtimes: [rt] });
    expect(listeners).toBeGreaterThan(5);
    profiler.disable();
    expect(listeners).toBe(0);
    profiler.enable();
    profiler.detach(rt);
    expect(listeners).toBe(0);
    await profiler.ready();
    expect(rt.snapshot().devices[0]!.clockErrorUs).toBe(null);
  });

  it('has no spans on after a profiler that was on for a moment only, and keeps them for another', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const [brief, other] = [new Profiler({ runtimes: [rt] }), new Profiler({ enabled: false, runtimes: [rt] })];
    await brief.disable();
    expect(rt.snapshot().devices[0]!.clockErrorUs).toBe(null);
    other.enable();
    brief.enable();
    await Promise.all([brief.ready(), other.ready()]);
    await brief.disable();
    rt.ones([1000]).add(1).compute();
    const { kernels } = await other.collect();
    expect(kernels.map((k) => k.ms)).toEqual([expect.any(Number)]);
    other.dispose();
  });

  it('is told to tools before its program gets it; a tool that fails or hangs does not keep it', async () => {
    const seen: unknown[] = [];
    const complain = vi.spyOn(console, 'error').mockImplementation(() => {});
    const stops = [
      whenRuntimeOpens((rt) => seen.push(rt)),
      whenRuntimeOpens(() => {
        throw new Error('broken tool');
      }),
      whenRuntimeOpens(() => new Promise(() => {})),
    ];
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    for (const stop of stops) stop();
    complain.mockRestore();
    expect(seen).toEqual([rt]);
    await using next = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    expect(seen).not.toContain(next);
  });

  it('is attached within 1 ms', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const profiler = new Profiler({ enabled: false, runtimes: [rt] });
    const times: number[] = [];
    for (let i = 0; i < 20; i++) {
      const start = performance.now();
      profiler.enable();
      times.push(performance.now() - start);
      profiler.disable();
    }
    expect(times.sort((a, b) => a - b)[10]).toBeLessThan(within(1));
  });
});
