// The device tests of a GPU host: every kernel and routine of the corpus against the reference, then the runtime.
//
//   node dist/gpu/test.mjs [--part I/N] [--unpooled] [kernels routines fourier rows attention cublas matmul ampere epilogues fast pool runtime spans] [soak SECONDS]
//
// `--part I/N` takes every N-th case, so that N processes share the work (of a slow checker, say). Prints each failure as it
// happens and a table last; exits non-zero if anything failed or if there is no GPU.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import { type CudaOptions, openCudaDevices } from '../../src/devices/cuda/discover.ts';
import type { Rows } from '../../src/kernel/kernel.ts';
import { attentionCases } from './attention.ts';
import { Report, runKernelCase, runRoutineCase } from './check.ts';
import { allKernelCases } from './corpus.ts';
import { fastMathTests } from './fast-math.ts';
import { fourierCases } from './fourier.ts';
import { poolTests } from './pool-tests.ts';
import { rootTests } from './roots.ts';
import { epilogueCases, matmul, matmulCases, type RoutineCase, routineCases } from './routines.ts';
import { decomposed, rowsCases } from './rows.ts';
import { runtimeTests } from './runtime-tests.ts';
import { soakTest } from './soak.ts';
import { spanTests } from './span-tests.ts';
import { valueTests } from './value-tests.ts';

const report = new Report();
// Under a memory checker every buffer is an allocation of its own.
const pooled = !process.argv.includes('--unpooled');
const folder = mkdtempSync(join(tmpdir(), 'gpuforge-test-'));
const open = async (options: CudaOptions): Promise<CudaDevice> => {
  const { devices, refused } = await openCudaDevices({ cacheDir: folder, ordinals: [0], pooled, ...options });
  if (devices.length === 0) {
    for (const r of refused) console.error(`${r.id}: ${r.reason}\n  fix: ${r.fix}`);
    console.error('no CUDA device: nothing was tested');
    process.exit(1);
  }
  return devices[0] as CudaDevice;
};

const started = performance.now();
const seconds = (): string => `${((performance.now() - started) / 1000).toFixed(1)} s`;
const only = process.argv.slice(2).filter((a) => a !== '--unpooled');
const partAt = only.indexOf('--part');
const [part, parts] = (partAt >= 0 ? only.splice(partAt, 2)[1]! : '0/1').split('/').map(Number) as [number, number];
const share = <T>(list: readonly T[]): T[] => list.filter((_, i) => i % parts === part);
const wants = (name: string): boolean => only.length === 0 || only.includes(name);

const device = await open({});
console.log(`${device.caps.name}: ${JSON.stringify(device.caps.details)} opened after ${seconds()}`);

if (wants('kernels')) {
  // The second device cuts work as for a tiny GPU, so that wide vectors, unrolling and splits run on small inputs too.
  for (const [label, d] of [
    ['kernels, tiling of this GPU', device],
    ['kernels, tiling of one multiprocessor', await open({ processors: 1 })],
  ] as const) {
    report.group(label);
    for (const c of share(allKernelCases(d.target))) {
      await report.test(c.kernel.name, () => {
        const complaint = runKernelCase(d, c, 1);
        if (complaint) throw new Error(complaint);
      });
    }
    console.log(`${label}: done after ${seconds()}`);
  }
}
async function checkRoutines(label: string, d: CudaDevice, cases: readonly RoutineCase[]): Promise<void> {
  report.group(label);
  for (const c of share(cases)) {
    await report.test(c.routine.name, () => {
      const complaint = runRoutineCase(d, c, 1);
      if (complaint) throw new Error(complaint);
    });
  }
  console.log(`${label}: done after ${seconds()}`);
}
const others = (): RoutineCase[] =>
  routineCases().filter((c) => c.routine.op !== 'matmul' && c.routine.op !== 'products');
if (wants('routines')) {
  await checkRoutines('sort, topk, scan, scatter', device, others());
  // Few blocks, each of which has many chunks.
  const scans = others().filter((c) => c.routine.op === 'scan');
  await checkRoutines('scans, one multiprocessor', await open({ processors: 1 }), scans);
}
if (wants('fourier')) {
  await checkRoutines('transforms', device, fourierCases());
  await checkRoutines('transforms, one multiprocessor', await open({ processors: 1 }), fourierCases());
}
if (wants('rows')) {
  const given = rowsCases().map((c) => ({ ...c, routine: decomposed(c.routine as Rows, device.caps.native) }));
  await checkRoutines('stacks of rows', device, given);
  // Few blocks, each of which has many rows.
  await checkRoutines('stacks of rows, one multiprocessor', await open({ processors: 1 }), given);
}
if (wants('attention')) {
  const fitting = (d: CudaDevice): RoutineCase[] =>
    attentionCases().filter(({ routine: r }) => {
      if (r.op !== 'attention') return false;
      return Math.max(r.depth, r.width) <= (d.caps.attention?.[r.type] ?? 0);
    });
  await checkRoutines('attention', device, fitting(device));
  const ampere = await open({ architecture: 80 });
  await checkRoutines('attention, code for Ampere', ampere, fitting(ampere));
}
if (wants('cublas')) {
  await checkRoutines('matmul, cuBLASLt where present', await open({ cublas: 'always' }), matmulCases());
  console.log(`matmul by default: ${device.prepare(matmul('f32', 1024, 1024, 1024).routine).source.split('\n')[0]}`);
}
if (wants('matmul')) {
  await checkRoutines('matmul, own kernels', await open({ cublas: false }), matmulCases());
  const wide = await open({ cublas: false, processors: 2 });
  await checkRoutines('matmul, own kernels, widest tiles', wide, matmulCases());
}
if (wants('ampere')) {
  const ampere = await open({ cublas: false, architecture: 80, processors: 2 });
  await checkRoutines('matmul, code for Ampere', ampere, matmulCases());
}
if (wants('epilogues')) {
  await checkRoutines('epilogues, cuBLASLt where present', await open({ cublas: 'always' }), epilogueCases());
  await checkRoutines('epilogues, own kernels', await open({ cublas: false }), epilogueCases());
  await checkRoutines('epilogues, own, widest tiles', await open({ cublas: false, processors: 2 }), epilogueCases());
  const ampere = await open({ cublas: false, architecture: 80, processors: 2 });
  await checkRoutines('epilogues, code for Ampere', ampere, epilogueCases());
}
if (wants('fast') && part === 0) await fastMathTests(await open({ fastMath: true }), device, report);
if (wants('fast') && part === 0) await rootTests(device, report);
if (wants('pool') && part === 0) await poolTests(device, report);
if (wants('runtime') && part === 0) await runtimeTests(device, report);
if (wants('values') && part === 0) await valueTests(report);
if (wants('spans') && part === 0) await spanTests(report);
console.log(`all done after ${seconds()}; ${JSON.stringify(device.counters())}`);
report.print();
const soak = only.indexOf('soak');
if (soak >= 0) await soakTest(device, report, Number(only[soak + 1] ?? 10));
if (soak >= 0) report.print();
await device.close();
process.exit(report.failures.length > 0 ? 1 : 0);
