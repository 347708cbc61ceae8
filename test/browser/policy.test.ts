// Pages with a Content-Security-Policy: what it forbids is found when a runtime opens, with the words that allow it.

import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import type { Rolldown } from 'vite';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { launch, needsBrowser, noBrowser } from '../support/browser.ts';
import { within } from '../support/time.ts';
import { bundle, serve } from './support.ts';

interface Outcome {
  readonly sum?: number;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly error?: string;
}

const patience = within(20_000);
vi.setConfig({ testTimeout: 3 * patience, hookTimeout: 3 * patience });
let files: Rolldown.RolldownOutput['output'];
let browser: Browser;

needsBrowser();

beforeAll(async () => {
  if (noBrowser) return;
  const input = join(import.meta.dirname, 'policy-entry.ts');
  files = await bundle({ configFile: false, build: { target: 'es2022', rolldownOptions: { input } } });
  browser = await launch();
});
afterAll(() => browser?.close());

/** What a page under a policy says. */
async function under(policy: string): Promise<Outcome> {
  const entry = files.find((f) => f.type === 'chunk' && f.isEntry)!;
  const html = `<!doctype html><script type="module" src="/${entry.fileName}"></script>`;
  const served = await serve(files, { html, policy });
  const page = await browser.newPage();
  try {
    await page.goto(served.url);
    await page.waitForFunction(() => document.title.startsWith('{'), undefined, { timeout: patience });
    return JSON.parse(await page.title()) as Outcome;
  } finally {
    await page.close();
    await served.close();
  }
}

describe('a page with a policy', () => {
  it('that allows WebAssembly and workers computes with threads', async () => {
    const { sum, details } = await under("script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:");
    expect(sum).toBe(6);
    expect(details).toMatchObject({ threads: 2 });
    expect(details).not.toHaveProperty('workers');
  });

  it('that forbids WebAssembly is told so at opening, with the fix', async () => {
    const { error } = await under("script-src 'self'");
    expect(error).toMatch(/NO_DEVICE[\s\S]*WebAssembly cannot be compiled[\s\S]*wasm-unsafe-eval/);
  });

  it('that forbids workers computes on one thread, and says why', async () => {
    const { sum, details } = await under("script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'");
    expect(sum).toBe(6);
    expect(details).toMatchObject({ threads: 1, workers: expect.stringContaining('worker-src') });
  });
});
