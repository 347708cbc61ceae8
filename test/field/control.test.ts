// What a field promises around its cycles: loops with deadlines, devices with reasons, checks and benchmarks that can fail, names.

import { afterAll, describe, expect, it, vi } from 'vitest';
import { chooseDevice } from '../../src/field/device.ts';
import {
  batchedGradientExtraction,
  checkField,
  createBrain,
  createField,
  extractGradient,
  Field,
  FieldConfigError,
  FieldInputError,
  type FieldOptions,
  fusedEvolution,
  fusedFieldEvolution,
  GPUBrainFactory,
  GPUPatternLibrary,
  OptimizationChecker,
  PatternLibrary,
  quickPerformanceTest,
  quickTest,
  runBenchmark,
  TensorMemoryPool,
} from '../../src/field/index.ts';
import { layoutOf } from '../../src/field/layout.ts';
import { type LoopClock, type LoopOptions, type LoopTick, latencyHistogram, runLoop } from '../../src/field/loop.ts';
import { resolveSettings, settingNames, settingRows, variableOf } from '../../src/field/settings.ts';
import { ArgumentError, createRuntime, DeviceUnavailable, DisposedError, type Runtime } from '../../src/index.ts';
import { closeAll, kinds, runtimeOf } from './devices.ts';

afterAll(closeAll);

const small: FieldOptions = { resolution: 4, channels: 16, sensorDim: 4, motorDim: 3 };
const make = async (more: FieldOptions = {}): Promise<Field> =>
  createField({ runtime: await runtimeOf('cpu'), device: 'cpu', ...small, ...more });
const input = new Float32Array(4).fill(0.2);

/** A clock that goes only when it is told to. */
class ManualClock implements LoopClock {
  time = 0;
  now(): number {
    return this.time;
  }
  async until(time: number): Promise<void> {
    this.time = Math.max(this.time, time);
  }
}

describe('a loop', () => {
  const result = (v: number) => ({ motors: Float32Array.from([v]), state: {} as never, exploration: null });

  it('keeps its schedule, and counts a slow cycle and the ticks it covered', async () => {
    for (const [policy, expected] of [
      ['repeat', [1, 2, 2, 4, 5]],
      ['zero', [1, 2, 0, 4, 5]],
    ] as const) {
      const clock = new ManualClock();
      const sent: number[] = [];
      const starts: number[] = [];
      let t = 0;
      const step = async () => {
        starts.push(clock.time);
        t++;
        // The third cycle takes two and a half periods.
        clock.time += t === 3 ? 25 : 4;
        return result(t);
      };
      const ticks: LoopTick[] = [];
      const report = await runLoop(
        step,
        1,
        { hz: 100, ticks: 5, source: () => input, sink: (m) => void sent.push(m[0]!), onDeadline: policy },
        clock,
        (tick) => ticks.push(tick),
      );
      expect(sent).toEqual(expected);
      expect(ticks.map((tick) => [tick.latencyMs, tick.late, tick.missed])).toEqual([
        [4, false, 0],
        [4, false, 0],
        [25, true, 3],
        [4, false, 0],
        [4, false, 0],
      ]);
      expect(report.histogram).toEqual(
        latencyHistogram(
          ticks.map((tick) => tick.latencyMs),
          10,
        ),
      );
      expect(report).toMatchObject({ ticks: 5, missed: 3, ended: 'ticks' });
      expect(starts).toEqual([0, 10, 20, 50, 60]);
      expect(report.latency.max).toBe(25);
      expect(report.histogram.reduce((a, b) => a + b)).toBe(5);
    }
  });

  it('stops at a miss if told to, with zeros as its last word', async () => {
    const clock = new ManualClock();
    const sent: number[] = [];
    let t = 0;
    const step = async () => {
      clock.time += ++t === 2 ? 11 : 1;
      return result(t);
    };
    const report = await runLoop(
      step,
      1,
      { hz: 100, source: () => input, sink: (m) => void sent.push(m[0]!), onDeadline: 'stop' },
      clock,
    );
    expect(sent).toEqual([1, 0]);
    expect(report).toMatchObject({ ticks: 2, missed: 1, ended: 'deadline' });
  });

  it('runs a field, does not drift, and ends with its signal', async () => {
    await using field = await make();
    const end = new AbortController();
    let sent = 0;
    const report = await field.loop({
      hz: 100,
      source: () => input,
      sink: (m) => {
        expect(m).toHaveLength(3);
        if (++sent === 10) end.abort();
      },
      signal: end.signal,
    });
    expect(report).toMatchObject({ ticks: 10, ended: 'signal', hz: 100 });
    expect(report.seconds).toBeGreaterThan(0.08);
    await expect(field.loop({ hz: 0, source: () => input, sink: () => {} })).rejects.toThrow(/hz is 0/);
    await expect(field.loop({ hz: 10, source: () => new Float32Array(9), sink: () => {} })).rejects.toThrow(
      FieldInputError,
    );
  });
});

