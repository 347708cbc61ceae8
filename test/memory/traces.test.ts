import { describe, expect, it } from 'vitest';
import { allocators } from '../../bench/memory/allocators.ts';
import { draw } from '../../bench/memory/draw.ts';
import { replay } from '../../bench/memory/replay.ts';
import { readRmm } from '../../bench/memory/rmm.ts';
import { FormatError } from '../../src/errors.ts';
import { dataframe, training } from '../support/traces.ts';

const GiB = 2 ** 30;

describe('allocation logs of RMM', () => {
  const log = [
    'Thread,Time,Action,Pointer,Size,Stream',
    '7,11:02:03.000001,allocate,0x7f0000000000,1048576,0x0',
    '7,11:02:03.000002,allocate,0x7f0000100000,256,0x0',
    '7,11:02:03.000003,free,0x7f0000000000,1048576,0x0',
    '7,11:02:03.000004,allocate failure,(nil),99999999999,0x0',
    '7,11:02:03.000005,allocate,0x7f0000000000,512,0x0',
    '7,11:02:03.000006,free,0x7f00deadbeef,64,0x0',
    '7,11:02:03.000007,free,0x7f0000000000,512,0x0',
    '',
  ].join('\n');

  it('become traces in which a pointer that comes back is another block', () => {
    const { trace, failures, unknownFrees } = readRmm(log);
    expect(trace).toEqual([
      { kind: 'allocate', id: 0, bytes: 1048576 },
      { kind: 'allocate', id: 1, bytes: 256 },
      { kind: 'release', id: 0 },
      { kind: 'allocate', id: 2, bytes: 512 },
      { kind: 'release', id: 2 },
    ]);
    expect([failures, unknownFrees]).toEqual([1, 1]);
  });

  it('are refused with the line where they make no sense', () => {
    const refused = (text: string, message: RegExp): void => {
      expect(() => readRmm(text)).toThrow(FormatError);
      expect(() => readRmm(text)).toThrow(message);
    };
    refused('', /line 1: there is no column 'action'/);
    refused('Action,Pointer,Size\nallocate,0x1,many', /line 2: 'many' is no size/);
    refused('Action,Pointer,Size\nallocate,0x1,4\nallocate,0x1,4', /line 3: 0x1 is allocated while it is in use/);
    refused('Action,Pointer,Size\nmove,0x1,4', /line 2: 'move' is no action/);
  });
});

describe('replays', () => {
  // The CPU device has 4 GiB at most.
  const devices = Object.entries(allocators).map(([name, make]) => ({
    name,
    make,
    bytes: (name === 'cpu' ? 4 : 96) * GiB,
  }));

  it.each(devices)('keep reserved memory within 1.08 of what is live: $name', ({ make, bytes }) => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const { ratio, livePeak } = replay(dataframe(seed, 2115, (73.2 / 96) * bytes), make(bytes));
      expect(livePeak).toBeGreaterThan(0.6 * bytes);
      expect(ratio).toBeGreaterThanOrEqual(1);
      expect(ratio, `seed ${seed}`).toBeLessThanOrEqual(1.08);
    }
  });

  it.each(devices)('hit in loops with equal sizes, and with sizes that vary: $name', ({ make, bytes }) => {
    for (const [rounds, jitter, least] of [
      [20, 0, 0.995],
      [100, 0.2, 0.95],
    ] as const) {
      const { trace, perRound } = training(rounds, jitter, 1);
      const { hits } = replay(trace, make(bytes), trace.length - (rounds - 2) * perRound);
      expect(hits, `± ${jitter}`).toBeGreaterThanOrEqual(least);
    }
  });

  it('find an allocator that hands out the same bytes twice', () => {
    const broken = {
      name: 'broken',
      allocate: () => ({ address: 64 }),
      release: () => {},
      reserved: () => 0,
      calls: () => 0,
      address: (b: unknown) => (b as { address: number }).address,
    };
    expect(() => replay(training(1, 0, 1).trace, broken)).toThrow(/broken: blocks overlap/);
  });
});

it('a chart is drawn from its points, with text that is safe in XML', () => {
  const points = [0, 50, 100].map((at) => ({ at, live: at, reserved: 2 * at, spilled: 0, level: 'low' }));
  const svg = draw({ points, marks: [{ at: 50, text: 'a < b & c', kind: 'cleanup' }], budgetMb: 200 }, 'Title');
  expect(svg).toMatch(/^<svg[^>]*>[\s\S]*<\/svg>\n$/);
  expect(svg).toContain('a &lt; b &amp; c');
  expect(svg.match(/<path /g)!.length).toBe(3);
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
});
