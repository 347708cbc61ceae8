// Stacks of rows under different layouts, to choose the usual one by (`src/devices/cuda/routines/rows/layout.ts`): µs per call.
//
//   node --expose-gc dist/gpu/rows.mjs [--only TEXT,…]

import { createRuntime, type Tensor } from '../../src/index.ts';
import { Bench, near, peek } from './everyday/measure.ts';
import { spread } from './everyday/models.ts';

const at = process.argv.indexOf('--only');
const only = at > 0 ? process.argv[at + 1]!.split(',') : undefined;

interface Cut {
  readonly threads?: number;
  readonly resident?: number;
}

/** The usual one first. */
const cuts: readonly Cut[] = [
  {},
  { threads: 512, resident: 0 },
  { threads: 256, resident: 0 },
  { threads: 128, resident: 0 },
  { threads: 512, resident: 2 },
  { threads: 256, resident: 4 },
  { threads: 256, resident: 3 },
  { threads: 128, resident: 8 },
  { threads: 64, resident: 0 },
];

for (const rows of cuts) {
  const rt = await createRuntime({ devices: ['cuda'], seed: 1, cuda: { tuning: { rows } } });
  const bench = new Bench(rt, { only, warmUpMs: 60 });
  console.log(JSON.stringify(rows));
  /** Rows of every result have a sum that is known. */
  const measure = async (name: string, run: () => Tensor, sum: number): Promise<void> =>
    bench.measure({
      name,
      run,
      calls: 20,
      check: async () => {
        for (const got of await peek(run().cast('f32').sum({ axis: 1 }), 128)) near(name, got, sum, 2e-2);
      },
    });
  for (const shape of [
    [4096, 4096],
    [8192, 8192],
    [8192, 2048],
    [65536, 256],
  ]) {
    const x = spread(rt, shape);
    await measure(`softmax ${shape.join(' x ')}`, () => x.softmax(1), 1);
    await measure(`layer norm ${shape.join(' x ')}`, () => x.layerNorm(1), 0);
    x.dispose();
  }
  const doubles = spread(rt, [4096, 1024], 'f64');
  await measure('softmax 4096 x 1024 f64', () => doubles.softmax(1), 1);
  await measure('layer norm 4096 x 1024 f64', () => doubles.layerNorm(1), 0);
  doubles.dispose();
  const halves = spread(rt, [8192, 4096], 'bf16');
  await measure('softmax 8192 x 4096 bf16', () => halves.softmax(1), 1);
  const [a, b] = [spread(rt, [4096, 4096]), spread(rt, [4096, 4096])];
  await measure('softmax of a sum 4096 x 4096', () => a.add(b).softmax(1), 1);
  await rt.close();
}
