// The same device checks in headless Chromium, from a bundle made for browsers without shims.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { build } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch, needsBrowser, noBrowser } from '../support/browser.ts';
import { all } from '../support/extent.ts';
import { within } from '../support/time.ts';
import type { PageResult } from './browser/page.ts';
import { allChecks, checksFor, forGpus } from './checks/index.ts';

/** Dawn in Node runs every check (device.test.ts); a page runs every n-th of them, and all in `npm run test:all`. */
const nth = all ? 1 : 12;
let browser: Browser;
let server: Server;
let page: Page;
const complaints: string[] = [];

/** A browser bundle; unresolved imports, Node's modules among them, fail the build. */
async function bundle(input: string, external: RegExp[] = []): Promise<string> {
  const { output } = await build({
    input: join(import.meta.dirname, input),
    external,
    platform: 'browser',
    output: { format: 'esm', codeSplitting: false, minify: true },
    write: false,
    onLog(level, log) {
      if (level === 'warn') throw new Error(log.message);
    },
  });
  return output[0].code;
}

beforeAll(async () => {
  if (noBrowser) return;
  const script = await bundle('browser/page.ts');
  server = createServer((request, response) => {
    const js = request.url === '/page.js';
    response.setHeader('content-type', js ? 'text/javascript' : 'text/html');
    response.end(js ? script : '<!doctype html><title>checks</title><script type="module" src="/page.js"></script>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  browser = await launch();
  page = await browser.newPage();
  page.setDefaultTimeout(within(12_000));
  page.on('console', (m) => complaints.push(m.text()));
  page.on('pageerror', (e) => complaints.push(e.message));
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await page.waitForFunction(() => typeof globalThis.runChecks === 'function');
}, within(12_000));

afterAll(async () => {
  await browser?.close();
  server?.close();
});

describe('in headless Chromium', () => {
  needsBrowser();

  for (const group of [...Object.keys(allChecks), forGpus]) {
    it(
      `the ${group} checks pass`,
      async () => {
        const result: PageResult = await page.evaluate(([g, n]) => globalThis.runChecks(g, n), [group, nth] as const);
        const asked = Math.ceil(checksFor(group, all).length / nth);
        expect(result.failed).toEqual([]);
        expect(result.passed.length).toBe(asked - result.skipped.length);
        expect(result.passed.length).toBeGreaterThan(10 / nth);
      },
      within(60_000),
    );
  }

  it('says nothing on the console', () => {
    expect(complaints).toEqual([]);
  });
});

describe('the bundle', () => {
  it('of the device alone needs no shims and stays small', async () => {
    const input = '../../src/devices/webgpu/open.ts';
    // Kernels for GPUs are fetched where the adapter is one.
    const [all, some, alone] = await Promise.all([
      bundle(input),
      bundle(input, [/ordering\/index/]),
      bundle(input, [/on-chip\/index/, /ordering\/index/]),
    ]);
    expect(all).not.toMatch(/\bfrom\s*["'](node:|webgpu)/);
    const sizes = [all, some, alone].map((code) => gzipSync(code).length) as [number, number, number];
    expect(sizes[2]).toBeLessThan(42_500);
    expect(sizes[1] - sizes[2]).toBeLessThan(12_000);
    expect(sizes[0] - sizes[1]).toBeLessThan(7_000);
  });
});
