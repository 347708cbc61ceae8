// Adaptive chunks beside a fixed hundred: many small records, some of middling size, few large ones.

import { median, type Row, verdict } from './report.ts';
import { type Setup, values } from './setup.ts';

interface Work {
  readonly what: string;
  readonly records: number;
  readonly length: number;
  /** How much faster adaptive chunks have to be. */
  readonly least: number;
}

const works: readonly Work[] = [
  { what: 'many small: 100,000 records of 64 B', records: 100_000, length: 16, least: 1.2 },
  { what: 'middling: 2,000 records of 16 KB', records: 2000, length: 4096, least: 0.95 },
  // Large records are streamed one by one whatever the chunk is, so there is little to win.
  { what: 'few large: 200 records of 2 MB', records: 200, length: 1 << 19, least: 0.95 },
];

export async function adaptiveChunks({ make }: Setup): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { what, records, length, least } of works) {
    const block = values(Math.min(records, 64) * length);
    // The same records again and again: the data itself must not become the bottleneck.
    function* source(): Generator<Float32Array> {
      for (let i = 0; i < records; i++) yield block.subarray((i % 64) * length, ((i % 64) + 1) * length);
    }
    const gpu = make();
    await gpu.devices.ready();
    const times = { fixed: [] as number[], adaptive: [] as number[] };
    let sizes: number[] = [];
    gpu.on('chunk', (e) => sizes.push(e.size));
    let settled = 0;
    for (let round = 0; round < 6; round++) {
      for (const mode of ['fixed', 'adaptive'] as const) {
        sizes = [];
        const start = performance.now();
        await gpu.processDataset(source(), { op: 'meanSquare', chunkSize: mode === 'fixed' ? 100 : 'adaptive' });
        // The first rounds compile, and the adaptive chunks still search.
        if (round > 1) times[mode].push(performance.now() - start);
        if (mode === 'adaptive') settled = median(sizes);
      }
    }
    await gpu.dispose();
    const [fixed, adaptive] = [median(times.fixed), median(times.adaptive)];
    rows.push({
      id: 'I1',
      what,
      figures: `${adaptive.toFixed(0)} ms against ${fixed.toFixed(0)} ms: ${(fixed / adaptive).toFixed(2)} times as fast (chunks of ${settled})`,
      limit: `at least ${least}`,
      verdict: verdict(fixed / adaptive >= least),
      data: { fixed, adaptive, ratio: fixed / adaptive, chunk: settled },
    });
  }
  return rows;
}
