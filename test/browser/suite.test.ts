// The case suite and random graphs in headless Chromium, through the package as Vite bundles it: the numbers of a page are NumPy's too.

import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { caseFiles, caseText } from '../cases/files.ts';
import { launch, needsBrowser, noBrowser } from '../support/browser.ts';
import { all } from '../support/extent.ts';
import { seed } from '../support/seed.ts';
import { within } from '../support/time.ts';
import { bundle, type Served, serve } from './support.ts';

/** Every n-th case of each file, and a few random graphs; everything in `npm run test:all`. */
const nth = all ? 1 : 18;
let browser: Browser;
let served: Served;
let page: Page;
let passed = 0;
const complaints: string[] = [];

needsBrowser();

beforeAll(async () => {
  if (noBrowser) return;
  const files = await bundle({
    configFile: false,
    build: { target: 'es2022', minify: false, rolldownOptions: { input: join(import.meta.dirname, 'suite-page.ts') } },
  });
  const entry = files.find((f) => f.type === 'chunk' && f.isEntry)!;
  const html = `<!doctype html><title>suite</title><link rel="icon" href="data:,"><script type="module" src="/${entry.fileName}"></script>`;
  [served, browser] = await Promise.all([serve(files, { html }), launch()]);
  page = await browser.newPage();
  page.setDefaultTimeout(within(12_000));
  page.on('console', (m) => complaints.push(m.text()));
  page.on('pageerror', (e) => complaints.push(e.message));
  await page.goto(served.url);
  await page.waitForFunction(() => typeof globalThis.runCaseFile === 'function');
}, within(12_000));

afterAll(async () => {
  console.log(`webgpu in Chromium: ${passed} cases passed`);
  await browser?.close();
  await served?.close();
});

describe('cases in headless Chromium', () => {
  it.each(caseFiles())('%s', { timeout: within(30_000) }, async (file) => {
    const result = await page.evaluate(([f, text, n]) => globalThis.runCaseFile(f, text, n), [
      file,
      caseText(file),
      nth,
    ] as const);
    passed += result.passed;
    expect(result.failures.slice(0, 6), `${result.failures.length} failed`).toEqual([]);
    expect(result.passed + result.skipped.reduce((sum, [, n]) => sum + n, 0)).toBeGreaterThan(0);
  });

  it('say nothing on the console', () => {
    expect(passed).toBeGreaterThan(1000 / nth);
    expect(complaints).toEqual([]);
  });
});

describe('random graphs in headless Chromium', () => {
  it.each([
    ['eager', all ? 120 : 30],
    ['compiled', all ? 20 : 8],
  ] as const)('come out right, %s', { timeout: within(30_000) }, async (manner, count) => {
    const report = await page.evaluate(([s, n, m]) => globalThis.runFuzz(s, n, m), [seed, count, manner] as const);
    if (report.failure) expect.fail(report.failure);
    console.log(`seed ${seed}: ${count} graphs in Chromium, ${manner}; ${report.compared} elements compared`);
    expect(report.share).toBeGreaterThan(60);
    expect(complaints).toEqual([]);
  });
});
