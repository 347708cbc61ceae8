// Spans on the real device: as long as the work took, on the host's clock, and cheap.

import { createRuntime, type Events, type Runtime, type Tensor } from '../../src/index.ts';
import { assert, type Report } from './check.ts';

/** A kernel of many dependent steps for each element. */
function chain(x: Tensor, steps: number): Tensor {
  let y = x;
  for (let i = 0; i < steps; i++) y = y.mul(0.999).add(0.001).sub(y.mul(y).mul(1e-6));
  return y;
}

async function loop(rt: Runtime, times: number, call: () => Tensor): Promise<number> {
  await rt.flush();
  const start = performance.now();
  for (let i = 0; i < times; i++) call().dispose();
  await rt.flush();
  return performance.now() - start;
}

const median = (list: readonly number[]): number => [...list].sort((a, b) => a - b)[list.length >> 1]!;

export async function spanTests(report: Report): Promise<void> {
  report.group('spans');
  await using rt = await createRuntime({ devices: ['cuda'] });
  const spans: Events['span'][] = [];
  rt.on('span', (e) => spans.push(e));
  for (const [elements, steps] of [
    [1 << 24, 40],
    [1 << 25, 40],
    [1 << 26, 60],
  ] as const) {
    await report.test(`1,000 launches over ${elements} elements: the spans fill the loop within 5 %`, async () => {
      const x = rt.ones([elements]).compute();
      const f = rt.compile((a: Tensor) => chain(a, steps));
      await f(x).data();
      await rt.spans('detailed');
      const shares: number[] = [];
      for (let i = 0; i < 3; i++) {
        spans.length = 0;
        const wall = await loop(rt, 1000, () => f(x));
        const sum = spans.reduce((s, e) => s + e.end - e.start, 0);
        const measured = spans.length / (1000 * f.kernels.length);
        shares.push(sum / measured / wall);
      }
      await rt.spans(false);
      x.dispose();
      f.dispose();
      const share = median(shares);
      assert(share > 0.95 && share < 1.05, `the spans are ${(100 * share).toFixed(1)} % of the loop`);
    });
  }
  await report.test('the clock is known to 20 µs, and no span starts before its launch', async () => {
    const launches = new Map<number, number>();
    const stop = rt.on('launch', (e) => launches.set(e.id, e.start));
    await rt.spans(true);
    spans.length = 0;
    const x = rt.ones([1 << 20]).compute();
    for (let i = 0; i < 1000; i++) chain(x, 4).compute().dispose();
    await rt.flush();
    const [device] = rt.snapshot().devices;
    assert(
      device!.clockErrorUs !== null && device!.clockErrorUs <= 20,
      `the clock is known to ${device!.clockErrorUs} µs`,
    );
    const early = spans.filter((s) => launches.has(s.id) && s.start + s.errorUs / 1000 < launches.get(s.id)!);
    assert(early.length === 0, `${early.length} of ${spans.length} spans start before their launch`);
    assert(spans.length >= 1000, `${spans.length} spans of 1,000 launches`);
    stop();
    await rt.spans(false);
  });
  await report.test('kernels that note their times compute what they compute without, bit by bit', async () => {
    const x = rt.random.normal([1000, 333]).compute();
    const works: Record<string, (t: Tensor) => Tensor> = {
      elementwise: (t) => chain(t, 3),
      transposed: (t) => t.transpose().add(1),
      sum: (t) => t.sum(),
      rows: (t) => t.sum({ axis: 1 }),
      columns: (t) => t.max({ axis: 0 }),
      argmax: (t) => t.argmax({ axis: 1 }),
      softmax: (t) => t.softmax(),
      sorted: (t) => t.sort(),
      scanned: (t) => t.cumsum(0),
      product: (t) => t.transpose().matmul(t),
      half: (t) => t.cast('bf16').matmul(t.cast('bf16').transpose()),
    };
    for (const [name, work] of Object.entries(works)) {
      await rt.spans(false);
      const expected = new Uint8Array((await work(x).data()).slice().buffer);
      await rt.spans('detailed');
      spans.length = 0;
      const actual = new Uint8Array((await work(x).data()).slice().buffer);
      await rt.flush();
      assert(spans.length > 0, `${name}: no span`);
      assert(
        expected.length === actual.length && expected.every((b, i) => b === actual[i]),
        `${name}: the results differ`,
      );
    }
    await rt.spans(false);
    x.dispose();
  });
  await report.test('a recorded replay is one span', async () => {
    const f = rt.compile((x: Tensor) => chain(x.sub(x.mean()), 2).cumsum(0).softmax());
    const x = rt.ones([10_000]).compute();
    await f(x).data();
    await rt.spans(true);
    spans.length = 0;
    f(x);
    await rt.flush();
    assert(spans.length === 1, `${spans.length} spans`);
    await rt.spans(false);
  });
}
