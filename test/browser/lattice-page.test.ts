// The lattice's page in headless Chromium: searches around walls that are drawn on it, and diffusion between them.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { plainDistances } from '../lattice/plain.ts';
import { launch, needsBrowser, noBrowser } from '../support/browser.ts';
import { within } from '../support/time.ts';
import { bundle, type Served, serve } from './support.ts';

const pictures = join(import.meta.dirname, '../../.cache/pictures');
const side = 100;
const complaints: string[] = [];
const patience = within(15_000);
vi.setConfig({ testTimeout: 3 * patience, hookTimeout: 3 * patience });
let browser: Browser;
let served: Served;

needsBrowser();

beforeAll(async () => {
  if (noBrowser) return;
  mkdirSync(pictures, { recursive: true });
  const files = await bundle({ configFile: join(import.meta.dirname, '../../examples/lattice/vite.config.ts') });
  [served, browser] = await Promise.all([serve(files), launch()]);
});

afterEach(() => {
  expect(complaints.splice(0)).toEqual([]);
});

afterAll(async () => {
  await browser?.close();
  await served?.close();
});

async function open(query: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(patience);
  page.on('console', (m) => complaints.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => complaints.push(e.message));
  await page.goto(`${served.url}${query}`);
  await searched(page, 0);
  return page;
}

/** Waits for another search than the first `count`. */
const searched = (page: Page, count: number): Promise<unknown> =>
  page.waitForFunction((n) => (globalThis.__lattice?.searches() ?? 0) > n, count);

/** What the page found is what a plain search finds around the walls that it shows. */
async function checkSearch(page: Page): Promise<number> {
  const { walls, distances, path } = await page.evaluate(() => ({
    walls: [...globalThis.__lattice.found()!.walls],
    distances: [...globalThis.__lattice.found()!.distances],
    path: [...globalThis.__lattice.found()!.path],
  }));
  const blocked = new Set(walls.flatMap((w, v) => (w ? [v] : [])));
  const expected = plainDistances(2, side, blocked, 0);
  expect(distances).toEqual([...expected]);
  const last = expected[side * side - 1]!;
  expect(path.length - 1).toBe(last < 0 ? -1 : last);
  for (const [i, v] of path.entries()) {
    expect(blocked.has(v)).toBe(false);
    if (i > 0) expect(expected[v]).toBe(i);
  }
  return last;
}

/** Draws from cell to cell. */
async function stroke(page: Page, from: readonly [number, number], to: readonly [number, number]): Promise<void> {
  const box = (await page.locator('#lattice').boundingBox())!;
  const at = ([row, column]: readonly [number, number]): [number, number] => [
    box.x + ((column + 0.5) / side) * box.width,
    box.y + ((row + 0.5) / side) * box.height,
  ];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  const cells = Math.max(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]));
  await page.mouse.move(...at(to), { steps: Math.ceil(1.5 * cells) });
  await page.mouse.up();
}

it.each(['webgpu', 'cpu'])('finds ways around walls that are drawn on it (%s)', async (kind) => {
  const page = await open(`?device=${kind}`);
  expect(await page.evaluate(() => globalThis.__lattice.device())).toContain(kind);
  expect(await checkSearch(page)).toBeGreaterThan(198);
  await page.getByRole('button', { name: 'None' }).click();
  await page.waitForFunction(() => document.getElementById('what')!.textContent === '198');
  // Around the corner that searches start from.
  await stroke(page, [5, 0], [0, 5]);
  await page.waitForFunction(() => document.getElementById('what')!.textContent === 'no way');
  await checkSearch(page);
  // Drawing over a wall takes it away.
  await stroke(page, [3, 2], [2, 3]);
  await page.waitForFunction(() => document.getElementById('what')!.textContent === '198');
  await checkSearch(page);
  await page.close();
});

it('draws the frontier, the path and the spreading of warmth', async () => {
  const page = await open('');
  const colours = (): Promise<number> =>
    page.evaluate(() => {
      const copy = new OffscreenCanvas(100, 100).getContext('2d')!;
      copy.imageSmoothingEnabled = false;
      copy.drawImage(document.querySelector('canvas')!, 0, 0, 100, 100);
      return new Set(new Uint32Array(copy.getImageData(0, 0, 100, 100).data.buffer)).size;
    });
  // A colour for every distance, once the frontier has come to the end.
  await expect.poll(colours, { timeout: patience }).toBeGreaterThan(150);
  await checkSearch(page);
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(pictures, 'lattice-search.png') });
  await page.locator('#modes label', { hasText: 'Diffusion' }).click();
  await page.waitForFunction(() => globalThis.__lattice.field().reduce((a, b) => a + b, 0) > 20);
  const { field, walls } = await page.evaluate(() => ({
    field: [...globalThis.__lattice.field()],
    walls: [...globalThis.__lattice.found()!.walls],
  }));
  expect(field.every((x, v) => (walls[v] ? x === 0 : x >= 0 && x <= 1))).toBe(true);
  expect(field[0]!).toBeGreaterThan(field[5]!);
  await page.screenshot({ path: join(pictures, 'lattice-diffusion.png') });
  await page.close();
});

it('goes on when the GPU is lost', async () => {
  const page = await open('?device=webgpu');
  await page.evaluate(() => globalThis.__lattice.loseDevice());
  await page.waitForFunction(() => /was lost/.test(document.getElementById('notice')!.textContent ?? ''));
  const before = await page.evaluate(() => globalThis.__lattice.searches());
  await page.getByRole('button', { name: 'Scattered' }).click();
  await searched(page, before);
  await checkSearch(page);
  complaints.splice(0);
  await page.close();
});
