// Whether times are true: kernels of known length, many in a row, against the clock of the host.

import type { Runtime, Tensor } from '../../src/index.ts';
import { Profiler } from '../../src/profile/index.ts';
import { median, type Row, verdict } from '../compute/report.ts';

/** A kernel of many dependent steps for each element. */
function chain(x: Tensor, steps: number): Tensor {
  let y = x;
  for (let i = 0; i < steps; i++) y = y.mul(0.999).add(0.001).sub(y.mul(y).mul(1e-6));
  return y;
}

/** Elements, steps and how often: 50 µs to 5 ms each on an H200; a CPU gets less to do. */
const works = (gpu: boolean): readonly (readonly [number, number, number])[] =>
  gpu
    ? [
        [1 << 23, 30, 1000],
        [1 << 25, 40, 1000],
        [1 << 27, 60, 300],
      ]
    : [
        [1 << 14, 30, 300],
        [1 << 17, 40, 100],
      ];

export async function truth(rt: Runtime, gpu: boolean): Promise<Row[]> {
  const rows: Row[] = [];
  const profiler = new Profiler({ enabled: false, runtimes: [rt], detailed: true });
  const device = rt.devices().find((d) => d.open)!.id;
  let [violations, error] = [0, null as number | null];
  for (const [elements, steps, times] of works(gpu)) {
    const x = rt.ones([elements]).compute();
    const f = rt.compile((a: Tensor) => chain(a, steps));
    await f(x).data();
    const shares: number[] = [];
    let ms = 0;
    for (let k = 0; k < 3; k++) {
      profiler.enable();
      await profiler.ready();
      await rt.flush();
      const start = performance.now();
      for (let i = 0; i < times; i++) f(x).dispose();
      await rt.flush();
      const wall = performance.now() - start;
      const profile = await profiler.collect();
      const means = Object.values(profile.kernelSummary).map((s) => s.mean ?? 0);
      ms = means.reduce((a, b) => a + b, 0);
      shares.push((ms * times) / wall);
      violations += profile.violations;
      error = profiler.clockError(device);
      await profiler.disable();
      profiler.reset();
    }
    x.dispose();
    f.dispose();
    const share = median(shares);
    rows.push({
      id: 'truth',
      what: `${times} × ${(1000 * ms).toFixed(0)} µs: mean × count against the loop`,
      figures: `${(100 * share).toFixed(1)} %`,
      limit: '95 to 105 %',
      verdict: verdict(share > 0.95 && share < 1.05),
      data: { ms, share, samples: shares },
    });
  }
  rows.push({
    id: 'clock',
    what: "the device's clock on the host's, and kernels that start before they were enqueued",
    figures: `${error === null ? 'unknown' : `${error.toFixed(1)} µs`}, ${violations}`,
    limit: 'at most 20 µs, none',
    verdict: error === null ? 'not measured' : verdict(error <= 20 && violations === 0),
    data: { errorUs: error, violations },
  });
  return rows;
}