describe('numbers that make no sense are refused:', () => {
  it('seeds of reset, ages of patterns, periods of histograms', async () => {
    await using field = await make();
    const library = new PatternLibrary({ runtime: field.runtime, device: 'cpu' });
    for (const wrong of [Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY]) {
      await expect(field.reset(wrong)).rejects.toThrow(ArgumentError);
      expect(() => library.advance(wrong)).toThrow(ArgumentError);
    }
    for (const wrong of [Number.NaN, -1, 0, Number.POSITIVE_INFINITY])
      expect(() => latencyHistogram([1], wrong)).toThrow(ArgumentError);
    expect(field.seed).toBe(0);
    library.dispose();
  });
});

describe('a signal ends a loop', () => {
  const never = new Promise<never>(() => {});
  it.each<[string, Partial<LoopOptions>]>([
    ['between two ticks that are minutes apart', { hz: 0.01 }],
    ['whose next tick is further away than a timer can wait', { hz: 1e-9 }],
    ['whose source does not answer', { source: () => never }],
    ['whose sink does not answer', { sink: () => never }],
  ])('%s', async (_, options) => {
    await using field = await make();
    const end = new AbortController();
    const warned: Error[] = [];
    const warn = (w: Error): unknown => warned.push(w);
    process.on('warning', warn);
    setTimeout(() => end.abort(), 20);
    const report = await field.loop({
      hz: 10,
      source: () => [...input],
      sink: () => {},
      signal: end.signal,
      ...options,
    });
    process.off('warning', warn);
    expect(report.ended).toBe('signal');
    expect(warned).toEqual([]);
  });
});

describe('listeners of a field', () => {
  it('are told of every cycle and tick, after it; one that throws harms nothing', async () => {
    await using field = await make();
    const told: string[] = [];
    const stops = [
      field.on('cycle', ({ sensors, motors, state }) => {
        expect([sensors.length, motors.length]).toEqual([input.length, 3]);
        expect(state.cycle).toBe(field.cycle);
        told.push(`cycle ${state.cycle}`);
      }),
      field.on('tick', ({ hz, missed }) => told.push(`tick ${hz} ${missed > 0 ? 'late' : 'in time'}`)),
      field.on('cycle', () => {
        throw new Error('of a listener');
      }),
    ];
    const errors: unknown[] = [];
    field.on('error', ({ error }) => errors.push(error));
    const alone = await make();
    expect((await field.step(input)).motors).toEqual((await alone.step(input)).motors);
    await alone.dispose();
    // A period of a quarter of an hour: no machine is late.
    await field.loop({ hz: 0.001, ticks: 1, source: () => input, sink: () => {} });
    expect(told).toEqual(['cycle 1', 'cycle 2', 'tick 0.001 in time']);
    expect(errors).toHaveLength(2);
    for (const stop of stops) stop();
    await field.step(input);
    expect(told).toHaveLength(3);
    expect(() => field.on('cycles' as never, () => {})).toThrow(/no event 'cycles'/);
  });

  it('hear of fields that run together, each of its own', async () => {
    const fields = await Promise.all([make(), make()]);
    const told: [number, number][] = [];
    fields.forEach((f, i) => {
      f.on('cycle', ({ state }) => told.push([i, state.cycle]));
    });
    await Field.stepBatch(fields, [input, input]);
    for (const f of fields) await f.dispose();
    expect(told).toEqual([
      [0, 1],
      [1, 1],
    ]);
  });
});

