// The format gpuforge.profile/1: written, read back, and refused where it is wrong.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createRuntime, ForgeError, FormatError, type Tensor } from '../../src/index.ts';
import { rowShapes } from '../../src/profile/file/shapes.ts';
import { profileText } from '../../src/profile/file/write.ts';
import { type ProfileFile, Profiler, readProfile } from '../../src/profile/index.ts';
import { within } from '../support/time.ts';
import { callsOf, entry, kernel, profileOf } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'gpuforge-profile-'));
afterAll(() => rmSync(folder, { recursive: true }));

const text = (profile: ProfileFile): string => [...profileText(profile)].join('');
const changed = (change: (file: Record<string, never>) => void): string => {
  const file = JSON.parse(text(sample()));
  change(file);
  return JSON.stringify(file);
};

const sample = (): ProfileFile =>
  profileOf({
    entries: [
      entry({ id: 2, parentId: 1, operation: 'in <b>', startMs: 1, durationMs: 2, metadata: { a: [1, { b: null }] } }),
      entry({ id: 1, operation: 'out', startMs: 0, durationMs: 5, gpuTimeMs: 1.5, issuedIn: [2], failed: true }),
    ],
    kernels: [kernel({ id: 1, entry: 2, ms: null }), kernel({ id: 2, start: 2, ms: 0.25 })],
  });

/** A parsed file, to be spoiled. */
// biome-ignore lint/suspicious/noExplicitAny: anything may be put anywhere
type Loose = any;

describe('a profile', () => {
  it('is the same after writing, reading and writing again, to the byte', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const profiler = await new Profiler({ runtimes: [rt] }).ready();
    await profiler.profile('load', { meta: { rows: 3, 'quote "': '✓' } }, async () => {
      const f = rt.compile((x: Tensor) => x.mul(2).add(1));
      for (let i = 0; i < 3; i++) await f(rt.tensor(new Float32Array(10_000).fill(i))).data();
      profiler.profile('inside', () => 1);
    });
    const profile = await profiler.collect();
    const first = text(profile);
    expect(profile.entries.length).toBe(2);
    const read = readProfile(first);
    expect(text(read)).toBe(first);
    expect(read.summary).toEqual(JSON.parse(JSON.stringify(profile.summary)));
    expect(read.entries).toEqual(JSON.parse(JSON.stringify(profile.entries)));
    expect(read.kernels).toEqual(profile.kernels);
    expect(await profiler.exportJSON()).toContain('"schema":"gpuforge.profile/1"');
  });

  it('has every key of the schema in each row, and no other', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const profiler = await new Profiler({ runtimes: [rt] }).ready();
    await profiler.profile('work', async () => {
      await rt.tensor(new Float32Array(5000)).add(1).cumsum(0).data();
    });
    const profile = await profiler.collect();
    for (const name of ['entries', 'kernels', 'transfers', 'compiles', 'memory'] as const) {
      expect(profile[name].length, name).toBeGreaterThan(0);
      for (const row of profile[name]) expect(Object.keys(row).sort()).toEqual(Object.keys(rowShapes[name]).sort());
    }
  });

  it('may have keys that nobody knows yet', () => {
    const file = changed((f: Record<string, unknown>) => {
      f.future = { a: 1 };
      (f.entries as Record<string, unknown>[])[0]!.future = 5;
    });
    expect(readProfile(file).entries[0]).not.toHaveProperty('future');
  });

  it.each<[string, RegExp, (f: Loose) => void]>([
    ['a number as text', /entries\[1\]\.durationMs is '5', not a number/, (f) => (f.entries[1].durationMs = '5')],
    ['a negative duration', /entries\[0\]\.durationMs is -1/, (f) => (f.entries[0].durationMs = -1)],
    ['no name', /entries\[0\]\.operation is missing, not text/, (f) => delete f.entries[0].operation],
    ['an id twice', /entries\[1\]\.id is 2, .*another entry has it/, (f) => (f.entries[1].id = 2)],
    ['a kernel id twice', /kernels\[1\]\.id is 1/, (f) => (f.kernels[1].id = 1)],
    ['a scope inside itself', /entries\[0\]\.parentId.*inside itself/, (f) => (f.entries[1].parentId = 2)],
    ['no list', /kernels is 5, not a list/, (f) => (f.kernels = 5)],
    ['a list of nothing', /entries\[0\] is null, not an object/, (f) => (f.entries[0] = null)],
    ['another version', /version 2 of the format \(gpuforge\.profile\/2\)/, (f) => (f.schema = 'gpuforge.profile/2')],
    ['something else', /no profile: its schema is missing/, (f) => delete f.schema],
    ['bad options', /options\.capacity is 0/, (f) => (f.options.capacity = 0)],
    ['a bad summary', /summary\.out\.callCount is 'x'/, (f) => (f.summary.out.callCount = 'x')],
    ['bad devices', /machine\.devices\[0\]\.software is 1/, (f) => (f.machine.devices[0].software = 1)],
  ])('with %s is refused by its path', (_, message, change) => {
    const file = changed(change as never);
    expect(() => readProfile(file)).toThrow(FormatError);
    expect(() => readProfile(file)).toThrow(message);
  });

  it('that is NaN in data, or breaks off, is refused with the path or the byte', () => {
    const data = JSON.parse(text(sample()));
    data.entries[0].selfMs = Number.NaN;
    expect(() => readProfile(data)).toThrow(/entries\[0\]\.selfMs is NaN/);
    const whole = text(sample());
    const half = whole.slice(0, 200);
    expect(() => readProfile(half)).toThrow(/at byte 200/);
    expect(() => readProfile(half)).toThrow(FormatError);
    // Bytes, not characters.
    expect(() => readProfile('{"a":"✓')).toThrow(/at byte 9/);
    for (const bad of ['', '[]', 'null', '5', '{}']) expect(() => readProfile(bad)).toThrow(FormatError);
  });
});

