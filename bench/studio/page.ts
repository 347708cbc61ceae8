// The page of the studio in headless Chromium: how smoothly it draws ten charts, and whether it grows.
//
//   npm run bench -- studio-page [--minutes 10] [--seconds 15] [--json out.json]
//
// First ten charts of two devices with snapshots four times a second: frames a second, and the share of the time in which the page's thread was busy. The
// devices' temperatures and powers are made up, so that there is something to draw. Then all pages in turn, five seconds each, while the program works: the heaps
// of page and program, each after a collection, a minute after the start and at the end.

import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CDPSession, chromium } from 'playwright-core';
import { createField } from '../../src/field/index.ts';
import { createRuntime } from '../../src/index.ts';
import { serveStudio } from '../../src/studio/index.ts';

const flag = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
};
const minutes = flag('minutes', 10);
const seconds = flag('seconds', 15);
const pages = ['overview', 'devices', 'memory', 'routing', 'work', 'batch', 'field', 'profiles', 'events', 'forge'];
const MB = 1e6;

// Not bundled: it prints what it finds when it is the program.
const script = new URL('../../scripts/software-gpu.mjs', import.meta.url).href;
const { softwareGpu } = (await import(script)) as typeof import('../../scripts/software-gpu.mjs');
const { browser: found } = softwareGpu();
if (found.reason !== undefined) throw new Error(found.reason);
const wave = (ms: number): number => 50 + 10 * Math.sin(Date.now() / ms);
const rt = await createRuntime({
  devices: ['cpu', 'reference'],
  cpu: { threads: 1 },
  wrap: (device) =>
    new Proxy(device, {
      get: (target, key) => {
        if (key === 'telemetry')
          return () => ({
            utilization: wave(3000) / 100,
            temperature: wave(7000),
            power: 6 * wave(5000),
            clocks: { graphics: 30 * wave(9000) },
          });
        const value = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }),
});
const field = await createField({ runtime: rt, device: 'cpu', resolution: 8, channels: 32, seed: 1 });
const studio = await serveStudio({ runtimes: [rt], fields: [field] });
const browser = await chromium.launch({
  executablePath: found.executablePath,
  env: { ...process.env, ...found.env } as Record<string, string>,
  args: ['--no-sandbox', '--js-flags=--expose-gc'],
});

let working = true;
const work = (async () => {
  for (let i = 0; working; i++) {
    await rt.scope(async () =>
      rt
        .ones([64, 64])
        .mul(i)
        .matmul(rt.ones([64, 64]))
        .sum()
        .data(),
    );
    if (i % 5 === 0) await field.step(new Float32Array(field.options.shape.sensorDim).fill(Math.sin(i / 50)));
    await sleep(20);
  }
})();

async function open(query: string, at: string) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${studio.link()}${query}#/${at}`);
  await page.waitForSelector('nav a[aria-current]');
  return { page, client: await page.context().newCDPSession(page) };
}

/** Seconds in which the page's thread has worked so far. */
async function busySeconds(client: CDPSession): Promise<number> {
  const { metrics } = await client.send('Performance.getMetrics');
  return metrics.find((m) => m.name === 'TaskDuration')!.value;
}

/** A frame that took longer than this was late: one or more were left out. */
const lateMs = 25;

async function frames(): Promise<{ charts: number; fps: number; late: number; busy: number }> {
  const { page, client } = await open('&every=250', 'devices');
  await client.send('Performance.enable');
  await page.waitForFunction(() => document.querySelectorAll('.uplot').length >= 10, null, { timeout: 60_000 });
  const charts = await page.locator('.uplot').count();
  await sleep(2000);
  const before = await busySeconds(client);
  const gaps = await page.evaluate(
    (ms) =>
      new Promise<number[]>((resolve) => {
        const list: number[] = [];
        const start = performance.now();
        let last = start;
        const next = (): void => {
          const now = performance.now();
          list.push(now - last);
          last = now;
          if (now - start < ms) requestAnimationFrame(next);
          else resolve(list);
        };
        requestAnimationFrame(next);
      }),
    1000 * seconds,
  );
  const busy = (await busySeconds(client)) - before;
  await page.close();
  const total = gaps.reduce((a, b) => a + b, 0);
  const sorted = [...gaps].sort((a, b) => a - b);
  return {
    charts,
    fps: 1000 / sorted[sorted.length >> 1]!,
    late: gaps.filter((g) => g > lateMs).length / gaps.length,
    busy: (1000 * busy) / total,
  };
}

