// The page in headless Chromium, beside a program that routes, spills, loses its device, leaks and recovers: each fact must appear on its
// page within two seconds, in words, and the program must compute what it computes without a page.
//
// GPUFORGE_PICTURES=1 writes the pictures of the documentation.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type BatchProcessor, createBatch, handlerOf, localTransport, type Transport } from '../../src/batch/index.ts';
import { createField, type Field } from '../../src/field/index.ts';
import { createRuntime } from '../../src/index.ts';
import { Profiler } from '../../src/profile/index.ts';
import { files } from '../../src/studio/assets.ts';
import { type Studio, serveStudio } from '../../src/studio/index.ts';
import { style } from '../../src/studio/page/style.ts';
import { startStudio } from '../../src/studio/serve.ts';
import { launch, needsBrowser, noBrowser } from '../support/browser.ts';
import { all } from '../support/extent.ts';
import { within } from '../support/time.ts';
import { type Story, startStory } from './story.ts';

const pictures = join(
  import.meta.dirname,
  process.env.GPUFORGE_PICTURES ? '../../docs/pictures' : '../../.cache/pictures',
);
const pages = [
  'overview',
  'devices',
  'memory',
  'routing',
  'work',
  'batch',
  'field',
  'profiles',
  'events',
  'forge',
] as const;
const soon = within(2000);
vi.setConfig({ testTimeout: within(18_000), hookTimeout: within(12_000) });

const complaints: string[] = [];
const foreign: string[] = [];
let browser: Browser;
let story: Story;
let studio: Studio;
let page: Page;
let images: BatchProcessor<number>;
let transport: Transport;
let field: Field;

const fieldOptions = {
  resolution: 16,
  channels: 32,
  sensorDim: 4,
  motorDim: 3,
  device: 'cpu',
  seed: 1,
  settings: { readout: 'slab', gain: 100 },
} as const;
/** It predicts its sensors after a few records. */
async function trainedField(): Promise<Field> {
  const made = await createField(fieldOptions);
  const records = Array.from({ length: 40 }, (_, i) => ({ input: sensorsAt(i), target: sensorsAt(i + 1) }));
  await made.train(records, { method: 'ridge', what: 'prediction', lambda: 1e-3 });
  return made;
}

const sensorsAt = (tick: number): Float32Array => Float32Array.from([0, 1, 2, 3], (i) => Math.sin(tick / 9 + i));

needsBrowser();

interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
}

async function open(of: Studio, { width = 1280, height = 800, dark = false }: Look = {}): Promise<Page> {
  const opened = await browser.newPage({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  });
  const { origin } = new URL(of.url);
  opened.on('console', (m) => complaints.push(`${m.type()}: ${m.text()}`));
  opened.on('pageerror', (e) => complaints.push(e.message));
  opened.on('request', (r) => {
    if (!r.url().startsWith(`${origin}/`) && !/^(data|blob):/.test(r.url())) foreign.push(r.url());
  });
  await opened.goto(of.link());
  await opened.waitForSelector('.card .answer', { timeout: within(4000) });
  return opened;
}

/** Runs a test while the program works. */
async function busily<T>(run: () => Promise<T>, work: () => unknown = () => story.work(4)): Promise<T> {
  let busy = true;
  const working = (async () => {
    // Other things of this process get their turns: the studio, and the line to the browser.
    for (; busy; await sleep(20)) await work();
  })();
  try {
    return await run();
  } finally {
    busy = false;
    await working;
  }
}

const go = async (to: (typeof pages)[number], at = page): Promise<void> => {
  await at.evaluate((id) => {
    location.hash = `#/${id}`;
  }, to);
  await at.waitForSelector(`nav a[href="#/${to}"][aria-current="page"]`, { state: 'attached' });
};

/** Waits until the page says it. */
const says = (text: RegExp, at = page): Promise<unknown> =>
  at.waitForFunction(
    ([source]) => new RegExp(source!, 's').test(document.querySelector('.content')?.textContent ?? ''),
    [text.source] as const,
    { timeout: soon },
  );

beforeAll(async () => {
  if (noBrowser) return;
  mkdirSync(pictures, { recursive: true });
  [browser, story] = await Promise.all([launch(), startStory()]);
  images = createBatch(
    Array.from({ length: 48 }, (_, i) => i),
    { maxBatchSize: 8 },
  );
  transport = localTransport();
  field = await trainedField();
  studio = await startStudio(
    {
      runtimes: [story.rt],
      allowControl: true,
      batches: { images },
      queues: { renders: transport },
      fields: [{ field, studioName: 'arm' }],
    },
    { name: 'story.mjs' },
  );
  page = await open(studio);
});

