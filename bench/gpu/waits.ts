// How late a program is told that the GPU is done, and what looking for it takes of the processor.
//
//   node dist/gpu/waits.mjs
//
// A kernel that lasts for a given time by the device's own timer, in loops of one kernel and one wait (`await rt.flush()`). Shown
// are medians: the microseconds of the launch, by how many the wait was longer than the kernel once that was launched, and the part of
// the wait that the process was busy, timers and driver threads included.

import { createRuntime } from '../../src/index.ts';

const ptx = `.version 7.8
.target sm_80
.address_size 64
.visible .entry last(.param .u64 out, .param .u64 ns)
{
  .reg .u64 %r<4>; .reg .pred %p;
  ld.param.u64 %r0, [ns];
  mov.u64 %r1, %globaltimer;
again:
  mov.u64 %r2, %globaltimer;
  sub.u64 %r3, %r2, %r1;
  setp.lt.u64 %p, %r3, %r0;
  @%p bra again;
  ret;
}
`;

const rounds = 25;
const warmUp = 10;
const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;
const line = (cells: readonly string[]): string => cells.map((c) => c.padStart(16)).join('');

const rt = await createRuntime({ devices: ['cuda'] });
const last = rt.rawKernel({
  sources: { ptx },
  entry: 'last',
  outputs: () => [{ dtype: 'f32', shape: [1] }],
  grid: () => [1],
  block: [1],
  scalars: ['u64'],
});
console.log(line(['µs of work', 'launch, µs', 'told late, µs', 'busy, %']));
for (const us of [3, 20, 60, 150, 500, 1500, 3000, 10_000, 30_000]) {
  const [launch, late, busy]: [number[], number[], number[]] = [[], [], []];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    const [y] = last([], [us * 1000]);
    const before = process.cpuUsage();
    const launched = performance.now();
    await rt.flush();
    const took = 1000 * (performance.now() - launched);
    const { user, system } = process.cpuUsage(before);
    y!.dispose();
    if (i < warmUp) continue;
    launch.push(1000 * (launched - start));
    late.push(took - us);
    busy.push((100 * (user + system)) / took);
  }
  console.log(line([String(us), ...[launch, late, busy].map((l) => median(l).toFixed(0))]));
}
await rt.close();
process.exit(0);
