// TF.js's own test suite on our backend: counts, failures, and which kernels ran natively or were routed.

import './setup.ts';
import '@tensorflow/tfjs-core/dist/tests.js';
import * as cpu from '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { createRuntime } from '../../../src/index.ts';
import { registerBackend } from '../../../src/tfjs/index.ts';
import { jasmineEnv } from './jasmine.ts';
import { settings } from './settings.ts';

const { device } = settings;
const runtime = await createRuntime({
  devices: device === 'cpu' ? ['cpu'] : [device, 'cpu'],
  // Everything runs on this device; the CPU serves kernels that must have values at once.
  ...(device !== 'cpu' && { routing: { device: `${device}:0` } }),
  ...(settings.isolated && { isolation: 'process' }),
});
const backend = await registerBackend(tf, { ...(settings.routing && { cpu }), runtime });
const launches: Record<string, number> = {};
runtime.on('launch', ({ device: id }) => {
  launches[id] = (launches[id] ?? 0) + 1;
});
const counts: Record<string, number> = {};
const failures: string[] = [];
const slow: [number, string][] = [];
let from = 0;
jasmineEnv.configure({ random: false });
jasmineEnv.addReporter({
  specStarted: ({ fullName }) => {
    if (settings.trace) process.stderr.write(`${fullName}\n`);
    from = performance.now();
  },
  specDone: ({ fullName, status, failedExpectations }) => {
    counts[status] = (counts[status] ?? 0) + 1;
    if (status !== 'excluded') slow.push([performance.now() - from, fullName]);
    if (status === 'failed') {
      const { message, stack } = failedExpectations[0]!;
      const at = (stack ?? '').split('\n').find((l) => /src\/tfjs|dist\/gpu|tfjs\.mjs/.test(l) && !/jasmine/.test(l));
      failures.push(
        `${fullName} :: ${message.replace(/\s+/g, ' ').slice(0, 220)}${at ? ` ${at.trim().slice(0, 120)}` : ''}`,
      );
    }
  },
});
const start = performance.now();
await jasmineEnv.execute();
const seconds = (performance.now() - start) / 1000;
const report = backend.report();
const routed = Object.keys(report.routed);
const result = {
  device: Object.entries(launches).sort((a, b) => b[1] - a[1])[0]?.[0] ?? 'none',
  passed: counts.passed ?? 0,
  failed: counts.failed ?? 0,
  pending: counts.pending ?? 0,
  native: report.native,
  routed: routed.length,
  seconds: Math.round(seconds * 10) / 10,
  programs: report.runtime.programs,
  launches,
  failures,
};
const out = (line: string): void => void process.stdout.write(`${line}\n`);
if (settings.json) out(JSON.stringify({ ...result, ran: Object.keys(report.ran), routedKernels: report.routed }));
else {
  for (const f of failures.slice(0, settings.show)) out(`FAIL ${f}`);
  slow.sort((a, b) => b[0] - a[0]);
  for (const [ms, name] of slow.slice(0, 8)) out(`slow ${ms.toFixed(0)} ms ${name}`);
  out(
    `routed: ${Object.entries(report.routed)
      .map(([k, n]) => `${k} ${n}`)
      .join(', ')}`,
  );
  const { failures: _, ...figures } = result;
  out(JSON.stringify(figures));
}
await runtime.close();
process.exit(failures.length === 0 && result.passed > 0 ? 0 : 1);