afterAll(async () => {
  await browser?.close();
  await studio?.close();
  await images?.[Symbol.asyncDispose]();
  await transport?.close();
  await field?.dispose();
  await story?.close();
});

describe('a program under the eyes of a page', () => {
  it('that works is well: which device runs, memory has room, nothing failed', async () => {
    await busily(async () => {
      await says(/All is well: cpu does the work, memory has room, nothing failed\./);
      await says(
        /Which device runs\?.*cpu does the work.*Is memory short\?.*No, there is room.*Did anything fail\?.*No/,
      );
    });
    expect(await page.title()).toBe('Overview · GPUForge Studio');
    // The link has done its work and is not in the address any more.
    expect(new URL(page.url()).search).toBe('');
  });

  it('shows where work went and why', async () => {
    await go('routing');
    await story.work(30);
    await says(/Decisions.*cpu/);
    await says(/Furthest off.*×/);
    await page.click('text=Ask the router');
    await says(/It would run on (cpu|reference)\./);
  });

  it('shows its kernels, and their device times once profiling is on', async () => {
    await go('work');
    await says(/matmul_f32_64x64x64/);
    await page.click('#profiling');
    await page.waitForFunction(
      () => document.querySelector('#profiling')?.getAttribute('aria-checked') === 'true',
      null,
      { timeout: soon },
    );
    await busily(async () => {
      await page.waitForFunction(
        () => {
          const row = [...document.querySelectorAll('tr')].find((r) => r.textContent?.includes('matmul_f32'));
          return /\d .s/.test(row?.querySelector('[data-label="Device time"]')?.textContent ?? '');
        },
        null,
        { timeout: soon },
      );
      expect(await page.locator('canvas.timeline').isVisible()).toBe(true);
    });
  });

  it('that runs short of memory spills, and the page says so', async () => {
    await go('memory');
    await story.spill();
    await says(/Moved to the host[1-9]/);
    await says(/Pressure (high|critical)/);
    await go('overview');
    await says(/Yes, it is (getting short|nearly full).*had to move to host memory/);
    await page.screenshot({ path: join(pictures, 'studio-memory-short.png') });
  });

  it('that loses its device recovers, and the page says both', async () => {
    await story.lose();
    await story.work(5);
    await says(/cpu is back/);
    await says(/Did anything fail\?.*Yes, and it was handled.*1 device loss/);
    await go('devices');
    await says(/came back/);
    await says(/was lostthe driver was reset/);
  });

  it('that leaks is caught, with the line that made it', async () => {
    story.release();
    await go('memory');
    await busily(async () => {
      await says(/Growth.*story\.ts:\d+/);
      await go('overview');
      await says(/It keeps growing/);
      await says(/Live memory of cpu keeps growing/);
    }, story.leak);
  });

  it('tells all of it in the list of events, which can be filtered and paused', async () => {
    await go('events');
    await says(/cpu was lost: the driver was reset\. \d+ tensors? had a copy elsewhere/);
    for (const kind of ['lost', 'reborn', 'spill', 'pressure', 'growth', 'alert']) await says(new RegExp(kind));
    await page.fill('input[type="search"]', 'driver was reset');
    await says(/^.*[1-9]\d* of the newest/);
    await page.fill('input[type="search"]', '');
    await page.click('text=Pause');
    story.rt.memory.cleanupMemory();
    await says(/came since you paused/);
    await page.click('text=Go on');
    await says(/A clean-up of cpu/);
  });

  it('has results that are those of a program without a studio', async () => {
    const alone = await startStory();
    const [watched, plain] = [await story.work(8), await alone.work(8)];
    await alone.close();
    expect(watched).toEqual(plain);
  });

  it('is seen the same by two pages', async () => {
    const other = await open(studio);
    await go('devices');
    await go('devices', other);
    const history = (at: Page): Promise<string[]> =>
      at.$$eval('section:last-child tbody td[data-label="What"]', (cells) => cells.map((c) => c.textContent ?? ''));
    await says(/came back/, other);
    expect(await history(other)).toEqual(await history(page));
    await other.close();
  });
});

