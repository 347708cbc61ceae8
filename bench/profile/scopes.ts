// What a scope costs, off and on, and what attaching to a runtime costs.

import type { Runtime } from '../../src/index.ts';
import { Profiler } from '../../src/profile/index.ts';
import { median, type Row, verdict } from '../compute/report.ts';

let sink = 0;
const body = (): number => ++sink;

/** ns of one call, over and above the call of the body itself; medians of rounds that take turns. */
export function costs(
  kinds: Readonly<Record<string, () => unknown>>,
  calls = 20_000,
  rounds = 21,
): Record<string, number[]> {
  const found: Record<string, number[]> = Object.fromEntries(Object.keys(kinds).map((k) => [k, []]));
  const time = (work: () => unknown): number => {
    const start = performance.now();
    for (let i = 0; i < calls; i++) work();
    return (1e6 * (performance.now() - start)) / calls;
  };
  for (const work of Object.values(kinds)) time(work);
  for (let r = 0; r < rounds; r++) {
    const bare = time(body);
    for (const [name, work] of Object.entries(kinds)) found[name]!.push(Math.max(0, time(work) - bare));
  }
  return found;
}

const ns = (v: number): string => (v < 1000 ? `${v.toFixed(1)} ns` : `${(v / 1000).toFixed(2)} µs`);
const spread = (list: readonly number[]): string => {
  const sorted = [...list].sort((a, b) => a - b);
  return `${ns(sorted[Math.floor(0.1 * sorted.length)]!)} to ${ns(sorted[Math.floor(0.9 * sorted.length)]!)}`;
};

export async function scopes(): Promise<Row[]> {
  const off = new Profiler({ enabled: false });
  const on = new Profiler({ capacity: 1000 });
  const wrappedOff = off.wrap(body, { operation: 'work' });
  const wrappedOn = on.wrap(body, { operation: 'work' });
  const span = (profiler: Profiler) => () => {
    const open = profiler.span('work');
    body();
    open[Symbol.dispose]();
  };
  const found = costs({
    'profile off': () => off.profile('work', body),
    'span off': span(off),
    'wrap off': () => wrappedOff(),
    'profile on': () => on.profile('work', body),
    'span on': span(on),
    'wrap on': () => wrappedOn(),
  });
  const row = (name: string, limitNs: number): Row => {
    const list = found[name]!;
    const value = median(list);
    const [how, state] = name.split(' ');
    return {
      id: `cost ${state}`,
      what: `a scope by ${how}, profiler ${state}`,
      figures: `${ns(value)} (${spread(list)})`,
      limit: `at most ${ns(limitNs)}`,
      verdict: verdict(value <= limitNs),
      data: { medianNs: value, samples: list },
    };
  };
  return [
    row('profile off', 20),
    row('span off', 20),
    row('wrap off', 20),
    row('profile on', 2000),
    row('span on', 2000),
    row('wrap on', 2000),
  ];
}

export async function attaching(rt: Runtime): Promise<Row[]> {
  const profiler = new Profiler({ enabled: false, runtimes: [rt] });
  const times: number[] = [];
  for (let i = 0; i < 50; i++) {
    const start = performance.now();
    profiler.enable();
    times.push(performance.now() - start);
    await profiler.ready();
    await profiler.disable();
  }
  const value = median(times);
  return [
    {
      id: 'attach',
      what: 'attaching to a runtime',
      figures: `${(1000 * value).toFixed(0)} µs`,
      limit: 'at most 1 ms',
      verdict: verdict(value <= 1),
      data: { ms: value, samples: times },
    },
  ];
}
