// Webpack, Vite, esbuild and Rollup build a page from the packed package with default settings, and the page computes in Chromium.
//
// Each build must end without an error and without a warning.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import nodeResolve from '@rollup/plugin-node-resolve';
import { rollup } from '@rollup/wasm-node';
import esbuild from 'esbuild-wasm';
import type { Browser } from 'playwright-core';
import { createLogger, type Rolldown, build as vite } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import webpack from 'webpack';
import { serve } from '../browser/support.ts';
import { launch, needsBrowser, noBrowser } from '../support/browser.ts';
import { within } from '../support/time.ts';
import { type Project, packedProject } from './packed.ts';

const page = `
import { createRuntime } from 'gpuforge';
const rt = await createRuntime();
const sums = await rt.arange(12).cast('f32').reshape([3, 4]).sum({ axis: 1 }).data();
document.body.textContent = [...sums, rt.devices().filter((d) => d.open).map((d) => d.id)].join(' ');
`;

interface Build {
  readonly out: string;
  readonly warnings: readonly string[];
}

type Bundler = (project: Project) => Promise<Build>;

const bundlers: Readonly<Record<string, Bundler>> = {
  webpack: async ({ folder }) => {
    const out = join(folder, 'webpack');
    const stats = await new Promise<webpack.Stats | undefined>((resolve, reject) =>
      webpack(
        {
          context: folder,
          mode: 'production',
          entry: './page.js',
          output: { path: out, filename: 'page.js' },
          // Minifying takes most of the time and reads nothing new of the package.
          ...(process.env.GPUFORGE_TEST_ALL ? {} : { optimization: { minimize: false } }),
        },
        (error, result) => (error ? reject(error) : resolve(result)),
      ),
    );
    const { errors = [], warnings = [] } = stats!.toJson({ all: false, errors: true, warnings: true });
    // Advice on sizes is none on the code.
    const told = warnings.filter((w) => !/performance recommendations|size limit/.test(w.message));
    return { out, warnings: [...errors, ...told].map((w) => w.message) };
  },
  vite: async ({ folder, write }) => {
    const out = join(folder, 'vite');
    write('index.html', '<!doctype html><body></body><script type="module" src="/page.js"></script>');
    const warnings: string[] = [];
    const customLogger = createLogger('silent');
    customLogger.warn = (text) => void warnings.push(text);
    await vite({
      root: folder,
      configFile: false,
      customLogger,
      logLevel: 'warn',
      build: { outDir: out, rolldownOptions: { output: { entryFileNames: 'page.js' } } },
    });
    return { out, warnings };
  },
  esbuild: async ({ folder }) => {
    const out = join(folder, 'esbuild');
    const { warnings } = await esbuild.build({
      absWorkingDir: folder,
      entryPoints: ['page.js'],
      bundle: true,
      format: 'esm',
      outdir: out,
      logLevel: 'silent',
    });
    return { out, warnings: warnings.map((w) => w.text) };
  },
  rollup: async ({ folder }) => {
    const out = join(folder, 'rollup');
    const warnings: string[] = [];
    const built = await rollup({
      input: join(folder, 'page.js'),
      plugins: [nodeResolve({ browser: true })],
      onwarn: (w) => void warnings.push(w.message),
    });
    await built.write({ dir: out, format: 'es', entryFileNames: 'page.js' });
    return { out, warnings };
  },
};

/** The files of a build, as the server of the tests takes them. */
function filesOf(out: string): Rolldown.RolldownOutput['output'] {
  const names = readdirSync(out, { recursive: true, encoding: 'utf8' }).filter((n) => n.endsWith('.js'));
  const files = names.map((n) => ({
    type: 'asset',
    fileName: n.replaceAll('\\', '/'),
    source: readFileSync(join(out, n)),
  }));
  return files as unknown as Rolldown.RolldownOutput['output'];
}

describe('the packed package in a page', () => {
  let project: Project;
  let browser: Browser;
  needsBrowser();

  beforeAll(async () => {
    project = packedProject();
    project.write('page.js', page);
    if (!noBrowser) browser = await launch();
  }, within(20_000));
  afterAll(async () => {
    await browser?.close();
    await esbuild.stop();
    project?.remove();
  });

  it.each(Object.keys(bundlers))('built by %s computes', { timeout: within(40_000) }, async (name) => {
    const { out, warnings } = await bundlers[name]!(project);
    expect(warnings).toEqual([]);
    const html = '<!doctype html><body></body><script type="module" src="/page.js"></script>';
    const served = await serve(filesOf(out), { html });
    const tab = await browser.newPage();
    const errors: string[] = [];
    tab.on('pageerror', (e) => errors.push(e.message));
    try {
      await tab.goto(served.url);
      await tab.waitForFunction(() => document.body?.textContent, null, { timeout: within(20_000) });
      expect(await tab.textContent('body')).toMatch(/^6 22 38 .*cpu/);
      expect(errors).toEqual([]);
    } finally {
      await tab.close();
      await served.close();
    }
  });
});
