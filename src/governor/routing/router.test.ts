import { describe, expect, it } from 'vitest';
import { bothProfiles, cpuProfile, request } from '../../../test/support/routing.ts';
import { within } from '../../../test/support/time.ts';
import { ArgumentError, DeviceUnavailable } from '../../errors.ts';
import type { RoutingOptions } from './options.ts';
import { Router } from './router.ts';
import type { RouteRequest } from './types.ts';

const quiet: RoutingOptions = { explore: false };
const make = (options: RoutingOptions = quiet, clock?: () => number): Router =>
  new Router(options, bothProfiles, clock ? { clock } : {});

/** Runs a call with its decision and tells the router how long it really took. */
function live(router: Router, r: RouteRequest, truth: Readonly<Record<string, number>>): string {
  const d = router.decide(r);
  router.observeCall(d, truth[d.device]!);
  return d.device;
}

describe('predicted costs', () => {
  it('send small host data to the CPU and large work on the GPU to the GPU', () => {
    const router = make();
    expect(router.decide(request(100)).device).toBe('cpu');
    expect(router.decide(request(100)).outcome).toBe('cpu_optimal');
    const large = router.decide(request(1 << 24, { at: ['cuda:0'] }));
    expect(large.device).toBe('cuda:0');
    expect(large.outcome).toBe('gpu_optimal');
  });

  it('count where the data is: the same work goes to either side', () => {
    const router = make();
    expect(router.decide(request(1 << 20, { at: ['cuda:0'] })).device).toBe('cuda:0');
    expect(router.decide(request(1 << 20, { at: ['cpu'] })).device).toBe('cpu');
    expect(router.decide(request(1 << 20, { at: ['cpu', 'cuda:0'] })).device).toBe('cuda:0');
  });

  it('count where the result is wanted', () => {
    const router = make();
    const small = { at: ['cuda:0'], devices: ['cpu', 'cuda:0'], hosts: ['cpu'] };
    // A GPU result of this size stays cheap to make there, but reading it back costs as much as reading the input.
    const kept = router.decide(request(30_000, small));
    const read = router.decide(request(30_000, { ...small, wanted: 'host' }));
    expect(kept.device).toBe('cuda:0');
    const gpu = (d: typeof kept) => d.predictions.find((p) => p.device === 'cuda:0')!;
    expect(gpu(read).transfer).toBeGreaterThan(gpu(kept).transfer + 20);
    const moved = router.decide(request(30_000, { ...small, wanted: 'cpu' }));
    expect(gpu(moved).transfer).toBeGreaterThan(gpu(read).transfer);
  });

  it('do not fetch from a device what host memory holds too', () => {
    const router = make();
    const cpu = (at: string[]) => router.decide(request(1 << 20, { at })).predictions.find((p) => p.device === 'cpu')!;
    expect(cpu(['cuda:0', 'host']).transfer).toBeLessThan(cpu(['cuda:0']).transfer - 300);
    expect(cpu(['cuda:0', 'host']).transfer).toBe(cpu([]).transfer);
  });

  it('weigh launches, work, transfers and penalty as their parts say', () => {
    const router = make();
    const d = router.decide(request(1000, { penalties: { 'cuda:0': 3 } }));
    for (const p of d.predictions) expect(p.us).toBeCloseTo((p.launch + p.work + p.transfer) * p.penalty);
    expect(d.predictions.map((p) => p.penalty)).toEqual([1, 3]);
  });

  it('make a device under pressure cost more', () => {
    const router = make();
    const at = ['cuda:0'];
    expect(router.decide(request(200_000, { at })).device).toBe('cuda:0');
    const pressed = router.decide(request(200_000, { at, penalties: { 'cuda:0': 100 } }));
    expect(pressed.device).toBe('cpu');
    expect(pressed.reason).toContain('×100.0 because it is short of memory or failed lately');
  });

  it('add up whole chains', () => {
    const router = make();
    const one = request(1 << 16, { at: ['cpu'], wanted: 'host' });
    const work = Array.from({ length: 60 }, () => one.candidates[0]!.work[0]!);
    expect(router.decide(one).device).toBe('cpu');
    expect(router.decide({ ...one, candidates: one.candidates.map((c) => ({ ...c, work })) }).device).toBe('cuda:0');
  });

  it('fall back to the rule table where a device was not measured', () => {
    const router = new Router(quiet, new Map([['cpu', cpuProfile]]), { devices: ['cpu', 'cuda:0'], hosts: ['cpu'] });
    const d = router.decide(request(20_000));
    expect(d).toMatchObject({ device: 'cuda:0', outcome: 'gpu_optimal', predictions: [] });
    router.calibrated(bothProfiles);
    expect(router.decide(request(20_000)).predictions).toHaveLength(2);
  });
});

