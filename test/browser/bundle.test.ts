// What a page loads of the package as it is built: sizes, and that nothing of Node or CUDA is among it.
//
// Pages are bundled from dist/ by Vite, as those of users are. Sizes are of the files that a browser really fetches, each
// compressed by itself with gzip.

import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import type { Rolldown } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch, needsBrowser, noBrowser } from '../support/browser.ts';
import { within } from '../support/time.ts';
import { bundle, serve } from './support.ts';

type Chunk = Rolldown.OutputChunk;

/** The least a page can do with tensors: one op on one device, or on all there are. */
const computing = (options: string): string => `
  import { createRuntime } from 'dist/index.js';
  const rt = await createRuntime(${options});
  document.body.textContent = String(await rt.tensor([1, 2, 3]).mul(2).data());`;

/** The least a page can do with batches. */
const batching = `
  import { batchElementwise, createBatch } from 'dist/batch.js';
  const batch = createBatch([1, 2, 3]);
  const squares = await batchElementwise([Float32Array.of(1, 2, 3)], 'square');
  document.body.textContent = [await batch.executeParallel((n) => 2 * n), squares[0]].join(' ');`;

const dist = join(import.meta.dirname, '../../dist');

async function build(page: string): Promise<Chunk[]> {
  const files = await bundle({
    configFile: false,
    build: { target: 'es2022', minify: true, rolldownOptions: { input: 'page' } },
    plugins: [
      {
        name: 'page',
        enforce: 'pre',
        resolveId: (id) => (id === 'page' ? '\0page.js' : null),
        load: (id) => (id === '\0page.js' ? page.replaceAll("'dist", `'${dist}`) : null),
      },
    ],
  });
  return files.filter((f) => f.type === 'chunk');
}

/** A chunk and all that it imports statically: what a browser fetches before it runs. */
function withImports(chunks: readonly Chunk[], chunk: Chunk, into = new Set<Chunk>()): Set<Chunk> {
  if (into.has(chunk)) return into;
  into.add(chunk);
  for (const name of chunk.imports) withImports(chunks, chunks.find((c) => c.fileName === name)!, into);
  return into;
}

/** What is fetched for a function of the package that is imported when it is needed. */
function fetchedFor(chunks: readonly Chunk[], name: string): Set<Chunk> {
  const found = chunks.find((c) => c.exports.includes(name));
  if (!found) throw new Error(`no chunk exports ${name}`);
  return withImports(chunks, found);
}

const gzip = (list: Iterable<Chunk>): number => [...list].reduce((sum, c) => sum + gzipSync(c.code).length, 0);
const shown = (list: Iterable<Chunk>): string => `${(gzip(list) / 1000).toFixed(1)} KB in ${[...list].length} files`;

