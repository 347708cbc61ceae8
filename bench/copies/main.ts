// npm run bench -- copies: how fast bytes go between the host and devices, and between devices, in GB/s.
//
//   --devices cpu,webgpu   the kinds of devices, the default; `cuda,cpu` on a machine with a GPU
//   --json FILE            the table as data as well
//
// On a host without the sources: node dist/gpu/copies.mjs --devices cuda,cpu
//
// `host → device` is rt.tensor (a copy of an ordinary array, and of a pinned one where there is such memory), `device → host` is data({ into }),
// `device → device` is tensor.to(device): directly where the devices reach each other (`Device.copyFrom`), else through the host. A second CPU device
// stands for a second GPU where there is none. Each time is the median of rounds in which all ways take turns; the bytes are compared once.

import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { createRuntime, type Runtime, type Tensor } from '../../src/index.ts';

const args = process.argv.slice(2);
const option = (name: string, usual: string): string => {
  const i = args.indexOf(`--${name}`);
  return i < 0 ? usual : (args[i + 1] ?? usual);
};

const sizes = [1 << 16, 1 << 20, 1 << 24, 1 << 26];
const rounds = 9;

/** One way of bytes: the milliseconds of one copy. */
interface Way {
  readonly name: string;
  readonly direct: boolean | null;
  run(bytes: number): Promise<number>;
}

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const filled = new Map<number, Float32Array<ArrayBuffer>>();
function numbers(bytes: number): Float32Array<ArrayBuffer> {
  let found = filled.get(bytes);
  if (!found) filled.set(bytes, (found = Float32Array.from({ length: bytes / 4 }, (_, i) => i % 1021)));
  return found;
}

function check(got: ArrayLike<number>, bytes: number, way: string): void {
  const want = numbers(bytes);
  if (got.length !== want.length || want.some((v, i) => v !== got[i])) throw new Error(`${way}: other bytes arrived`);
}

/** A tensor that is on a device and finished. */
async function placed(rt: Runtime, device: string, bytes: number): Promise<Tensor<'f32'>> {
  const t = rt.scope({ device }, () => rt.tensor(numbers(bytes)).compute()) as Tensor<'f32'>;
  await t.to(device);
  await rt.flush();
  return t;
}

function waysOf(rt: Runtime, devices: readonly string[]): Way[] {
  const ways: Way[] = [];
  const checked = new Set<string>();
  const once = async (name: string, bytes: number, t: Tensor): Promise<void> => {
    if (checked.has(name)) return;
    checked.add(name);
    check((await t.data()) as Float32Array, bytes, name);
  };
  for (const id of devices) {
    const upload = (name: string, source: (bytes: number) => Float32Array): Way => ({
      name,
      direct: null,
      run: async (bytes) => {
        const array = source(bytes);
        let made: Tensor | null = null;
        const ms = await timed(async () => {
          made = rt.scope({ device: id }, () => rt.tensor(array));
          await rt.flush();
        });
        await once(name, bytes, made!);
        made!.dispose();
        return ms;
      },
    });
    ways.push(upload(`host → ${id}`, numbers));
    if (rt.device(id).pinned) {
      const arrays = new Map<number, Float32Array>();
      ways.push(
        upload(`host, pinned → ${id}`, (bytes) => {
          if (!arrays.has(bytes)) {
            const array = rt.pinned(bytes / 4);
            array.set(numbers(bytes));
            arrays.set(bytes, array);
          }
          return arrays.get(bytes)!;
        }),
      );
    }
    const targets = new Map<number, Float32Array>();
    ways.push({
      name: `${id} → host`,
      direct: null,
      run: async (bytes) => {
        const t = await placed(rt, id, bytes);
        // The same array in every round: the pages of a new one would cost more than the copy.
        const into = targets.get(bytes) ?? new Float32Array(bytes / 4);
        targets.set(bytes, into);
        const ms = await timed(() => t.data({ into }));
        check(into, bytes, `${id} → host`);
        t.dispose();
        return ms;
      },
    });
    for (const other of devices.filter((d) => d !== id)) {
      const name = `${id} → ${other}`;
      ways.push({
        name,
        direct: rt.device(other).reaches?.(rt.device(id)) ?? false,
        run: async (bytes) => {
          const t = await placed(rt, id, bytes);
          const ms = await timed(async () => {
            await t.to(other);
            await rt.flush();
          });
          await once(name, bytes, t);
          t.dispose();
          return ms;
        },
      });
    }
  }
  return ways;
}

const kinds = option('devices', 'cpu,webgpu').split(',');
// Imported where it is used, as the runtime does it: in one bundle both ways would be one module that is begun twice.
const { createCpuDevice } = await import('../../src/devices.ts');
const second = await createCpuDevice({ id: 'cpu:1' });
const rt = await createRuntime({
  devices: [...(kinds as ('cpu' | 'webgpu' | 'cuda')[]), second],
  routing: { mode: 'off', cache: false },
  recovery: { keep: 'none' },
});
const devices = rt.devices().filter((d) => d.open);
const ways = waysOf(
  rt,
  devices.map((d) => d.id),
);
const gbs = (bytes: number, ms: number): number => bytes / ms / 1e6;
const table = ways.map((w) => ({ way: w.name, direct: w.direct, gbs: [] as number[] }));
for (const bytes of sizes) {
  const times = ways.map(() => [] as number[]);
  for (let round = -1; round < rounds; round++)
    for (const [i, way] of ways.entries()) {
      const ms = await way.run(bytes);
      // The first round pays for what later ones find ready.
      if (round >= 0) times[i]!.push(ms);
    }
  times.forEach((list, i) => {
    table[i]!.gbs.push(gbs(bytes, median(list)));
  });
}
await rt.close();

const machine = `${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${process.version}, load ${loadavg()[0]!.toFixed(1)}`;
console.log(`${machine}; ${devices.map((d) => `${d.id} ${d.name ?? ''}`.trim()).join(', ')}`);
const label = (bytes: number): string => (bytes >= 1 << 20 ? `${bytes >> 20} MiB` : `${bytes >> 10} KiB`);
const width = Math.max(...table.map((r) => r.way.length));
console.log(`${'GB/s'.padEnd(width)}  ${sizes.map((b) => label(b).padStart(8)).join(' ')}`);
for (const r of table) {
  const way = r.direct === null ? '' : r.direct ? 'direct' : 'through the host';
  console.log(`${r.way.padEnd(width)}  ${r.gbs.map((v) => v.toFixed(2).padStart(8)).join(' ')}  ${way}`.trimEnd());
}
const json = option('json', '');
if (json) writeFileSync(json, `${JSON.stringify({ machine, sizes, table }, null, 2)}\n`);