describe('ties', () => {
  it('leave the data where it is when costs differ by less than 10 %', () => {
    const router = make();
    // Find a size where the two are close, with the result wanted on neither side.
    let n = 1000;
    const ratio = (): number => {
      const [a, b] = router.explain(request(n, { wanted: 'host' })).predictions;
      return b!.us / a!.us;
    };
    while (ratio() > 1.05 && n < 1e9) n = Math.ceil(n * 1.02);
    const close = ratio();
    expect(close).toBeLessThan(1.1);
    expect(close).toBeGreaterThan(0.9);
    expect(router.decide(request(n, { wanted: 'host' })).outcome).toBe('no_preference');
  });
});

describe('settings', () => {
  it('a pinned device wins; one that cannot do it is an error, or replaced with that reason', () => {
    const r = request(1 << 24, { at: ['cuda:0'] });
    expect(make({ device: 'cpu' }).decide(r).device).toBe('cpu');
    expect(make({ device: 'cuda' }).decide(request(1)).device).toBe('cuda:0');
    expect(() => make({ device: 'webgpu' }).decide(r)).toThrow(DeviceUnavailable);
    const d = make({ device: 'webgpu', allowFallback: true, explore: false }).decide(r);
    expect(d.device).toBe('cuda:0');
    expect(d.reason).toContain('webgpu is not there or cannot do this');
  });

  it('a forbidden device is never used, and forbidding all of them is an error', () => {
    const router = make({ forbid: ['cuda'], explore: false });
    expect(router.decide(request(1 << 24, { at: ['cuda:0'] })).device).toBe('cpu');
    expect(router.home(1 << 30, ['cuda:0', 'cpu'])).toBe('cpu');
    expect(() => make({ forbid: ['cuda', 'cpu'] }).decide(request(1))).toThrow(
      /all devices that can do this are forbidden/,
    );
  });

  it('routing off uses the first device, or the one pinned: a GPU too', () => {
    for (const off of [{ mode: 'off' }, { enabled: false }] as const) {
      expect(make(off).decide(request(1 << 24, { at: ['cuda:0'] })).device).toBe('cpu');
      expect(make({ ...off, device: 'cuda:0' }).decide(request(1)).device).toBe('cuda:0');
    }
  });

  it('gpuThresholdElements keeps smaller work off GPUs', () => {
    const r = request(1 << 16, { at: ['cuda:0'] });
    expect(make().decide(r).device).toBe('cuda:0');
    expect(make({ gpuThresholdElements: 1 << 17, explore: false }).decide(r).device).toBe('cpu');
    expect(make({ gpuThresholdElements: 1 << 16, explore: false }).decide(r).device).toBe('cuda:0');
    // In the rules it is the threshold of types that have none of their own.
    const rules = new Router({ mode: 'rules', gpuThresholdElements: 50 }, new Map(), {
      devices: ['cpu', 'cuda:0'],
      hosts: ['cpu'],
    });
    expect(rules.shouldUseGPU('matrix_add', 49).preference).toBe('cpu_acceptable');
    expect(rules.shouldUseGPU('matrix_add', 50).preference).toBe('cpu_optimal');
  });

  it('gpuOptimalThreshold decides from where a GPU is called optimal', () => {
    const r = request(1 << 20, { at: ['cuda:0'] });
    expect(make().decide(r).outcome).toBe('gpu_optimal');
    expect(make({ gpuOptimalThreshold: 1 << 21, explore: false }).decide(r).outcome).toBe('gpu_acceptable');
    const rules = new Router({ mode: 'rules', gpuOptimalThreshold: 2000 }, new Map(), {
      devices: ['cpu', 'cuda:0'],
      hosts: ['cpu'],
    });
    expect(rules.shouldUseGPU('matrix_multiply', 2000).preference).toBe('gpu_optimal');
    expect(rules.shouldUseGPU('matrix_multiply', 1999).preference).toBe('gpu_acceptable');
  });

  it('overheadToleranceMs bounds what launches and transfers of a GPU may take', () => {
    const r = request(1 << 24, {
      op: 'random_generation',
      work: [{ class: 'heavy', flops: 1e11, bytes: 8, elements: 1 << 24 }],
    });
    expect(make().decide(r).device).toBe('cuda:0');
    expect(make({ overheadToleranceMs: 1, explore: false }).decide(r).device).toBe('cpu');
    expect(make({ overheadToleranceMs: 100, explore: false }).decide(r).device).toBe('cuda:0');
    const rules = (ms: number) =>
      new Router({ mode: 'rules', overheadToleranceMs: ms }, new Map(), { devices: ['cpu', 'cuda:0'], hosts: ['cpu'] });
    expect(rules(34).shouldUseGPU('transform', 5).preference).toBe('cpu_optimal');
    expect(rules(35).shouldUseGPU('transform', 5).preference).toBe('cpu_acceptable');
  });
});

