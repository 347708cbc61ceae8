// The device on the adapter of this machine: a program, for GPU hosts without a test runner.
//
//   node webgpu.mjs                       all checks, the error of every function, the figures
//     --only checks,accuracy,figures,variants,attention   some of them; variants (shaders and tiles side by side) and attention
//                                         (its tiles alone) only on request
//     --groups elementwise,functions      some groups of checks
//     --match TEXT                        checks whose names contain it
//     --part I/N                          every N-th check only, so that N processes share them
//     --f16                               asks Dawn for f16 on NVIDIA, where it is off unless asked for
//     --plans gpu|software                the other plans
//     --small                             small sizes, for software adapters

import type { WebGpuDevice } from '../../src/devices/webgpu/device.ts';
import { openWebGpuDevices } from '../../src/devices/webgpu/open.ts';
import { measureAccuracy } from './accuracy.ts';
import { allChecks, gpuChecks } from './checks/index.ts';
import { figures } from './figures.ts';
import { attentionVariants, variants } from './variants.ts';

const args = process.argv.slice(2);
const option = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const only =
  option('--only')?.split(',') ?? (args.includes('--groups') ? ['checks'] : ['checks', 'accuracy', 'figures']);
const [part, parts] = (option('--part') ?? '0/1').split('/').map(Number) as [number, number];
const match = option('--match') ?? '';
const scale = args.includes('--small') ? 'small' : 'full';
const plans = option('--plans') as 'gpu' | 'software' | undefined;
const { devices, refused } = await openWebGpuDevices({
  ...(plans ? { plans } : {}),
  ...(args.includes('--f16') ? { dawnToggles: ['vulkan_enable_f16_on_nvidia'] } : {}),
});
const device = devices[0] as WebGpuDevice | undefined;
if (!device) {
  console.log(JSON.stringify(refused, null, 2));
  process.exit(1);
}
console.log(
  device.caps.name,
  JSON.stringify(device.caps.details),
  `dtypes ${[...device.caps.dtypes]}`,
  `max buffer ${device.caps.maxBufferBytes}`,
  `max buffers ${device.caps.maxBuffers}`,
);
const count = { passed: 0, failed: 0, skipped: 0 };
const checks: Readonly<Record<string, typeof allChecks.routines>> = {
  ...allChecks,
  ...(device.caps.rows ? { 'on-chip': gpuChecks(scale === 'full') } : {}),
};
const groups = option('--groups')?.split(',') ?? Object.keys(checks);
if (only.includes('checks')) {
  for (const group of groups) {
    const start = performance.now();
    const wanted = checks[group]!.filter((c) => c.name.includes(match));
    for (const c of wanted.filter((_, i) => i % parts === part)) {
      if (!device.caps.dtypes.has(c.needs)) {
        count.skipped++;
        continue;
      }
      try {
        await c.run(device);
        count.passed++;
      } catch (error) {
        count.failed++;
        console.log(`FAILED ${group}: ${c.name}: ${error instanceof Error ? error.message.split('\n')[0] : error}`);
      }
    }
    console.log(`${group}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  }
}
if (only.includes('accuracy')) {
  console.log('largest error in units in the last place');
  await measureAccuracy(device, scale === 'full' ? 1 << 18 : 1 << 12, ({ op, ulps, bound, at }) => {
    const right = ulps <= bound;
    count[right ? 'passed' : 'failed']++;
    console.log(
      `  ${op.padEnd(8)} ${ulps.toFixed(2).padStart(10)}  (at most ${bound})${right ? '' : `  WRONG: ${at}`}`,
    );
  });
}
const line = (name: string, f: { median: number; best: number }, unit: string): void =>
  console.log(`${name.padEnd(64)} ${f.median.toFixed(2).padStart(10)} ${unit}  (best ${f.best.toFixed(2)})`);
if (only.includes('figures')) await figures(device, scale, (f) => line(f.name, f, f.unit));
if (only.includes('variants')) await variants(device, device.traits, scale, (name, us) => line(name, us, 'µs'));
if (only.includes('attention')) {
  await attentionVariants(device, device.traits, scale === 'full', (name, us) => line(name, us, 'µs'));
}
await device.close();
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exitCode = count.failed > 0 ? 1 : 0;