describe('the factory', () => {
  it('tells which device it chose and why, and refuses a GPU that is not there', async () => {
    await using cpu = await createRuntime({ devices: ['cpu'] });
    await using auto = await createField({ ...small, runtime: cpu });
    expect(auto.choice).toEqual({ device: 'cpu', reason: 'there is no GPU' });
    const closed = { id: 'cuda', open: false, reason: 'no driver' };
    const host = { devices: () => [closed, { id: 'cpu', open: true }], device: () => ({ caps: { host: true } }) };
    const { reason } = await chooseDevice(host as unknown as Runtime, {}, async () => null);
    expect(reason).toBe('no GPU can be used (cuda: no driver)');
    for (const asked of [
      { forceGPU: true },
      { device: 'gpu' },
      { device: 'cuda:7' },
      { device: 'cpu', forceGPU: true },
    ])
      await expect(createField({ ...small, runtime: cpu, ...asked })).rejects.toThrow(DeviceUnavailable);
  });

  it.runIf(kinds.length > 1)('takes a GPU after cycles that equal the CPU’s', async () => {
    await using both = await createRuntime({ devices: ['webgpu', 'cpu'] });
    await using field = await createField({ ...small, runtime: both });
    expect(field.device).toMatch(/^webgpu/);
    expect(field.choice.reason).toMatch(/equal those of the CPU/);
    const report = await checkField(field);
    expect(report.checks.filter((c) => !c.passed && c.name !== 'launches')).toEqual([]);
  });

  it('refuses options that make no sense, and settings without effect', async () => {
    const bad: [FieldOptions, RegExp][] = [
      [{ resolution: 3 }, /resolution is 3/],
      [{ resolution: [4, 4] as never }, /resolution is/],
      [{ sensorDim: 40 }, /each sensor needs one/],
      [{ motorDim: 0 }, /motorDim is 0/],
      [{ model: 'best' as never }, /model is 'best'/],
      [{ seed: -1 }, /seed is -1/],
      [{ colour: 1 } as never, /no option 'colour'/],
      [{ settings: { keep: 1.5 } }, /keep is 1.5/],
      [{ settings: { decay: 1 } as never }, /no setting 'decay'/],
      [{ settings: { placeNoise: 1 } }, /no effect in model 'fused'/],
      [
        { channels: { content: 8, temporal: 1, decay: 2, diffusion: 4, coupling: 4, plasticity: 4 }, model: 'full' },
        /four channels/,
      ],
    ];
    for (const [options, reason] of bad) await expect(make(options)).rejects.toThrow(reason);
    await expect(make({ settings: { keep: 2 } })).rejects.toThrow(FieldConfigError);
  });

  it('takes settings from the environment, and checks them', () => {
    expect(variableOf('placeNoise')).toBe('GPUFORGE_FIELD_PLACE_NOISE');
    const from = (env: Record<string, string>) => resolveSettings({}, 'full', 'test', env);
    expect(from({ GPUFORGE_FIELD_KEEP: '0.5', GPUFORGE_FIELD_ERROR_LEARNING: 'false' })).toMatchObject({
      keep: 0.5,
      errorLearning: false,
    });
    expect(() => from({ GPUFORGE_FIELD_KEEP: 'much' })).toThrow(/GPUFORGE_FIELD_KEEP is NaN/);
    expect(resolveSettings({ keep: 0.9 }, 'full', 'test', { GPUFORGE_FIELD_KEEP: '0.5' }).keep).toBe(0.9);
    expect(settingNames.every((n) => settingRows[n].models.length > 0)).toBe(true);
    expect(layoutOf(64)).toEqual({ content: 32, temporal: 16, decay: 4, diffusion: 4, coupling: 4, plasticity: 4 });
  });
});

