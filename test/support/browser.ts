// Headless Chromium with a software GPU, for the tests that need a page.

import { type Browser, chromium } from 'playwright-core';
import { beforeEach } from 'vitest';
import { softwareGpu } from '../../scripts/software-gpu.mjs';

const { browser } = softwareGpu();

/** Why no browser can be started here; undefined where one can. */
export const noBrowser: string | undefined = browser.reason;

/** Called at the top of a test file: where there is no browser, its tests are reported as skipped with the reason. */
export function needsBrowser(): void {
  if (noBrowser !== undefined) console.log(`Skipped: ${noBrowser}`);
  beforeEach(({ skip }) => skip(noBrowser !== undefined, noBrowser));
}

/** Headless Chromium whose WebGPU runs on SwiftShader. */
export function launch(): Promise<Browser> {
  if (browser.reason !== undefined) throw new Error(browser.reason);
  return chromium.launch({
    executablePath: browser.executablePath,
    env: { ...process.env, ...browser.env },
    headless: true,
    // A busy machine takes its time to start a browser.
    timeout: 120_000,
    args: [
      '--no-sandbox',
      '--enable-unsafe-webgpu',
      '--use-webgpu-adapter=swiftshader',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--disable-quic',
    ],
  });
}