describe('batches on the page', () => {
  it('show items, sizes and failures', async () => {
    await go('batch');
    await says(/No batch has run yet/);
    await images.executeParallel(async (n) => n * n);
    await expect(
      images.executeParallel(async (n) => {
        if (n === 17) throw new Error('bad item');
        return n;
      }),
    ).rejects.toThrow();
    await says(/images.*Items48|Items\d+in \d+ batches/);
    await says(/Size and time.*\d/);
    const failed = Object.values(images.stats().operations).reduce((n, o) => n + o.failures, 0);
    expect(failed).toBeGreaterThan(0);
    // The page is drawn anew now and then.
    const shown = (): Promise<number> =>
      page.$$eval('td[data-label="Failures"]', (cells) => cells.reduce((n, c) => n + Number(c.textContent), 0));
    await expect.poll(shown, { timeout: soon }).toBe(failed);
  });
});

describe('a queue on the page', () => {
  it('shows jobs that run, how far they are, and what was given up, with its index', async () => {
    await go('batch');
    await says(/renders.*There is no job/);
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const square = async ({ params }: { params: unknown }): Promise<{ value: number }> => {
      const n = params as number;
      if (n === 3) throw new Error('three is <b>refused</b>');
      if (n >= 5) await gate;
      return { value: n * n };
    };
    const caps = { backend: 'cpu', device: 'cpu', freeMb: null, itemsPerSecond: {} } as const;
    await transport.worker(handlerOf({ ops: { square } }), caps, { concurrency: 4 });
    const job = await transport.submit(
      { id: 'squares', op: 'square', attempts: 2 },
      [0, 1, 2, 3, 4, 5, 6].map((params) => ({ params })),
    );
    await says(/Running jobs1.*squaressquarerunning4 of 711/);
    await says(/squares32three is <b>refused<\/b>/);
    open();
    await job.finished();
    await says(/Running jobs0.*squaressquarefailed6 of 711/);
  });
});