it('leaves out a GPU that would be more than four fifths full, unless no other device can do the work', () => {
  const free = 1000;
  const asked = (needBytes: number, devices = ['cpu', 'cuda:0']): RouteRequest => {
    const r = request(1 << 24, { at: ['cuda:0'], devices });
    return { ...r, candidates: r.candidates.map((c) => ({ ...c, memory: { needBytes, freeBytes: free } })) };
  };
  expect([800, 801].map((bytes) => make().decide(asked(bytes)).device)).toEqual(['cuda:0', 'cpu']);
  expect(make().decide(asked(5000, ['cuda:0'])).device).toBe('cuda:0');
  expect(make().route('element_wise', 1 << 24, { at: 'cuda:0', freeBytes: 1000, bytes: 800 }).device).toBe('cuda:0');
  expect(make().route('element_wise', 1 << 24, { at: 'cuda:0', freeBytes: 1000, bytes: 801 }).device).toBe('cpu');
});

describe('learning', () => {
  it('changes later decisions when a device turns out slower than predicted', () => {
    const router = make();
    const r = request(1 << 18, { at: ['cuda:0'], wanted: 'host' });
    const truth = { cpu: 700, 'cuda:0': 5000 };
    const went = Array.from({ length: 8 }, () => live(router, r, truth));
    expect(went[0]).toBe('cuda:0');
    expect(went.at(-1)).toBe('cpu');
  });

  it('is fed by kernel times as well', () => {
    const router = make();
    const r = request(1 << 18, { at: ['cuda:0'] });
    const { work } = r.candidates[0]!;
    const before = router.decide(r);
    expect(before.device).toBe('cuda:0');
    for (let i = 0; i < 8; i++) router.observe(r.op, work, 'cuda:0', 10, 50_000);
    const after = router.decide(r);
    expect(after.device).toBe('cpu');
    expect(after.predictions[1]!.samples).toBeGreaterThan(4);
  });

  it('learns how long waiting takes from calls it was part of, for other calls too', () => {
    const router = make();
    const small = (n: number) => request(n, { at: ['cuda:0'], wanted: 'host' });
    const before = router.explain(small(3000)).predictions[1]!.us;
    for (let i = 0; i < 40; i++) router.observeCall(router.decide(small(64 + 20 * i)), 600);
    expect(router.explain(small(3000)).predictions[1]!.us).toBeGreaterThan(3 * before);
  });

  it('is told by recordOperationResult too', () => {
    const router = make();
    const at = 'cuda:0';
    expect(router.route('matrix_multiply', 1 << 20, { at }).device).toBe('cuda:0');
    for (let i = 0; i < 8; i++) router.recordOperationResult('matrix_multiply', 1 << 20, 'cuda:0', 5000);
    expect(router.route('matrix_multiply', 1 << 20, { at }).device).toBe('cpu');
  });

  it('survives being saved and loaded', () => {
    const router = make();
    const r = request(1 << 18, { at: ['cuda:0'], wanted: 'host' });
    for (let i = 0; i < 8; i++) live(router, r, { cpu: 700, 'cuda:0': 5000 });
    const next = make();
    expect(next.decide(r).device).toBe('cuda:0');
    next.relearn(new Map(JSON.parse(JSON.stringify([...router.learned()]))));
    expect(next.decide(r).device).toBe('cpu');
  });

  it('counts in stats', () => {
    const router = make();
    const r = request(1 << 20, { at: ['cuda:0'] });
    for (let i = 0; i < 3; i++) {
      const d = router.decide(r);
      router.observeCall(d, 2 * d.predictions[1]!.us);
    }
    const [row] = router.stats();
    expect(row).toMatchObject({ op: 'element_wise', device: 'cuda:0', count: 3, decisions: 3, explored: 0 });
    expect(row!.error).toBeCloseTo(1);
    expect(row!.totalMs).toBeCloseTo(2 * row!.predictedMs);
    expect(row!.meanMs).toBeCloseTo(row!.totalMs / 3);
  });
});