describe('checks and benchmarks', () => {
  it('report what was measured', async () => {
    await using field = await make();
    const report = await checkField(field);
    expect(report.passed, JSON.stringify(report.checks)).toBe(true);
    expect(report.checks.map((c) => c.name)).toContain('one upload and one download per cycle');
    expect(field.cycle).toBe(0);
    const bench = await runBenchmark(field, 12);
    expect(bench).toMatchObject({
      cycles: 12,
      device: 'cpu',
      model: 'fused',
      launches: 4,
      transfers: { up: 1, down: 1 },
    });
    expect(bench.min).toBeLessThanOrEqual(bench.median);
    expect(bench.p99).toBeLessThanOrEqual(bench.max);
  });

  it('fail with any failed cycle', async () => {
    await using field = await make();
    let n = 0;
    const step = field.step.bind(field);
    vi.spyOn(field, 'step').mockImplementation((i) => (++n === 9 ? Promise.reject(new Error('injected')) : step(i)));
    await expect(runBenchmark(field, 10)).rejects.toThrow('injected');
  });
});

describe('a disposed field', () => {
  it('refuses every call', async () => {
    const field = await make();
    await field.dispose();
    await field.dispose();
    for (const call of [
      () => field.step(input),
      () => field.snapshot(),
      () => field.slice(0, 0, 0),
      () => field.reset(),
      () => field.predict(),
    ])
      await expect(call()).rejects.toThrow(DisposedError);
    expect(() => field.stepSync(input)).toThrow(DisposedError);
  });
});

describe('motors', () => {
  it('have exploration noise only if asked for, and it is reported apart', async () => {
    await using plain = await make({ seed: 2 });
    await using noisy = await make({ seed: 2, settings: { exploration: 0.1 } });
    const [a, b] = [await plain.step(input), await noisy.step(input)];
    expect(a.exploration).toBeNull();
    expect(b.exploration!.some((e) => e !== 0)).toBe(true);
    b.motors.forEach((m, i) => {
      expect(m - b.exploration![i]!).toBeCloseTo(a.motors[i]!, 6);
    });
    const planes = plain.echo();
    expect(planes.map((p) => p.length)).toEqual([16, 16]);
    // The first plane rises along the second axis by the first motor.
    expect(planes[0]![3]! - planes[0]![0]!).toBeCloseTo(0.6 * a.motors[0]!, 6);
  });

  it('keep their length however small or large it is', async () => {
    for (const motorDim of [1, 2, 9]) {
      await using field = await make({ motorDim });
      expect((await field.step(input)).motors).toHaveLength(motorDim);
    }
  });
});

describe('the names of document 003', () => {
  it('lead to what this package calls otherwise', async () => {
    const rt = await runtimeOf('cpu');
    const { sensorDim: sensoryDim, ...rest } = small;
    const brain = await createBrain({ ...rest, sensoryDim, preferGpu: false, runtime: rt });
    const [motors, state] = await brain.processRobotCycle([0.1, 0.2, 0.3, 0.4]);
    expect(Array.isArray(motors)).toBe(true);
    expect(motors).toHaveLength(3);
    expect(state.cycle).toBe(1);
    expect((await OptimizationChecker.verifyOptimizations(brain.field)).passed).toBe(true);
    await brain.dispose();
    await expect(
      GPUBrainFactory.createOptimizedBrain({ ...rest, sensoryDim, runtime: rt, forceGpu: true }),
    ).rejects.toThrow(DeviceUnavailable);
    expect(quickPerformanceTest).toBe(quickTest);
    expect([fusedFieldEvolution, batchedGradientExtraction]).toEqual([fusedEvolution, extractGradient]);
    expect(TensorMemoryPool.of(rt, 'cpu')).toBe(rt.memory.pool('cpu'));
    const library = new GPUPatternLibrary({ runtime: rt, device: 'cpu' });
    expect(library.findBestPattern([1, 2], [3]).empty).toBe(true);
    expect((await quickTest({ ...small, runtime: rt, device: 'cpu' })).cycles).toBe(20);
  });
});