describe('files', () => {
  it('are written whole or not at all', async () => {
    const profiler = new Profiler();
    profiler.profile('a', () => 1);
    const file = join(folder, 'p.json');
    expect(await profiler.exportJSON(file)).toBe(file);
    expect(readProfile(readFileSync(file, 'utf8')).entries.length).toBe(1);
    const nowhere = join(folder, 'missing', 'p.json');
    await expect(profiler.exportJSON(nowhere)).rejects.toThrow(ForgeError);
    await expect(profiler.exportTrace(nowhere)).rejects.toThrow(/Make its folder first/);
    await expect(profiler.exportJSON('')).rejects.toThrow(/empty/);
    expect(existsSync(join(folder, 'missing'))).toBe(false);
    expect(readdirSync(folder)).toEqual(['p.json']);
  });

  it('of 100,000 entries take at most 25 MB and 1.5 s, without holding up the loop for 50 ms', async () => {
    const profiler = new Profiler();
    for (let i = 0; i < 50_000; i++) {
      profiler.profile(`step ${i % 40}`, { device: 'cuda:0', meta: { i } }, () => profiler.profile('inner', () => i));
    }
    const file = join(folder, 'large.json');
    // Time of the processor, not of the clock: somebody else may be using the machine.
    const used = (): number => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    };
    const attempts: { ms: number; longest: number }[] = [];
    for (let k = 0; k < 3; k++) {
      let [longest, last] = [0, used()];
      const timer = setInterval(() => {
        const now = used();
        longest = Math.max(longest, now - last);
        last = now;
      }, 1);
      const start = used();
      await profiler.exportJSON(file);
      attempts.push({ ms: used() - start, longest });
      clearInterval(timer);
      if (attempts.at(-1)!.ms < 1500 && longest < 50) break;
    }
    expect(readFileSync(file).byteLength).toBeLessThanOrEqual(25e6);
    expect(Math.min(...attempts.map((a) => a.ms))).toBeLessThan(within(1500));
    expect(Math.min(...attempts.map((a) => a.longest))).toBeLessThan(within(50));
  });

  it('may be a stream of lines, one for each scope that ended', async () => {
    const profiler = new Profiler({ capacity: 10 });
    const file = join(folder, 'stream.jsonl');
    const stream = await profiler.stream(file);
    for (let i = 0; i < 1000; i++) profiler.profile('outer', () => profiler.profile(`op ${i}`, () => i));
    await stream.close();
    profiler.profile('not in it', () => 1);
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    expect(lines.length).toBe(2000);
    const [inner, outer] = lines.slice(-2).map((l) => JSON.parse(l));
    expect(inner).toMatchObject({ operation: 'op 999', parentId: outer.id });
    expect(stream.dropped).toBe(0);
    await expect(profiler.stream(join(folder, 'missing', 's.jsonl'))).rejects.toThrow(ForgeError);
  });
});

describe('memory over time', () => {
  it('keeps at most 10,000 points, and every peak', async () => {
    const { MemoryCurve } = await import('../../src/profile/record/memory-curve.ts');
    const curve = new MemoryCurve();
    let peaks = 0;
    for (let i = 0; i < 200_000; i++) {
      const live = i % 9973 === 0 ? 1e9 + i : i % 1000;
      if (live >= 1e9) peaks++;
      curve.add({ t: i, device: i % 2 ? 'cpu' : 'cuda:0', live, reserved: live, others: null });
    }
    const points = curve.list();
    expect(points.length).toBeLessThanOrEqual(10_000);
    expect(points.filter((p) => p.live >= 1e9).length).toBe(peaks);
    expect(points.some((p) => p.live === 0)).toBe(true);
    for (let i = 1; i < points.length; i++) expect(points[i]!.t).toBeGreaterThanOrEqual(points[i - 1]!.t);
  });
});

it('calls made by hand are whole profiles', () => {
  const profile = profileOf({ entries: callsOf({ a: [1, 2], b: [3] }) });
  expect(text(readProfile(text(profile)))).toBe(text(profile));
});
