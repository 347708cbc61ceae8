// Reports and exports: the text, Trace Event JSON, speedscope, folded stacks.

import { describe, expect, it, vi } from 'vitest';
import { createRuntime, type Tensor } from '../../src/index.ts';
import { flameOf } from '../../src/profile/export/flame.ts';
import { exporters, type ProfileFile, Profiler, type TraceEvent, textReport } from '../../src/profile/index.ts';
import { callsOf, device, entry, kernel, profileOf } from './support.ts';

const text = async (kind: keyof typeof exporters, profile: ProfileFile): Promise<string> =>
  [...(await exporters[kind](profile))].join('');

const spec = (): ProfileFile => {
  const entries = callsOf({
    graph_search: [100.12],
    matrix_multiply: [22.35, 22.35, 22.35],
    xor_transform: [1.5, 1.51],
  });
  const on = (operation: string): string => (operation === 'matrix_multiply' ? 'cuda:0' : 'cpu');
  const time = {
    busy: 0.39,
    idleHost: 0.58,
    idleTransfer: 0.03,
    idleUnknown: 0,
    longestGapMs: 5,
    longestGapStart: 0,
    longestGapLine: null,
  };
  return profileOf({
    entries: entries.map((e) => ({ ...e, device: on(e.operation) })),
    wallMs: 170,
    devices: [device({ id: 'cuda:0', time })],
  });
};

