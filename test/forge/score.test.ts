import { describe, expect, it } from 'vitest';
import { detect } from '../../src/forge/detect/detect.ts';
import { rankGpus, scoreGpu } from '../../src/forge/detect/score.ts';
import { play } from './fixtures/fixture.ts';
import { type MachineName, machine, machineNames } from './fixtures/machines.ts';

async function gpusOf(name: MachineName) {
  return (await detect(play(machine(name)))).machine.gpus;
}

describe('the suitability score', () => {
  it('ranks real cards apart', async () => {
    const order: MachineName[] = ['h200', 'rtx5090', 'rtx4090', 'rtx3060', 'gtx1080', 'irisXe'];
    const totals = await Promise.all(order.map(async (name) => scoreGpu((await gpusOf(name))[0]!).total));
    for (let i = 1; i < totals.length; i++) expect(totals[i - 1]! - totals[i]!, order[i]).toBeGreaterThan(3);
  });

  it('ranks AMD cards among themselves the same way', async () => {
    const order: MachineName[] = ['mi300x', 'rx7900xtx', 'rx6700xt'];
    const totals = await Promise.all(order.map(async (name) => scoreGpu((await gpusOf(name))[0]!).total));
    expect(totals).toEqual([...totals].sort((a, b) => b! - a!));
    expect(new Set(totals).size).toBe(3);
  });

  it.each(machineNames)('shows on %s parts that add up and stay in their bounds', async (name) => {
    for (const score of rankGpus(await gpusOf(name))) {
      const known = score.parts.filter((part) => part.points !== null);
      for (const part of known) expect(part.points! >= 0 && part.points! <= part.most, part.name).toBe(true);
      for (const part of score.parts) expect(part.because).not.toBe('');
      if (score.total === null) continue;
      const sum = known.reduce((total, part) => total + part.points!, 0);
      const most = known.reduce((total, part) => total + part.most, 0);
      expect(score.total).toBeCloseTo((sum / most) * 100, 0);
      expect(score.complete).toBe(known.length === 3);
    }
  });

  it('gives no score to a card nothing is known of', async () => {
    expect(scoreGpu((await gpusOf('unknownCard'))[0]!).total).toBeNull();
  });

  it('puts what cannot be used behind what can', async () => {
    const ranked = rankGpus(await gpusOf('vfio'));
    expect(ranked.map(({ id }) => id)).toEqual(['pci:0000:00:02.0', 'pci:0000:01:00.0']);
  });
});