describe('a field on the page', () => {
  /** Colours in the picture of the slice. */
  const colours = (): Promise<number> =>
    page.$eval('canvas.slice', (c) => {
      const { width, height } = c as HTMLCanvasElement;
      const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true })!;
      copy.drawImage(c as HTMLCanvasElement, 0, 0);
      return new Set(new Uint32Array(copy.getImageData(0, 0, width, height).data.buffer)).size;
    });

  it('shows what is in it before anything has happened, and says what is missing', async () => {
    await go('field');
    await says(/arm.*Model fused, 16 × 16 × 16 cells with 32 channels on cpu, \d+ KiB\. \d+ cycles since it was made/);
    await says(/No cycle has ended since a page was opened.*No loop runs.*field\.loop/);
    await says(/Cycle \d+: from/);
    expect(await colours()).toBeGreaterThan(50);
  });

  it('shows sensors, motors and latencies with the deadline; a late tick is a miss', async () => {
    const motors: number[][] = [];
    field.on('cycle', (cycle) => motors.push([...cycle.motors]));
    let tick = 0;
    const stop = new AbortController();
    const looping = field.loop({
      hz: 20,
      signal: stop.signal,
      source: async () => {
        // The motors of this tick are late.
        if (tick === 10) await new Promise((resolve) => setTimeout(resolve, 180));
        return sensorsAt(tick++);
      },
      sink: () => {},
    });
    await vi.waitFor(() => expect(motors.length).toBeGreaterThan(12), { timeout: within(4000) });
    await says(/Missed deadlines[1-9]\d*of \d+ ticks at 20 a second/);
    await says(/Confidence\d+ %.*Skill-?\d/);
    await says(/From tick to motors[\d.]+ (ms|µs)99 of 100 within/);
    expect(await page.locator('canvas.histogram').getAttribute('aria-label')).toMatch(/deadline 50\.0 ms, [1-9]/);
    expect(await page.locator('canvas.bars >> nth=1').getAttribute('aria-label')).toMatch(/^3 motors: -?\d/);
    await page.selectOption('select[aria-label="Axis"]', '2');
    await page.locator('.slider input').nth(1).fill('7');
    await page.waitForFunction(
      () => document.querySelector('canvas.slice')?.getAttribute('aria-label') === 'Channel 7 on slice 7 across axis 2',
      null,
      { timeout: soon },
    );
    await says(/Cycle [1-9]\d*: from/);
    expect(await colours()).toBeGreaterThan(50);
    const shown = studio.snapshot().fields[0]!;
    stop.abort();
    const report = await looping;
    expect(shown.loop!.missed).toBeGreaterThan(0);
    expect(shown.loop!.missed).toBeLessThanOrEqual(report.missed);
    // The same field without a studio.
    await using alone = await trainedField();
    for (let i = 0; i < 12; i++) expect(motors[i]).toEqual([...(await alone.step(sensorsAt(i))).motors]);
  });

  it('has sliders for its settings: a change holds from the next cycle on, and is noted', async () => {
    await go('field');
    const row = (name: string) => page.locator('.setting', { has: page.locator(`code:text-is("${name}")`) });
    await says(/keepthe part of a value that stays/);
    await row('keep').locator('input[type=range]').fill('500');
    await vi.waitFor(() => expect(field.options.settings.keep).toBe(0.87), { timeout: soon });
    await row('gain').locator('input[type=number]').fill('12.5');
    await row('gain').locator('input[type=number]').press('Enter');
    await row('confidenceGain').locator('input[type=checkbox]').check();
    await vi.waitFor(() => expect(field.options.settings).toMatchObject({ gain: 12.5, confidenceGain: true }), {
      timeout: soon,
    });
    // What is fixed has no control, and what is refused says why; the value stays.
    expect(await row('readout').locator('input, select').count()).toBe(0);
    await row('gain').locator('input[type=number]').fill('5000');
    await row('gain').locator('input[type=number]').press('Enter');
    await says(/the setting gain is 5000.*Give a number from 0 to 1000/);
    expect(field.options.settings.gain).toBe(12.5);
    expect(complaints.splice(0)).toEqual([expect.stringContaining('400')]);
    // A change of the program moves the slider.
    await field.configure({ keep: 0.999, gain: 100, confidenceGain: false });
    await row('readout').click();
    await page.waitForFunction(
      () =>
        [...document.querySelectorAll<HTMLInputElement>('.setting input[type=number]')].some(
          (i) => i.value === '0.999',
        ),
      null,
      { timeout: 3 * soon },
    );
    await go('events');
    await says(/settings.*arm: keep 0\.999, gain 100, confidenceGain false from cycle \d+ on/);
  });

  it('shows settings to read where the studio only looks', async () => {
    const looks = await serveStudio({ fields: [{ field, studioName: 'arm' }] });
    const other = await open(looks);
    await go('field', other);
    await says(/keepthe part of a value that stays after a cycle0\.999/, other);
    await says(/This studio only looks.*allowControl: true/, other);
    expect(await other.locator('.setting input, .setting select').count()).toBe(0);
    await other.close();
    await looks.close();
  });

  it('refuses a slice that is not there, and a field that it does not know', async () => {
    const ask = (query: string): Promise<{ status: number; error: string }> =>
      page.evaluate(async (q) => {
        const answer = await fetch(`/api/field/slice?${q}`);
        return { status: answer.status, error: ((await answer.json()) as { error: string }).error };
      }, query);
    expect(await ask('field=arm&axis=1&index=16&channel=0')).toEqual({
      status: 400,
      error: expect.stringContaining('no slice 16 across axis 1'),
    });
    expect((await ask('field=arm&axis=0&index=0&channel=1e9')).status).toBe(400);
    expect((await ask('field=leg')).status).toBe(404);
    expect(complaints.splice(0)).toEqual([400, 400, 404].map((code) => expect.stringContaining(String(code))));
  });
});

describe('a profile on the page', () => {
  it('says which kernel to improve first, is compared, and opens as a page of its own', async () => {
    await using rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const profiler = new Profiler({ enabled: true, runtimes: [rt] });
    await profiler.ready();
    for (let i = 0; i < 8; i++) {
      await profiler.profile('features', () => rt.random.normal([256, 256], { seed: i }).tanh().sum().data());
      await profiler.profile('product', () =>
        rt
          .ones([256, 256])
          .matmul(rt.ones([256, 256]))
          .sum()
          .data(),
      );
    }
    const buffer = Buffer.from(await profiler.exportJSON());
    profiler.dispose();
    await go('profiles');
    await says(/There is no profile yet/);
    const file = (name: string, of: Buffer) => ({ name, mimeType: 'application/json', buffer: of });
    await page.setInputFiles('input[type=file]', [file('before.json', buffer), file('after.json', buffer)]);
    await says(/before\.json.*Improve first: .*of all kernel time/);
    await page.click('text=Compare >> nth=-1');
    await says(/product.*the same/);
    await page.setInputFiles('input[type=file]', file('broken.json', buffer.subarray(0, 300)));
    await says(/broken\.json cannot be shown.*no JSON/);
    expect(complaints.splice(0)).toEqual([expect.stringContaining('400')]);
    const [opened] = await Promise.all([
      page.context().waitForEvent('page'),
      page.click('main a.button.primary >> nth=0'),
    ]);
    opened.on('console', (m) => complaints.push(`${m.type()}: ${m.text()}`));
    await opened.waitForFunction(() => /features/.test(document.body.textContent ?? ''), null, { timeout: soon });
    await opened.close();
  });
});

