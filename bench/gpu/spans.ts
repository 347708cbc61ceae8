// What spans cost on CUDA: loops of short launches without them, with them, and with a listener of every launch and span.
//
//   node dist/gpu/spans.mjs
//
// The three take turns; shown are medians over rounds of the time of one launch, from the first call to the end of the last one's work. `issued`: the
// launches are so short that the host is the slower side. `10 µs`, `100 µs`: the device is. The aim is 3 % where the device is the slower side.

import { createRuntime, type Tensor } from '../../src/index.ts';

const rounds = 15;
const launches = 2000;

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

function chain(x: Tensor, steps: number): Tensor {
  let y = x;
  for (let i = 0; i < steps; i++) y = y.mul(0.999).add(0.001).sub(y.mul(y).mul(1e-6));
  return y;
}

const rt = await createRuntime({ devices: ['cuda'] });
const works = [
  { name: 'issued, 1K elements', elements: 1 << 10, steps: 1 },
  { name: '10 µs kernels', elements: 1 << 22, steps: 4 },
  { name: '100 µs kernels', elements: 1 << 25, steps: 20 },
].map((w) => ({ ...w, x: rt.ones([w.elements]).compute(), f: rt.compile((a: Tensor) => chain(a, w.steps)) }));

const modes = ['off', 'spans', 'spans, heard', 'detailed, heard'] as const;

async function loop({ x, f }: (typeof works)[number]): Promise<number> {
  await rt.flush();
  const start = performance.now();
  for (let i = 0; i < launches; i++) f(x).dispose();
  await rt.mark();
  return (1000 * (performance.now() - start)) / launches;
}

console.log(`${rt.devices()[0]!.name}, ${process.version}: µs a launch, median of ${rounds} rounds of ${launches}`);
console.log(`${'work'.padEnd(22)}${modes.map((m) => m.padStart(17)).join('')}   cost of spans, heard, detailed`);
for (const work of works) {
  await work.f(work.x).data();
  const times = modes.map(() => [] as number[]);
  let told = 0;
  for (let round = -1; round < rounds; round++) {
    for (const [i, mode] of modes.entries()) {
      await rt.spans(mode === 'off' ? false : mode === 'detailed, heard' ? 'detailed' : true);
      const stops = mode.endsWith('heard')
        ? (['launch', 'span'] as const).map((kind) =>
            rt.on(kind, () => {
              told++;
            }),
          )
        : [];
      const us = await loop(work);
      await rt.flush();
      for (const stop of stops) stop();
      if (round >= 0) times[i]!.push(us);
    }
  }
  const [off, ...rest] = times.map(median) as [number, ...number[]];
  const share = (us: number): string => `${((100 * (us - off)) / off).toFixed(1)} %`;
  console.log(
    `${work.name.padEnd(22)}${[off, ...rest].map((us) => us.toFixed(2).padStart(17)).join('')}   ${rest.map(share).join(', ')}`,
  );
  if (told === 0) throw new Error('no launch and no span was told');
}
const { spansDropped, spansEarly } = rt.snapshot().counters;
console.log(`spans that never came: ${spansDropped}, that began too early: ${spansEarly}`);
await rt.close();