describe('exploring', () => {
  // Close to a tie, so that trying the other device costs little.
  const near = request(1 << 18, { at: ['cpu', 'cuda:0'], wanted: 'host' });
  const truth = { cpu: 400, 'cuda:0': 420 };

  it('stays within its share of the routed time', () => {
    const router = make({ explore: { maxShare: 0.02 } });
    let tried = 0;
    for (let i = 0; i < 3000; i++) {
      const d = router.decide(near);
      if (d.explored) tried++;
      router.observeCall(d, truth[d.device as 'cpu']);
    }
    const { lostUs, routedUs } = router.exploration();
    expect(tried).toBeGreaterThan(0);
    expect(lostUs).toBeLessThanOrEqual(0.02 * routedUs);
    expect(lostUs).toBeGreaterThan(0);
  });

  it('ends when the work was measured often enough', () => {
    const router = make({ explore: { maxShare: 0.5, minSamples: 3 } });
    for (let i = 0; i < 200; i++) live(router, near, truth);
    expect(Array.from({ length: 50 }, () => router.decide(near).explored)).not.toContain(true);
  });

  it('never tries what is predicted to take much longer, or long at all', () => {
    const far = request(1 << 24, { at: ['cuda:0'] });
    const router = make({ explore: { maxShare: 0.5 } });
    for (let i = 0; i < 200; i++) expect(router.decide(far).explored).toBe(false);
    const hasty = make({ explore: { maxShare: 0.5, maxMs: 0.1 } });
    for (let i = 0; i < 200; i++) expect(hasty.decide(near).explored).toBe(false);
  });

  it('can be switched off', () => {
    const router = make({ explore: false });
    for (let i = 0; i < 500; i++) expect(router.decide(near).explored).toBe(false);
  });
});

describe('epoch', () => {
  it('grows when something notable was learned, four times a second at most', () => {
    let now = 0;
    const router = make(quiet, () => now);
    const r = request(1 << 18, { at: ['cuda:0'] });
    const { work } = r.candidates[0]!;
    expect(router.epoch).toBe(0);
    for (let i = 0; i < 3; i++) router.observe(r.op, work, 'cuda:0', 10, 1000);
    expect(router.epoch).toBe(1);
    for (let i = 0; i < 30; i++) router.observe(r.op, work, 'cuda:0', 10, 1000 * 3 ** i);
    expect(router.epoch).toBe(1);
    now = 250;
    router.observe(r.op, work, 'cuda:0', 10, 1000);
    expect(router.epoch).toBe(2);
  });

  it('stays as it is while predictions hold', () => {
    let now = 0;
    const router = make(quiet, () => (now += 1000));
    const r = request(1 << 18, { at: ['cuda:0'] });
    const { us } = router.explain(r).predictions[1]!;
    for (let i = 0; i < 50; i++) router.observeCall(router.decide(r), us * (1 + 0.02 * (i % 2)));
    expect(router.epoch).toBe(0);
  });
});

describe('home', () => {
  it('follows calibrated costs, then where data of that size was used', () => {
    const router = make();
    const both = ['cpu', 'cuda:0'];
    expect(router.home(100, both)).toBe('cpu');
    expect(router.home(1 << 30, both)).toBe('cuda:0');
    expect(router.home(1 << 30, ['cpu'])).toBe('cpu');
    for (let i = 0; i < 20; i++) router.decide(request(25, { penalties: { cpu: 1e6 } }));
    expect(router.home(100, both)).toBe('cuda:0');
  });

  it('heeds only where data of the host went, not where data of devices stayed', () => {
    const router = make();
    for (let i = 0; i < 20; i++) router.decide(request(25, { at: ['cuda:0'], penalties: { cpu: 1e6 } }));
    expect(router.home(100, ['cpu', 'cuda:0'])).toBe('cpu');
  });
});

describe('explain', () => {
  it('gives costs, place of the data, samples and the reason, and changes nothing', () => {
    const router = make();
    const e = router.explain('reduction', 1 << 20, { at: 'cuda:0' });
    expect(e).toMatchObject({ op: 'reduction', elements: 1 << 20, device: 'cuda:0', location: ['cuda:0'], samples: 0 });
    expect(e.predictions.map((p) => p.device)).toEqual(['cpu', 'cuda:0']);
    expect(e.reason).toMatch(
      /^the least predicted cost: cuda:0 \d.* µs \(.* of work, from calibration\) against cpu .* of transfers and waiting, from calibration\)$/,
    );
    expect(router.stats()).toEqual([]);
  });

  it('explains the requests of the runtime too', () => {
    const router = make();
    expect(router.explain(request(100)).location).toEqual(['host']);
  });
});

describe('the shared router', () => {
  it('is one object, and refuses other options', () => {
    const first = Router.shared({ mode: 'rules' }, new Map(), { devices: ['cpu'], hosts: ['cpu'] });
    expect(Router.shared({ mode: 'rules' })).toBe(first);
    expect(() => Router.shared({ mode: 'off' })).toThrow(ArgumentError);
    expect(() => Router.shared()).toThrow(/exists with other options/);
  });
});

it('decides in microseconds', () => {
  const router = make();
  for (const op of ['matrix_multiply', 'element_wise', 'reduction'] as const) {
    const samples: number[] = [];
    const r = request(1 << 16, { op, at: ['cuda:0'] });
    for (let i = 0; i < 4000; i++) {
      const start = performance.now();
      router.decide(r);
      if (i >= 3000) samples.push((performance.now() - start) * 1000);
    }
    samples.sort((a, b) => a - b);
    expect(samples[500]!).toBeLessThan(within(20));
  }
});
