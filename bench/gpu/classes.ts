// Programs of many classes through the public API; classes_torch.py measures PyTorch on the same and compares the values.
//
//   node --expose-gc dist/gpu/classes.mjs [--json FILE] [--only TEXT,…] [--warm MS] [--part I/N] [--parts] [--explain]
//   python3 dist/gpu/classes_torch.py FILE [--seconds N]
//
// The file holds, for each program, its time and some of its values. The second command prints the table.
// `--part` takes every N-th program: several processes may compile kernels beforehand.

import { writeFileSync } from 'node:fs';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';
import { adam } from './classes/adam.ts';
import type { Input } from './classes/program.ts';
import { programs } from './classes/programs.ts';
import { Bench } from './everyday/measure.ts';

const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at > 0 ? process.argv[at + 1] : undefined;
};

/** How many values of a result are compared: evenly spread over it, the first and the last among them. */
const samples = 1000;

/** The same numbers as `made` of classes_torch.py: a hash of each position. */
function made(rt: Runtime, { shape, dtype, below }: Input, seed: number): Tensor {
  const n = shape.reduce((a, d) => a * d, 1);
  let h = rt
    .arange(n)
    .cast('u32')
    .add(seed * 7919)
    .mul(2654435761);
  h = h.bitwiseXor(h.rightShift(15)).mul(2246822519);
  h = h.bitwiseXor(h.rightShift(13));
  const values =
    below === undefined
      ? h
          .rightShift(8)
          .cast('f32')
          .mul(2 ** -23)
          .sub(1)
      : h.rightShift(2).mod(below);
  return values.reshape(shape).cast(dtype).compute();
}

async function some(result: Tensor): Promise<number[]> {
  const flat = result.reshape([-1]);
  const n = flat.shape[0]!;
  const count = Math.min(samples, n);
  const at = Array.from({ length: count }, (_, i) => (count > 1 ? Math.floor((i * (n - 1)) / (count - 1)) : 0));
  const values = await flat
    .gather(rt.tensor(Int32Array.from(at)), 0)
    .cast('f64')
    .data();
  return Array.from(values as Float64Array);
}

const rt = await createRuntime({ devices: ['cuda'], seed: 1 });
const device = rt.devices().find((d) => d.open)!.name;
const bench = new Bench(rt, {
  only: option('--only')?.split(','),
  warmUpMs: Number(option('--warm') ?? 1500),
  parts: process.argv.includes('--parts'),
});
const file = option('--json');
const [part, parts] = (option('--part') ?? '0/1').split('/').map(Number) as [number, number];
const values: Record<string, (number | string)[]> = {};
for (const [at, { name, inputs, calls, run }] of [...programs, adam].entries()) {
  if (at % parts !== part || !bench.wants(name)) continue;
  try {
    const x = inputs.map((input, i) => made(rt, input, i));
    await bench.measure({
      name,
      calls,
      run: () => run(rt, ...(x as [Tensor, ...Tensor[]])),
      check: async () => {
        const result = run(rt, ...(x as [Tensor, ...Tensor[]]));
        if (process.argv.includes('--explain')) console.log(String(rt.explain(result)));
        values[name] = (await some(result)).map((v) => (Number.isFinite(v) ? v : String(v)));
        result.dispose();
      },
    });
    for (const t of x) t.dispose();
    // After each: what was measured is there even if the run is cut short.
    if (file)
      writeFileSync(file, JSON.stringify({ device, rows: bench.rows.map((r) => ({ ...r, values: values[r.name] })) }));
  } catch (error) {
    console.log(`${name}: ${error}`);
    process.exitCode = 1;
  }
}
await rt.close();