describe('the text report', () => {
  it('has exactly the form that is documented', () => {
    expect(textReport(spec())).toBe(
      [
        'Profile  3 operations, 6 calls, 170.0 ms wall (Node 20.20, cuda:0 NVIDIA H200)',
        'Operation        Calls  Total (ms)  Avg (ms)  Self (ms)   % Time  Device',
        'graph_search         1      100.12    100.12     100.12    58.8   cpu',
        'matrix_multiply      3       67.05     22.35      67.05    39.4   cuda:0',
        'xor_transform        2        3.01      1.50       3.01     1.8   cpu',
        'GPU busy 39 %, idle 61 %: 58 % waiting for the host, 3 % for transfers. 0 dropped.',
        '',
      ].join('\n'),
    );
  });

  it('keeps to 80 columns, cuts names, and no name moves the cursor', () => {
    const name = `\u001b[31m${'long '.repeat(30)}\n`;
    const report = textReport(profileOf({ entries: callsOf({ [name]: [123456.789], b: [1] }) }));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
    expect(report).not.toMatch(/\u001b/);
    const lines = report.trimEnd().split('\n');
    expect(lines.length).toBe(5);
    for (const line of lines.slice(1)) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('has shares of self time that add up to 100, also for nested scopes', () => {
    const entries = [
      entry({ id: 1, operation: 'outer', startMs: 0, durationMs: 10 }),
      entry({ id: 2, parentId: 1, operation: 'inner', startMs: 1, durationMs: 6 }),
      entry({ id: 3, operation: 'last', startMs: 10, durationMs: 10 }),
    ];
    const shares = textReport(profileOf({ entries }))
      .split('\n')
      .slice(2, 5)
      .map((l) => Number(l.slice(55, 63)));
    expect(shares).toEqual([50, 30, 20]);
  });

  it('says so when there is nothing, and what was dropped, detailed or unknown', () => {
    expect(textReport(profileOf({ entries: [] }))).toMatch(/Nothing was measured/);
    const more = textReport({
      ...profileOf({ entries: callsOf({ a: [1] }) }),
      dropped: { entries: 5, kernels: 2, transfers: 0 },
      orphans: 3,
      violations: 1,
      options: { detailed: true, capacity: 10, slowdown: 1.5 },
    });
    expect(more).toMatch(/Device times were not measured\. 7 dropped\./);
    expect(more).toMatch(/Detailed: .* 1\.50 times as long/);
    expect(more).toMatch(/3 scopes whose parent is not known/);
    expect(more).toMatch(/1 kernels seem to start before/);
    expect(textReport(profileOf({ entries: callsOf({ a: [1], b: [2], c: [3] }) }), 2)).toMatch(/… and 1 more/);
  });

  it('is printed by the profiler', () => {
    const profiler = new Profiler();
    profiler.profile('a', () => 1);
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    profiler.printSummary();
    profiler.printBottlenecks();
    const said = log.mock.calls.map(([line]) => String(line));
    log.mockRestore();
    expect(said[0]).toMatch(/^Profile {2}1 operation, 1 call/);
    expect(said[1]).toMatch(/^1\. a: /);
  });
});

/** The rules of the Trace Event format, as its document has them. */
function checkTrace(events: readonly TraceEvent[]): void {
  const keys: Record<TraceEvent['ph'], readonly (keyof TraceEvent)[]> = {
    X: ['ts', 'dur'],
    M: ['args'],
    s: ['ts', 'id'],
    f: ['ts', 'id', 'bp'],
    C: ['ts', 'args'],
  };
  for (const e of events) {
    expect(keys[e.ph], JSON.stringify(e)).toBeDefined();
    for (const key of keys[e.ph]) expect(e[key], `${key} of ${JSON.stringify(e)}`).toBeDefined();
    expect(Number.isInteger(e.pid) && Number.isInteger(e.tid) && e.name !== '').toBe(true);
    if (e.ts !== undefined) expect(Number.isFinite(e.ts)).toBe(true);
    if (e.dur !== undefined) expect(e.dur).toBeGreaterThanOrEqual(0);
    if (e.ph === 'C') expect(Object.values(e.args!).every((v) => typeof v === 'number')).toBe(true);
  }
  // Complete events of a lane are inside or beside each other, never across.
  const lanes = Map.groupBy
    ? Map.groupBy(
        events.filter((e) => e.ph === 'X' && e.cat === 'scope'),
        (e) => e.tid,
      )
    : new Map(
        [...new Set(events.map((e) => e.tid))].map((t) => [
          t,
          events.filter((e) => e.ph === 'X' && e.cat === 'scope' && e.tid === t),
        ]),
      );
  for (const list of lanes.values()) {
    const open: number[] = [];
    for (const e of [...list].sort((a, b) => a.ts! - b.ts! || b.dur! - a.dur!)) {
      while (open.length > 0 && open.at(-1)! <= e.ts!) open.pop();
      if (open.length > 0) expect(e.ts! + e.dur!).toBeLessThanOrEqual(open.at(-1)! + 1);
      open.push(e.ts! + e.dur!);
    }
  }
}

describe('Trace Event JSON', () => {
  it('keeps the rules of the format, with lanes, arrows and curves, for a real program', async () => {
    await using rt = await createRuntime({ devices: ['webgpu'] });
    const profiler = await new Profiler({ runtimes: [rt], detailed: true }).ready();
    const x = rt.tensor(new Float32Array(10_000));
    await profiler.profile('root', async () => {
      await Promise.all(
        [1, 2, 3].map((k) =>
          profiler.profile(`branch ${k}`, async () => {
            await x.mul(k).cumsum(0).data();
          }),
        ),
      );
    });
    const trace = JSON.parse(await profiler.exportTrace()) as {
      traceEvents: TraceEvent[];
      otherData: { detailed: boolean; clockErrorUs: Record<string, number> };
    };
    const events = trace.traceEvents;
    checkTrace(events);
    const count = (ph: string, cat?: string): number =>
      events.filter((e) => e.ph === ph && (!cat || e.cat === cat)).length;
    expect(count('X', 'scope')).toBe(4);
    expect(count('X', 'kernel')).toBeGreaterThanOrEqual(6);
    expect(count('s')).toBe(count('X', 'kernel'));
    expect(count('f')).toBe(count('s'));
    expect(count('C')).toBeGreaterThan(4);
    const names = events.filter((e) => e.name === 'thread_name').map((e) => e.args!.name);
    expect(names).toContain('main');
    expect(names).toContain('webgpu:0 compute');
    expect(names).toContain('webgpu:0 copy');
    expect(trace.otherData.detailed).toBe(true);
    expect(trace.otherData.clockErrorUs['webgpu:0']).toBeGreaterThanOrEqual(0);
    // An arrow never points backwards by more than the clocks may be apart.
    for (const s of events.filter((e) => e.ph === 's')) {
      const f = events.find((e) => e.ph === 'f' && e.id === s.id)!;
      expect(f.ts! + trace.otherData.clockErrorUs['webgpu:0']! + 1).toBeGreaterThanOrEqual(s.ts!);
    }
  });

  it('keeps scopes that only overlap in lanes of their own', async () => {
    const entries = [
      entry({ id: 1, operation: 'a', startMs: 0, durationMs: 10 }),
      entry({ id: 2, operation: 'b', startMs: 5, durationMs: 10 }),
      entry({ id: 3, parentId: 1, operation: 'late child', startMs: 8, durationMs: 5 }),
      entry({ id: 4, parentId: 2, operation: 'child of b', startMs: 6, durationMs: 1 }),
    ];
    const { traceEvents } = JSON.parse(await text('trace', profileOf({ entries })));
    checkTrace(traceEvents);
    const tid = (name: string) => traceEvents.find((e: TraceEvent) => e.name === name).tid;
    expect(tid('child of b')).toBe(tid('b'));
    expect(new Set(['a', 'b', 'late child'].map(tid)).size).toBe(3);
  });
});

describe('flame graphs', () => {
  const overlapping = () => [
    entry({ id: 1, operation: 'root', startMs: 0, durationMs: 10 }),
    entry({ id: 2, parentId: 1, operation: 'x;y', startMs: 1, durationMs: 6 }),
    entry({ id: 3, parentId: 1, operation: 'z', startMs: 4, durationMs: 5.5 }),
    entry({ id: 4, parentId: 3, operation: 'outlives', startMs: 9, durationMs: 4 }),
  ];

  it('have children that never exceed their parents, and count each moment once', () => {
    const root = flameOf(overlapping());
    const check = (node: ReturnType<typeof flameOf>): void => {
      const below = [...node.children.values()].reduce((s, c) => s + c.total, 0);
      expect(below).toBeLessThanOrEqual(node.total + 1e-9);
      for (const child of node.children.values()) check(child);
    };
    check(root);
    // From 0 to 13 something was open all the time.
    expect(root.total).toBeCloseTo(13, 6);
    expect(root.children.get('root')!.total).toBeCloseTo(10, 6);
    expect(root.children.get('outlives')!.total).toBeCloseTo(3, 6);
  });

  it('fold into stacks whose numbers add up to the total', async () => {
    const folded = await text('folded', profileOf({ entries: overlapping() }));
    const lines = folded.trimEnd().split('\n');
    for (const line of lines) expect(line).toMatch(/^[^;]+(;[^;]+)* \d+$/);
    expect(lines.some((l) => l.startsWith('root;x_y '))).toBe(true);
    const sum = lines.reduce((s, l) => s + Number(l.split(' ').at(-1)), 0);
    expect(Math.abs(sum - 13_000)).toBeLessThanOrEqual(lines.length);
  });

  it('are evented profiles for speedscope: what opens closes, in order, inside', async () => {
    const profile = profileOf({
      entries: overlapping(),
      kernels: [kernel({ id: 1, start: 1, ms: 3 }), kernel({ id: 2, start: 2, ms: 3, name: 'mul' })],
    });
    const file = JSON.parse(await text('speedscope', profile));
    expect(file.$schema).toBe('https://www.speedscope.app/file-format-schema.json');
    const names = file.shared.frames.map((f: { name: string }) => f.name);
    expect(names).toEqual(expect.arrayContaining(['root', 'x;y', 'z', 'outlives', 'add_f32', 'mul']));
    for (const p of file.profiles) {
      expect(p).toMatchObject({ type: 'evented', unit: 'milliseconds' });
      const open: number[] = [];
      let last = p.startValue;
      for (const e of p.events) {
        expect(e.at).toBeGreaterThanOrEqual(last);
        last = e.at;
        if (e.type === 'O') open.push(e.frame);
        else expect(open.pop()).toBe(e.frame);
      }
      expect(open).toEqual([]);
      expect(last).toBe(p.endValue);
    }
  });
});

it('self times of a real program add up to the time of its roots', async () => {
  await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
  const profiler = await new Profiler({ runtimes: [rt] }).ready();
  const step = profiler.wrap(async (x: Tensor) => (await x.add(1).data())[0], { operation: 'step' });
  await profiler.profile('root', () => Promise.all([1, 2, 3, 4].map((k) => step(rt.full([1000], k)))));
  const folded = await profiler.exportFlame();
  const sum = folded
    .trimEnd()
    .split('\n')
    .reduce((s, l) => s + Number(l.split(' ').at(-1)), 0);
  const root = profiler.getEntries().find((e) => e.operation === 'root')!;
  expect(Math.abs(sum - 1000 * root.durationMs)).toBeLessThanOrEqual(10);
});
