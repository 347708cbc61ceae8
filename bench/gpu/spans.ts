// What spans cost on CUDA: loops of short launches without them, with them, and with a listener of every launch and span.
//
//   node dist/gpu/spans.mjs [ROUNDS]
//
// The modes take turns; shown are medians over rounds of the time of one launch, from the first call to the end of the last one's work, times
// read and told among it. `issued`: the launches are so short that the host is the slower side. `10 µs`, `100 µs`: the device is. The aim is 3 % where
// the device is the slower side. `inside` is the median length of a span; `product` is measured by events, since its kernel is a library's.

import { createRuntime, type Tensor } from '../../src/index.ts';

const rounds = Number(process.argv[2] ?? 15);

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

function chain(x: Tensor, steps: number): Tensor {
  let y = x;
  for (let i = 0; i < steps; i++) y = y.mul(0.999).add(0.001).sub(y.mul(y).mul(1e-6));
  return y;
}

const rt = await createRuntime({ devices: ['cuda'] });
const elements = (n: number, steps: number) => ({
  x: rt.ones([n]).compute(),
  f: rt.compile((a: Tensor) => chain(a, steps)),
});
const works = [
  { name: 'issued, 1K elements', launches: 4000, ...elements(1 << 10, 1) },
  { name: '10 µs kernels', launches: 4000, ...elements(5 << 20, 4) },
  { name: '100 µs kernels', launches: 400, ...elements(1 << 25, 20) },
  {
    name: 'product 1024²',
    launches: 1000,
    x: rt.ones([1024, 1024]).compute(),
    f: rt.compile((a: Tensor) => a.matmul(a)),
  },
];

const modes = ['off', 'spans', 'spans, heard', 'detailed, heard'] as const;

async function loop({ x, f, launches }: (typeof works)[number]): Promise<number> {
  await rt.flush();
  const start = performance.now();
  for (let i = 0; i < launches; i++) f(x).dispose();
  await rt.flush();
  return (1000 * (performance.now() - start)) / launches;
}

console.log(`${rt.devices()[0]!.name}, ${process.version}: µs a launch, median of ${rounds} rounds`);
console.log(
  `${'work'.padEnd(22)}${modes.map((m) => m.padStart(17)).join('')}   inside   cost of spans, heard, detailed`,
);
for (const work of works) {
  await work.f(work.x).data();
  const times = modes.map(() => [] as number[]);
  const inside: number[] = [];
  for (let round = -1; round < rounds; round++) {
    for (const [i, mode] of modes.entries()) {
      await rt.spans(mode === 'off' ? false : mode === 'detailed, heard' ? 'detailed' : true);
      inside.length = 0;
      const stops = mode.endsWith('heard')
        ? [rt.on('launch', () => {}), rt.on('span', ({ start, end }) => inside.push(1000 * (end - start)))]
        : [];
      const us = await loop(work);
      for (const stop of stops) stop();
      if (round >= 0) times[i]!.push(us);
    }
  }
  const [off, ...rest] = times.map(median) as [number, ...number[]];
  // Rounds are compared pair by pair: what slows a machine down slows both.
  const share = (_: number, i: number): string =>
    `${(100 * (median(times[i + 1]!.map((us, k) => us / times[0]![k]!)) - 1)).toFixed(1)} %`;
  const shown = [off, ...rest].map((us) => us.toFixed(2).padStart(17)).join('');
  const length = `${median(inside).toFixed(2)} µs`.padStart(11);
  console.log(`${work.name.padEnd(22)}${shown}${length}   ${rest.map(share).join(', ')}`);
  if (inside.length !== work.launches) console.log(`  ${inside.length} spans of ${work.launches} launches`);
}
const { spansDropped, spansEarly } = rt.snapshot().counters;
console.log(`spans that never came: ${spansDropped}, that began too early: ${spansEarly}`);
await rt.close();
