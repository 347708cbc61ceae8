// All device checks and the figures on the adapter of this machine: a program, for GPU hosts without a test runner.
//
//   node host.js [--figures-only] [--plans gpu|software] [--groups a,b]

import { openWebGpuDevices } from '../../src/devices/webgpu/open.ts';
import { allChecks } from './checks/index.ts';
import { figures } from './figures.ts';

const args = process.argv.slice(2);
const option = (name: string): string | undefined => args[args.indexOf(name) + 1];
const plans = args.includes('--plans') ? (option('--plans') as 'gpu' | 'software') : undefined;
const { devices, refused } = await openWebGpuDevices(plans ? { plans } : {});
const device = devices[0];
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
const groups = args.includes('--groups') ? option('--groups')!.split(',') : Object.keys(allChecks);
if (!args.includes('--figures-only')) {
  for (const group of groups) {
    const start = performance.now();
    for (const c of allChecks[group]!) {
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
  console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
}
if (!args.includes('--groups')) {
  await figures(device, args.includes('--small') ? 'small' : 'full', (f) => {
    console.log(`${f.name.padEnd(48)} ${f.median.toFixed(2).padStart(10)} ${f.unit}  (best ${f.best.toFixed(2)})`);
  });
}
await device.close();
process.exitCode = count.failed > 0 ? 1 : 0;
