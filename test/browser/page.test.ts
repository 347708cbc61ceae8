// The example page in headless Chromium, as a visitor meets it: with WebGPU, losing it, and without it.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { Rolldown } from 'vite';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { launch, needsBrowser, noBrowser } from '../support/browser.ts';
import { within } from '../support/time.ts';
import { bundle, type Served, serve } from './support.ts';

const pictures = join(import.meta.dirname, '../../.cache/pictures');
const complaints: string[] = [];
/** A software GPU on a busy machine takes its time; what never comes is still noticed. */
const patience = within(10_000);
vi.setConfig({ testTimeout: 3 * patience, hookTimeout: 3 * patience });
let files: Rolldown.RolldownOutput['output'];
let browser: Browser;
let served: Served;

needsBrowser();

beforeAll(async () => {
  if (noBrowser) return;
  mkdirSync(pictures, { recursive: true });
  files = await bundle({ configFile: join(import.meta.dirname, '../../examples/browser/vite.config.ts') });
  [served, browser] = await Promise.all([serve(files), launch()]);
});

afterEach(() => {
  expect(complaints.splice(0)).toEqual([]);
});

afterAll(async () => {
  await browser?.close();
  await served?.close();
});

async function open(query: string, width = 1280, height = 1000): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height } });
  page.setDefaultTimeout(patience);
  page.on('console', (m) => complaints.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => complaints.push(e.message));
  await page.goto(`${served.url}${query}`);
  await page.waitForFunction(() => /\d/.test(document.getElementById('fps')?.textContent ?? ''));
  return page;
}

const text = async (page: Page, id: string): Promise<string> => (await page.locator(`#${id}`).textContent()) ?? '';

/**
 * Waits until more than `least` cells are drawn in another colour than now, or until nothing changed for `frames` pictures in a row;
 * gives the number of changed cells. Pictures are counted, not seconds: a busy machine draws fewer of them.
 */
const changedPixels = (page: Page, least = 500, frames = Number.POSITIVE_INFINITY): Promise<number> =>
  page.evaluate(
    async ([most, patience]) => {
      const canvas = document.querySelector('canvas')!;
      const copy = new OffscreenCanvas(256, 256).getContext('2d', { willReadFrequently: true })!;
      const pixels = () => {
        copy.drawImage(canvas, 0, 0);
        return new Uint32Array(copy.getImageData(0, 0, 256, 256).data.buffer);
      };
      const before = pixels();
      let changed = 0;
      for (let still = 0; changed <= most! && still < patience!; ) {
        await new Promise(requestAnimationFrame);
        const now = pixels();
        const differ = now.filter((p, i) => p !== before[i]).length;
        still = differ === changed ? still + 1 : 0;
        changed = differ;
      }
      return changed;
    },
    [least, frames],
  );

/** Stops the field and waits until its last step is drawn. */
async function pause(page: Page): Promise<void> {
  await page.locator('#pause').click();
  while ((await changedPixels(page, 0, 40)) > 0);
}

/** The mean of substance v. */
const amount = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const v = globalThis.__example.state().subarray(256 * 256);
    return v.reduce((sum, x) => sum + x, 0) / v.length;
  });

const setSlider = (page: Page, id: string, value: number): Promise<void> =>
  page.locator(`#${id}`).evaluate((element, v) => {
    const input = element as HTMLInputElement;
    input.valueAsNumber = v;
    input.dispatchEvent(new Event('input'));
  }, value);

