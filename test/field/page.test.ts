// The example page in headless Chromium: driven by mouse, and looked at.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { bundle, type Served, serve } from '../browser/support.ts';
import { launch, needsBrowser, noBrowser } from '../support/browser.ts';
import { within } from '../support/time.ts';

const root = join(import.meta.dirname, '../..');
const pictures = join(root, '.cache/pictures');
const patience = within(20_000);
vi.setConfig({ testTimeout: 3 * patience, hookTimeout: 3 * patience });
let browser: Browser;
let served: Served;

needsBrowser();

beforeAll(async () => {
  if (noBrowser) return;
  mkdirSync(pictures, { recursive: true });
  const files = await bundle({ configFile: join(root, 'examples/field/vite.config.ts') });
  [served, browser] = await Promise.all([serve(files), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await served?.close();
});

it('shows slices, motors, latencies and the cart, and answers the mouse', async () => {
  const page = await browser.newPage({ viewport: { width: 1160, height: 900 } });
  const complaints: string[] = [];
  page.on('console', (m) => complaints.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => complaints.push(e.message));
  page.setDefaultTimeout(patience);
  await page.goto(served.url);
  await page.waitForFunction(() => Number(document.getElementById('cycles')?.textContent) > 5);
  const picture = (id: string): Promise<string> =>
    page.evaluate((c) => (document.getElementById(c) as HTMLCanvasElement).toDataURL(), id);
  const [bars, slice] = [await picture('sensors'), await picture('slice')];
  const pad = (await page.locator('#sensors').boundingBox())!;
  await page.mouse.move(pad.x + 60, pad.y + 20);
  await page.mouse.down();
  await page.mouse.move(pad.x + 120, pad.y + 15, { steps: 4 });
  await page.mouse.up();
  // Slow enough for a software GPU on a busy machine: motors that are late are not shown.
  await page.locator('#hz').fill('4');
  await page.locator('#channel').fill('5');
  // Settings while it runs; without noise another program takes over.
  await page.locator('#keep').fill('50');
  await page.locator('#noise').fill('0');
  await page.locator('#gain').fill('40');
  expect(await page.locator('.sliders output').allTextContents()).toEqual(['4 Hz', '0.875', '0.05', '0', '200']);
  const cycles = Number(await page.locator('#cycles').textContent());
  await page.waitForFunction((n) => Number(document.getElementById('cycles')?.textContent) > n + 2, cycles);
  await page.locator('#axis').selectOption('2');
  await page.waitForFunction(() => /trained on 600/.test(document.getElementById('training')?.textContent ?? ''));
  await page.waitForFunction(() => Number(document.getElementById('rms')?.textContent) > 0);
  const track = (await page.locator('#cart').boundingBox())!;
  await page.mouse.click(track.x + 100, track.y + 50);
  await page.waitForFunction(
    (before) => (document.getElementById('sensors') as HTMLCanvasElement).toDataURL() !== before,
    bars,
  );
  expect(await picture('slice')).not.toBe(slice);
  expect(await page.locator('#channel-value').textContent()).toBe('5');
  expect(await page.locator('#median').textContent()).toMatch(/ms/);
  // The trained field brings the cart back to the middle.
  await page.waitForFunction(() => Number(document.getElementById('rms')?.textContent) < 0.35);
  await page.screenshot({ path: join(pictures, 'field.png'), fullPage: true });
  expect(complaints).toEqual([]);
});
