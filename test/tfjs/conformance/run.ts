// One run of the suite in this process.

import * as cpu from '@tensorflow/tfjs-backend-cpu';
import * as tf from '@tensorflow/tfjs-core';
import { createRuntime } from '../../../src/index.ts';
import { registerBackend } from '../../../src/tfjs/index.ts';
import { jasmineEnv, type Spec } from './jasmine.ts';
import type { Result } from './result.ts';
import { settings } from './settings.ts';

/** What failed, in one line. */
const failure = ({ fullName, failedExpectations }: Spec): string =>
  `${fullName} :: ${failedExpectations[0]!.message.replace(/\s+/g, ' ').slice(0, 220)}`;

export async function runSuite(): Promise<Result> {
  const { device } = settings;
  const runtime = await createRuntime({
    devices: device === 'cpu' ? ['cpu'] : [device, 'cpu'],
    // Everything runs on this device; the CPU serves kernels that must have values at once.
    ...(device !== 'cpu' && { routing: { device: `${device}:0` } }),
    ...(settings.isolated && { isolation: 'process' }),
  });
  const launches: Record<string, number> = {};
  runtime.on('launch', ({ device: id }) => {
    launches[id] = (launches[id] ?? 0) + 1;
  });
  const backend = await registerBackend(tf, { ...(settings.routing && { cpu }), runtime });
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
    specDone: (spec) => {
      counts[spec.status] = (counts[spec.status] ?? 0) + 1;
      if (spec.status !== 'excluded') slow.push([performance.now() - from, spec.fullName]);
      if (spec.status === 'failed') failures.push(failure(spec));
    },
  });
  const start = performance.now();
  await jasmineEnv.execute();
  const seconds = (performance.now() - start) / 1000;
  const report = backend.report();
  await runtime.close();
  return {
    passed: counts.passed ?? 0,
    failed: counts.failed ?? 0,
    pending: counts.pending ?? 0,
    native: report.native,
    seconds,
    programs: report.runtime.programs,
    launches,
    failures,
    slow: slow.sort((a, b) => b[0] - a[0]).slice(0, 8),
    ran: report.ran,
    routed: report.routed,
  };
}