describe('the example page on WebGPU', () => {
  let page: Page;
  beforeAll(async () => {
    if (!noBrowser) page = await open('?device=webgpu');
  });

  it('runs the field and draws it', async () => {
    expect(await changedPixels(page)).toBeGreaterThan(500);
    const [least, most] = await page.evaluate(() => {
      const state = globalThis.__example.state();
      return [state.reduce((a, b) => Math.min(a, b)), state.reduce((a, b) => Math.max(a, b))];
    });
    expect(least).toBeGreaterThanOrEqual(0);
    expect(most).toBeLessThanOrEqual(1);
  });

  it('names the device, what was not opened and why, and one kernel for a step', async () => {
    expect(await page.locator('#report').getAttribute('data-device')).toBe('webgpu:0');
    expect(await text(page, 'report')).toMatch(/swiftshader/i);
    expect(await text(page, 'report')).toMatch(/cuda.*not opened: browsers have no access to CUDA/);
    expect(await page.locator('#kernels li').count()).toBe(1);
    const kernel = await text(page, 'kernels');
    expect(kernel).toMatch(/f32_2x256x256$/);
    expect(await text(page, 'explain')).toContain(`on webgpu:0`);
    expect(await text(page, 'explain')).toContain(`1. ${kernel}`);
    expect(await text(page, 'explain')).not.toContain('  2. ');
  });

  it('shows measured times', async () => {
    expect(await text(page, 'step-time')).toMatch(/^\d+(\.\d+)? (µs|ms)$/);
    expect(Number(await text(page, 'fps'))).toBeGreaterThan(0);
    expect(await text(page, 'step-how')).toMatch(/timestamps on the GPU|by the clock/);
  });

  it('follows a slider, and compiles nothing for it', async () => {
    const programs = () => page.evaluate(() => globalThis.__example.simulation().rt.stats().programs);
    const before = { amount: await amount(page), programs: await programs() };
    expect(before.amount).toBeGreaterThan(0.01);
    await setSlider(page, 'steps', 32);
    await setSlider(page, 'kill', 0.07);
    await setSlider(page, 'feed', 0.01);
    // With so little feed and so much decay, v dies out.
    await expect.poll(() => amount(page), { timeout: patience }).toBeLessThan(before.amount / 10);
    expect(await programs()).toBe(before.programs);
    await page.locator('#presets button', { hasText: 'Coral' }).click();
    await setSlider(page, 'steps', 8);
    await page.locator('#reset').click();
    await expect.poll(() => amount(page), { timeout: patience }).toBeGreaterThan(0.01);
  });

  it('pauses and goes on', async () => {
    await pause(page);
    expect(await changedPixels(page, 0, 20)).toBe(0);
    await page.locator('#pause').click();
    expect(await changedPixels(page, 100)).toBeGreaterThan(100);
  });

  it('takes what is drawn on it', async () => {
    await pause(page);
    const before = await amount(page);
    const box = (await page.locator('canvas').boundingBox())!;
    await page.mouse.move(box.x + 40, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 40, box.y + box.height - 40, { steps: 12 });
    await page.mouse.up();
    await page.locator('#pause').click();
    await expect.poll(() => amount(page), { timeout: patience }).toBeGreaterThan(before * 1.02);
  });

  /** Loses the GPU and waits until the page says how that went; gives how like the patterns before and after are (a new start: near 0). */
  const lose = (outcome: string, on: 'cpu' | 'webgpu:0'): Promise<{ likeness: number; runtimes: number }> =>
    page.evaluate(
      async ([outcome, device]) => {
        // Of substance v, around its mean.
        const pattern = () => {
          const v = globalThis.__example.state().slice(256 * 256);
          const mean = v.reduce((sum, x) => sum + x, 0) / v.length;
          return v.map((x) => x - mean);
        };
        const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, i) => sum + x * b[i]!, 0);
        const [report, notice] = ['report', 'notice'].map((id) => document.getElementById(id)!);
        const runtimes = new Set([globalThis.__example.simulation().rt]);
        const before = pattern();
        globalThis.__example.loseDevice();
        let likeness = Number.NaN;
        while (!notice!.textContent!.includes(outcome!) || report!.dataset.device !== device) {
          await new Promise(requestAnimationFrame);
          const state = pattern();
          // The frames right after the loss: later ones have moved on.
          if (Number.isNaN(likeness) && notice!.textContent!.includes('lost'))
            likeness = dot(before, state) / Math.sqrt(dot(before, before) * dot(state, state));
          runtimes.add(globalThis.__example.simulation().rt);
        }
        return { likeness, runtimes: runtimes.size };
      },
      [outcome, on],
    );

  it('goes on with the CPU while a destroyed GPU is opened again, then on the GPU, in one runtime', async () => {
    const { likeness, runtimes } = await lose('opened again', 'webgpu:0');
    expect(likeness).toBeGreaterThan(0.9);
    expect(runtimes).toBe(1);
    expect(await text(page, 'notice')).toMatch(
      /^WebGPU was lost and opened again after \d+ ms\. The field went on from its last frame\.$/,
    );
    expect(await page.locator('input[value=webgpu]').isChecked()).toBe(true);
    expect(await changedPixels(page)).toBeGreaterThan(500);
  });

  it('goes on with the CPU where the GPU does not come back', async () => {
    await page.evaluate(() => {
      navigator.gpu.requestAdapter = () => Promise.resolve(null);
    });
    const { likeness, runtimes } = await lose('does not come back', 'cpu');
    expect(likeness).toBeGreaterThan(0.9);
    expect(runtimes).toBe(1);
    // What the prototype has comes back.
    await page.evaluate(() => Reflect.deleteProperty(navigator.gpu, 'requestAdapter'));
    expect(await text(page, 'notice')).toMatch(
      /^WebGPU was lost and does not come back \(.*\)\. The field goes on with the CPU\.$/,
    );
    expect(await page.locator('input[value=cpu]').isChecked()).toBe(true);
    expect(await changedPixels(page)).toBeGreaterThan(500);
    expect(await text(page, 'kernels')).toMatch(/f32_2x256x256$/);
    await page.screenshot({ path: join(pictures, 'lost.png') });
    // The whole message is one sentence, without a stack or advice to programmers.
    expect(await text(page, 'notice')).not.toContain('\n');
  });

  it('comes back to WebGPU when it is chosen again', async () => {
    await page.locator('.switch label', { hasText: 'WebGPU' }).click();
    await page.waitForFunction(() => document.getElementById('report')?.dataset.device === 'webgpu:0');
    expect(await changedPixels(page)).toBeGreaterThan(500);
    expect(await page.locator('#notice').isVisible()).toBe(false);
    await page.screenshot({ path: join(pictures, 'webgpu.png') });
    await page.close();
  });
});

