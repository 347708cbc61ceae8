// Adaptive chunks beside a fixed hundred: many small records, some of middling size, few large ones.
//
// The large ones arrive over time, as large records do: a source that takes 4 ms for 4 MB, like a disk or a network of 1 GB/s.
// Of records that are in memory already there is little to win: they travel one by one whatever the chunk is. Of records that
// arrive, a chunk must be neither so large that the device waits for it, nor so small that it costs.

import { median, type Row, verdict } from './report.ts';
import { type Setup, values } from './setup.ts';

interface Work {
  readonly what: string;
  readonly records: number;
  readonly length: number;
  /** How much faster adaptive chunks have to be. */
  readonly least: number;
  readonly from: 'memory' | 'source';
}

const works: readonly Work[] = [
  { what: 'many small: 100,000 records of 64 B', records: 100_000, length: 16, least: 1.2, from: 'memory' },
  { what: 'middling: 2,000 records of 16 KB', records: 2000, length: 4096, least: 0.95, from: 'memory' },
  { what: 'few large: 80 records of 4 MB, 1 GB/s', records: 80, length: 1 << 20, least: 1.2, from: 'source' },
  { what: 'few large: 200 records of 2 MB in memory', records: 200, length: 1 << 19, least: 0.95, from: 'memory' },
];

/** The same records again and again: the data itself must not become the bottleneck. */
function* inMemory(block: Float32Array, { records, length }: Work): Generator<Float32Array> {
  const different = block.length / length;
  for (let i = 0; i < records; i++) {
    const at = (i % different) * length;
    yield block.subarray(at, at + length);
  }
}

async function* arriving(block: Float32Array, work: Work): AsyncGenerator<Float32Array> {
  const bytesPerMs = 2 ** 20;
  for (const record of inMemory(block, work)) {
    await new Promise((resolve) => setTimeout(resolve, record.byteLength / bytesPerMs));
    yield record;
  }
}

export async function adaptiveChunks({ make }: Setup): Promise<Row[]> {
  const rows: Row[] = [];
  for (const work of works) {
    const { what, records, length, least, from } = work;
    const block = values(Math.min(records, 16) * length);
    const source = () => (from === 'source' ? arriving(block, work) : inMemory(block, work));
    const gpu = make();
    await gpu.devices.ready();
    const times = { fixed: [] as number[], adaptive: [] as number[] };
    let sizes: number[] = [];
    gpu.on('chunk', (e) => sizes.push(e.size));
    let settled = 0;
    for (let round = 0; round < 8; round++) {
      for (const mode of round % 2 === 0 ? (['fixed', 'adaptive'] as const) : (['adaptive', 'fixed'] as const)) {
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