describe('a bundle for browsers', () => {
  let chunks: Chunk[];
  let core: Set<Chunk>;
  let webgpu: Set<Chunk>;
  let cpu: Set<Chunk>;

  beforeAll(async () => {
    chunks = await build(computing(''));
    core = withImports(chunks, chunks.find((c) => c.isEntry)!);
    webgpu = new Set([...core, ...fetchedFor(chunks, 'openWebGpuDevices')]);
    cpu = new Set([...core, ...fetchedFor(chunks, 'createCpuDevice')]);
  });

  it('keeps the limits of its size', () => {
    const more = [...cpu].filter((c) => !webgpu.has(c));
    console.log(`gzip: core ${shown(core)}, core and WebGPU ${shown(webgpu)}, the CPU device on top ${shown(more)}`);
    expect(gzip(core)).toBeGreaterThan(10_000);
    expect(gzip(core)).toBeLessThanOrEqual(139_000);
    expect(gzip(webgpu)).toBeLessThanOrEqual(171_000);
    expect(webgpu.size).toBeLessThanOrEqual(7);
  });

  it('keeps what GPUs compute on the chip apart from what every adapter needs', () => {
    const more = new Set([...fetchedFor(chunks, 'onChip'), ...fetchedFor(chunks, 'patterns')]);
    for (const c of webgpu) more.delete(c);
    console.log(`gzip: fetched on top where the adapter is a GPU ${shown(more)}`);
    expect(gzip(more)).toBeGreaterThan(5_000);
    expect(gzip(more)).toBeLessThanOrEqual(17_000);
    // Selections are a file of their own: pages without a GPU load them alone.
    expect(more.size).toBeLessThanOrEqual(4);
  });

  it('keeps sorts and selections for GPUs apart, too', () => {
    const more = fetchedFor(chunks, 'ordering');
    for (const c of [...webgpu, ...fetchedFor(chunks, 'onChip')]) more.delete(c);
    console.log(`gzip: sorts and selections on top ${shown(more)}`);
    expect(gzip(more)).toBeGreaterThan(2_000);
    expect(gzip(more)).toBeLessThanOrEqual(7_000);
    expect(more.size).toBe(1);
  });

  it('has each device in a file of its own', () => {
    const [gpuAlone, cpuAlone] = [[...webgpu], [...cpu]].map((list) => list.filter((c) => !core.has(c)));
    expect(gpuAlone!.some((c) => c.exports.includes('createCpuDevice'))).toBe(false);
    expect(cpuAlone!.some((c) => c.exports.includes('openWebGpuDevices'))).toBe(false);
    expect([...webgpu, ...cpu].some((c) => c.exports.includes('createReferenceDevice'))).toBe(false);
  });

  it('loads nothing of Node or koffi, and holds nothing of CUDA', () => {
    const loaded = new Set([...webgpu, ...cpu, ...fetchedFor(chunks, 'createReferenceDevice')]);
    expect(loaded.size).toBeGreaterThanOrEqual(4);
    const own = chunks.map((c) => c.fileName);
    for (const { fileName, code, moduleIds, imports, dynamicImports } of loaded) {
      expect(code, fileName).not.toMatch(/(from|import)\s*\(?\s*["'`]node:/);
      expect(code, fileName).not.toMatch(/(from|import)\s*\(?\s*["'`](koffi|webgpu)["'`]/);
      expect(
        moduleIds.filter((id) => /koffi|browser-external/.test(id)),
        fileName,
      ).toEqual([]);
      expect(
        [...imports, ...dynamicImports].filter((name) => !own.includes(name)),
        fileName,
      ).toEqual([]);
    }
    expect(chunks.filter((c) => /cuLaunchKernel|openCudaDevices\s*[(=]/.test(c.code)).map((c) => c.fileName)).toEqual(
      [],
    );
  });

  it('with gpuforge/batch loads nothing of Node, and nothing of the queue', async () => {
    const all = await build(batching);
    expect(all.some((c) => c.moduleIds.some((id) => /dist\/processor-/.test(id)))).toBe(true);
    for (const { fileName, code } of all) {
      expect(code, fileName).not.toMatch(/(from|import)\s*\(?\s*["'`]node:/);
      expect(code, fileName).not.toMatch(/(from|import)\s*\(?\s*["'`](koffi|bullmq|ioredis)["'`]/);
    }
  });
});

describe('a page in headless Chromium', () => {
  let browser: Browser;
  needsBrowser();

  beforeAll(async () => {
    if (!noBrowser) browser = await launch();
  }, within(12_000));
  afterAll(() => browser?.close());

  /** The chunks that a page fetches until it shows the result of its first op. */
  async function fetched(options: string): Promise<Chunk[]> {
    const chunks = await build(computing(options));
    const entry = chunks.find((c) => c.isEntry)!;
    const html = `<!doctype html><link rel="icon" href="data:,"><script type="module" src="/${entry.fileName}"></script>`;
    const served = await serve(chunks as unknown as Rolldown.RolldownOutput['output'], { html });
    const page = await browser.newPage();
    try {
      await page.goto(served.url);
      await page.waitForFunction(() => document.body?.textContent === '2,4,6', null, { timeout: within(10_000) });
      return chunks.filter((c) => served.requests.includes(`/${c.fileName}`));
    } finally {
      await page.close();
      await served.close();
    }
  }

  it('computes one op on WebGPU for at most 171 KB', { timeout: within(20_000) }, async () => {
    const list = await fetched("{ devices: ['webgpu'] }");
    console.log(`gzip: WebGPU opened and one op computed ${shown(list)}`);
    expect(gzip(list)).toBeGreaterThan(100_000);
    expect(gzip(list)).toBeLessThanOrEqual(171_000);
  });

  it('computes one op with every device open for at most 259 KB', { timeout: within(20_000) }, async () => {
    const list = await fetched('');
    console.log(`gzip: all devices opened and measured, one op computed ${shown(list)}`);
    expect(gzip(list)).toBeLessThanOrEqual(259_000);
    expect(list.length).toBeLessThanOrEqual(12);
  });
});