describe('the example page on the CPU', () => {
  it('uses threads where the page is isolated, in constant memory', async () => {
    const page = await open('?device=cpu');
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
    const [threads, cores] = await page.evaluate(() => [
      globalThis.__example.simulation().device!.caps.details.threads,
      navigator.hardwareConcurrency,
    ]);
    expect(threads).toBe(cores);
    expect(await text(page, 'report')).toContain(`CPU, ${threads} thread`);
    // Workers that have really started: everything but the page's own thread.
    await expect.poll(() => page.workers().length, { timeout: patience }).toBe(Number(threads) - 1);
    // The most of many moments: a frame holds more while it is computed.
    const bytes = () =>
      page.evaluate(async () => {
        let most = 0;
        for (let i = 0; i < 40; i++) {
          most = Math.max(most, globalThis.__example.simulation().rt.stats().bytes);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        return most;
      });
    const before = await bytes();
    for (let i = 0; i < 20; i++) expect(await changedPixels(page, 100)).toBeGreaterThan(100);
    // At least twenty frames of eight steps, each of which makes a field of 512 KiB: one that stays would be seen.
    expect(await bytes()).toBeLessThan(before + 8 * 2 ** 19);
    await page.screenshot({ path: join(pictures, 'cpu.png') });
    await page.close();
  });

  it('fits a small screen without sideways scrolling', async () => {
    const page = await open('?device=cpu', 360, 740);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await page.screenshot({ path: join(pictures, 'small.png'), fullPage: true });
    await page.close();
  });

  it('runs on one thread where the page is not isolated', async () => {
    const plain = await serve(files, { isolated: false });
    const isolated = served;
    try {
      served = plain;
      const page = await open('?device=cpu');
      expect(await page.evaluate(() => crossOriginIsolated)).toBe(false);
      expect(await text(page, 'report')).toMatch(/CPU, 1 thread, WebAssembly SIMD/);
      expect(await changedPixels(page)).toBeGreaterThan(500);
      await page.close();
    } finally {
      served = isolated;
      await plain.close();
    }
  });

  it('is what a browser without WebGPU gets, and the page says so', async () => {
    const page = await browser.newPage();
    page.setDefaultTimeout(patience);
    page.on('console', (m) => complaints.push(`${m.type()}: ${m.text()}`));
    page.on('pageerror', (e) => complaints.push(e.message));
    await page.addInitScript(() => Object.defineProperty(navigator, 'gpu', { value: undefined }));
    await page.goto(`${served.url}?device=webgpu`);
    await page.waitForFunction(() => document.getElementById('report')?.dataset.device === 'cpu');
    expect(await text(page, 'notice')).toMatch(/No WebGPU here: .*navigator\.gpu is missing/);
    expect(await page.locator('input[value=webgpu]').isDisabled()).toBe(true);
    expect(await changedPixels(page)).toBeGreaterThan(500);
    await page.close();
  });

  it('never asked the server for code of CUDA or the reference device', () => {
    const unwanted = files
      .filter((f) => f.type === 'chunk')
      .filter((f) => f.moduleIds.some((id) => /devices\/(cuda|reference)\/|koffi/.test(id)));
    expect(unwanted.length).toBeGreaterThan(0);
    expect(served.requests.length).toBeGreaterThan(5);
    for (const f of unwanted) expect(served.requests).not.toContain(`/${f.fileName}`);
  });
});
