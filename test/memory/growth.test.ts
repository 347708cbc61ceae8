import { expect, it } from 'vitest';
import type { LeakReport } from '../../src/governor/memory/leaks.ts';
import { createRuntime, type Tensor } from '../../src/index.ts';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

it('a runtime that keeps its tensors is told the line that makes them; one that frees them is not', async () => {
  const rt = await createRuntime({
    devices: ['cpu'],
    cpu: { threads: 1 },
    memory: { sites: 'all', sampleMs: 2, leaks: { windowMs: 600, spanMs: 200, leastBytes: 2 ** 16 } },
  });
  try {
    const found: LeakReport[] = [];
    rt.on('growth', (r) => found.push(r));
    const kept: Tensor[] = [];
    const grow = (): void => void kept.push(rt.ones([1 << 14]).compute());
    const start = performance.now();
    while (performance.now() - start < 500) {
      rt.ones([1 << 14])
        .compute()
        .dispose();
      await pause(2);
    }
    expect(found).toEqual([]);
    while (found.length === 0 && performance.now() - start < 20_000) {
      grow();
      await pause(2);
    }
    const [report] = found;
    expect(report).toMatchObject({ device: 'cpu' });
    expect(report!.mbPerMinute).toBeGreaterThan(0);
    expect(report!.minutesToFull).toBeGreaterThan(0);
    expect(report!.sites[0]!.site).toMatch(/growth\.test\.ts/);
    expect(report!.sites[0]!.growthBytes).toBeGreaterThanOrEqual(2 ** 16);
    expect(rt.memory.stats('cpu').leakReports.length).toBe(found.length);
    expect(kept.length).toBeGreaterThan(1);
  } finally {
    await rt.close();
  }
});