describe('forge on the page', () => {
  it('detects, examines, resolves and previews files, and writes nothing', async () => {
    await go('forge');
    const forms = page.locator('main form');
    await forms.nth(1).locator('button').click();
    await page.waitForSelector('article.sub', { timeout: within(6000) });
    await forms.nth(2).locator('[name=for]').fill('RTX 4090');
    await forms.nth(2).locator('[name=driver]').fill('570');
    await forms.nth(2).locator('[name=os]').selectOption('linux');
    await forms.nth(2).locator('button').click();
    await says(/pytorch \d+\.\d+/);
    await forms.nth(3).locator('[name=name]').fill('../etc');
    await forms.nth(3).locator('button').click();
    await vi.waitFor(() => expect(complaints).toHaveLength(1), { timeout: soon });
    // The only request that is refused here.
    expect(complaints.splice(0)).toEqual([expect.stringContaining('400')]);
    await forms.nth(3).locator('[name=name]').fill('demo');
    await forms.nth(3).locator('[name=for]').fill('RTX 4090');
    await forms.nth(3).locator('[name=driver]').fill('570');
    await forms.nth(3).locator('button').click();
    await says(/pyproject\.toml/);
  });
});

describe('every page', () => {
  it('fits a desktop and a phone without scrolling sideways, light and dark', async () => {
    const pictured = process.env.GPUFORGE_PICTURES !== undefined;
    const dark = await open(studio, { dark: true });
    const [desktop, phone] = [page.viewportSize()!, { width: 390, height: 844 }];
    let tick = 0;
    const stop = new AbortController();
    const looping = field.loop({
      hz: 20,
      signal: stop.signal,
      source: () => sensorsAt(tick++),
      sink: () => {},
    });
    await busily(async () => {
      const fits = async (at: Page, id: string, name: string): Promise<void> => {
        // What watches its own size draws in the frame after.
        await at.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        if (pictured) await at.waitForTimeout(1500);
        const beyond = await at.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(beyond, `${id} ${name}`).toBeLessThanOrEqual(0);
        if (pictured) await at.screenshot({ path: join(pictures, `studio-${id}-${name}.png`), fullPage: true });
      };
      for (const id of pages) {
        await go(id);
        await page.waitForTimeout(250);
        await fits(page, id, 'light');
        await page.setViewportSize(phone);
        await fits(page, id, 'phone');
        await page.setViewportSize(desktop);
        // Colours move nothing: one page shows that.
        if (id !== pages[0] && !all && !pictured) continue;
        await go(id, dark);
        await dark.waitForTimeout(250);
        await fits(dark, id, 'dark');
      }
    });
    stop.abort();
    await looping;
    await dark.close();
  });

  it('can be reached by the keyboard, and says where one is', async () => {
    await go('overview');
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content');
    for (let i = 0; i < 3; i++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForSelector('nav a[aria-current]:not([href="#/overview"])', { timeout: soon });
    const unnamed = await page.$$eval('button, input, select, a, canvas', (all) =>
      all
        .filter(
          (e) =>
            !e.closest('[hidden], [aria-hidden]') &&
            !(
              e.getAttribute('aria-label') ||
              e.textContent?.trim() ||
              (e as HTMLInputElement).labels?.length ||
              e.closest('.u-wrap')
            ),
        )
        .map((e) => e.outerHTML.slice(0, 80)),
    );
    expect(unnamed).toEqual([]);
  });

  it('asked no other host for anything, and nothing was refused or thrown', () => {
    expect(foreign).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

describe('text from programs', () => {
  it('is text, wherever it appears: kernels, devices, errors, names', async () => {
    const markup = '<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>';
    await using rt = await createRuntime({
      devices: ['cpu'],
      cpu: { threads: 1 },
      wrap: (device) =>
        new Proxy(device, {
          get: (t, k) => {
            if (k === 'caps') return { ...t.caps, name: `GPU ${markup}`, details: { driver: markup } };
            const v = Reflect.get(t, k, t);
            return typeof v === 'function' ? v.bind(t) : v;
          },
        }),
    });
    await using own = await serveStudio({ runtimes: [{ runtime: rt, studioName: markup }] });
    const at = await open(own);
    rt.on('launch', () => {
      throw new Error(markup);
    });
    const kernel = rt.kernel((x) => x.mul(2), { name: `bad${markup}` });
    await (kernel(rt.tensor([1, 2])) as { data(): Promise<unknown> }).data();
    for (const id of pages) {
      await go(id, at);
      await at.waitForTimeout(100);
      expect(
        await at.evaluate(() => [
          document.querySelectorAll('main img, main script').length,
          (globalThis as { hacked?: number }).hacked,
        ]),
        id,
      ).toEqual([0, undefined]);
    }
    await go('work', at);
    await says(/bad<img src=x onerror/, at);
    await go('events', at);
    await says(/threw: <img src=x/, at);
    await go('devices', at);
    await says(/GPU <img src=x/, at);
    await at.close();
  });
});

describe('a server that goes away', () => {
  it('leaves stale values that say so, comes back by itself, and leaves the program alone', async () => {
    const other = await serveStudio({ runtimes: [story.rt] });
    const at = await open(other);
    const { port, token } = other;
    expect(token).toHaveLength(43);
    let rounds = 0;
    let busy = true;
    const working = (async () => {
      while (busy) rounds += (await story.work(2)).length;
    })();
    await other.close();
    await says(/Stale since \d\d:\d\d:\d\d: these are old values/, at);
    expect(await at.evaluate(() => getComputedStyle(document.querySelector('main')!).filter)).toBe('grayscale(1)');
    const before = rounds;
    await vi.waitFor(() => expect(rounds).toBeGreaterThan(before), { timeout: soon });
    // Another studio at the same place: its sessions are others, and the page says that it is locked.
    const again = await serveStudio({ runtimes: [story.rt], port });
    await says(/This page is locked/, at);
    busy = false;
    await working;
    await again.close();
    await at.close();
    complaints.splice(0);
  });

  it('a page that is closed in the middle changes nothing', async () => {
    const at = await open(studio);
    const working = story.work(20);
    await at.close();
    expect(await working).toEqual(await story.work(20));
  });
});

describe('what is sent', () => {
  it('is under 300 KB gzip in all', () => {
    const bytes = [...files.values()].reduce((sum, f) => sum + gzipSync(f.body).length, 0);
    console.log(`gzip: page, script and style ${(bytes / 1000).toFixed(1)} KB`);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThanOrEqual(300_000);
  });

  it('has colours that can be told apart from what is behind them, in both themes', () => {
    const [light, dark] = style.split('@media (prefers-color-scheme: dark)').map(coloursOf);
    for (const theme of [light!, dark!]) {
      for (const [text, ground] of [
        ['text', 'bg'],
        ['text', 'surface'],
        ['text', 'raised'],
        ['muted', 'bg'],
        ['muted', 'surface'],
        ['muted', 'raised'],
        ['accent', 'surface'],
        ['accent', 'accent-soft'],
        ['good', 'good-soft'],
        ['watch', 'watch-soft'],
        ['bad', 'bad-soft'],
        ['unknown', 'unknown-soft'],
        ['good', 'surface'],
        ['watch', 'surface'],
        ['bad', 'surface'],
      ] as const)
        expect(contrast(theme.get(text)!, theme.get(ground)!), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  });
});

const coloursOf = (css: string): Map<string, string> =>
  new Map([...css.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map((m) => [m[1]!, m[2]!]));

/** WCAG 2: the ratio of relative luminances. */
function contrast(a: string, b: string): number {
  const luminance = (hex: string): number => {
    const [r, g, bl] = [1, 3, 5]
      .map((i) => Number.parseInt(hex.slice(i, i + 2), 16) / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * bl!;
  };
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high! + 0.05) / (low! + 0.05);
}