/** Bytes in use after a collection, of the page and of this program. */
async function heaps(client: CDPSession): Promise<{ page: number; program: number }> {
  for (let i = 0; i < 3; i++) {
    await client.send('HeapProfiler.collectGarbage');
    globalThis.gc?.();
    await sleep(200);
  }
  const { usedSize } = (await client.send('Runtime.getHeapUsage')) as { usedSize: number };
  return { page: usedSize, program: process.memoryUsage().heapUsed };
}

async function growth() {
  const { page, client } = await open('', 'overview');
  const start = performance.now();
  let first: Awaited<ReturnType<typeof heaps>> | null = null;
  for (let i = 0; performance.now() - start < minutes * 60_000; i++) {
    await page.evaluate(
      (id) => {
        location.hash = `#/${id}`;
      },
      pages[i % pages.length]!,
    );
    await sleep(5000);
    if (first === null && performance.now() - start >= 60_000 && i % pages.length === pages.length - 1)
      first = await heaps(client);
  }
  await page.evaluate(() => {
    location.hash = '#/forge';
  });
  await sleep(1000);
  const last = await heaps(client);
  await page.close();
  return { first: first ?? last, last };
}

const drawn = await frames();
const grown = await growth();
working = false;
await work;
await browser.close();
await studio.close();
await field.dispose();
await rt.close();

const verdict = (met: boolean): 'met' | 'missed' => (met ? 'met' : 'missed');
const rows = [
  {
    id: 'frames',
    what: `frames a second with ${drawn.charts} charts at 4 Hz`,
    figures: `${drawn.fps.toFixed(0)} by the median frame, ${(100 * drawn.late).toFixed(1)} % of the frames late`,
    limit: 'at least 60',
    verdict: verdict(Math.round(drawn.fps) >= 60),
  },
  {
    id: 'frames',
    what: "the page's thread is busy",
    figures: `${(100 * drawn.busy).toFixed(1)} % of the time`,
    limit: 'shown',
    verdict: 'not measured',
  },
  ...(['page', 'program'] as const).map((who) => ({
    id: 'heap',
    what: `heap of the ${who}, from minute 1 to minute ${minutes}`,
    figures: `${(grown.first[who] / MB).toFixed(2)} → ${(grown.last[who] / MB).toFixed(2)} MB`,
    limit: 'at most 1 MB more',
    verdict: verdict(grown.last[who] - grown.first[who] <= MB),
  })),
];
const [{ model } = { model: 'CPU' }] = cpus();
console.log(`${model}, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}, Node ${process.versions.node}`);
for (const { what, figures, limit, verdict: said } of rows)
  console.log(`${what.padEnd(48)} ${figures.padEnd(40)} ${limit.padEnd(18)} ${said}`);
const at = process.argv.indexOf('--json');
if (at >= 0)
  writeFileSync(
    process.argv[at + 1]!,
    `${JSON.stringify(
      {
        schema: 'gpuforge.bench.studio-page/1',
        createdAt: new Date().toISOString(),
        command: `npm run bench -- studio-page --minutes ${minutes}`,
        machine: { cpu: model, cores: cpus().length, load: loadavg(), node: process.versions.node },
        drawn,
        grown,
        rows,
      },
      null,
      2,
    )}\n`,
  );
process.exit(rows.some((r) => r.verdict === 'missed') ? 1 : 0);
