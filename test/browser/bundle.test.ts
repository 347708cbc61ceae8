// What a page loads: sizes, and that nothing of Node or CUDA is among it.

import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Rolldown } from 'vite';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundle } from './support.ts';

type Chunk = Rolldown.OutputChunk;

const limit = 150_000;
const entry = join(import.meta.dirname, 'entry.ts');
let chunks: Chunk[];

const chunkOf = (module: string): Chunk => {
  const found = chunks.find((c) => c.moduleIds.some((id) => id.endsWith(module)));
  if (!found) throw new Error(`no chunk holds ${module}`);
  return found;
};

/** A chunk and all that it imports statically: what a browser fetches before it runs. */
function withImports(chunk: Chunk, into = new Set<Chunk>()): Set<Chunk> {
  if (into.has(chunk)) return into;
  into.add(chunk);
  for (const name of chunk.imports) withImports(chunks.find((c) => c.fileName === name)!, into);
  return into;
}

const gzip = (list: Iterable<Chunk>): number => [...list].reduce((sum, c) => sum + gzipSync(c.code).length, 0);

beforeAll(async () => {
  const files = await bundle({
    configFile: false,
    build: { target: 'es2022', minify: true, rolldownOptions: { input: entry } },
  });
  chunks = files.filter((f) => f.type === 'chunk');
});

describe('a bundle for browsers', () => {
  it('takes at most 150 KB gzip for the core and WebGPU', () => {
    const core = withImports(chunkOf('test/browser/entry.ts'));
    const webgpu = withImports(chunkOf('devices/webgpu/open.ts'));
    const cpu = withImports(chunkOf('devices/cpu/device.ts'));
    const both = new Set([...core, ...webgpu]);
    const kilobytes = (list: Iterable<Chunk>): string => `${(gzip(list) / 1000).toFixed(1)} KB`;
    console.log(
      `gzip: core ${kilobytes(core)}, core + WebGPU ${kilobytes(both)}, the CPU device on top ${kilobytes([...cpu].filter((c) => !both.has(c)))}`,
    );
    expect(gzip(core)).toBeGreaterThan(10_000);
    expect(gzip(both)).toBeLessThanOrEqual(limit);
    // Nobody who asks for WebGPU alone pays for the CPU device, nor the other way round.
    expect(both).not.toContain(chunkOf('devices/cpu/device.ts'));
    expect(cpu).not.toContain(chunkOf('devices/webgpu/open.ts'));
    expect(core).not.toContain(chunkOf('devices/reference/device.ts'));
  });

  it('loads nothing of Node, koffi or CUDA', () => {
    const loaded = new Set(
      [
        'test/browser/entry.ts',
        'devices/webgpu/open.ts',
        'devices/cpu/device.ts',
        'devices/reference/device.ts',
      ].flatMap((module) => [...withImports(chunkOf(module))]),
    );
    expect(loaded.size).toBeGreaterThanOrEqual(4);
    for (const { fileName, code, moduleIds, imports, dynamicImports } of loaded) {
      expect(code, fileName).not.toMatch(/(from|import)\s*\(?\s*["'`]node:/);
      expect(code, fileName).not.toMatch(/(from|import)\s*\(?\s*["'`](koffi|webgpu)["'`]/);
      expect(
        moduleIds.filter((id) => /koffi|devices\/cuda|browser-external/.test(id)),
        fileName,
      ).toEqual([]);
      const own = chunks.map((c) => c.fileName);
      expect(
        [...imports, ...dynamicImports].filter((name) => !own.includes(name)),
        fileName,
      ).toEqual([]);
    }
  });

  it('with gpuforge/batch loads nothing of Node, and nothing of the queue', async () => {
    const files = await bundle({
      configFile: false,
      build: {
        target: 'es2022',
        minify: true,
        rolldownOptions: { input: join(import.meta.dirname, 'batch-entry.ts') },
      },
      // What the package's `browser` field leaves out.
      plugins: [
        {
          name: 'left-out',
          enforce: 'pre',
          load: (id) =>
            /batch\/queue\/index\.ts$|isolated\/open\.ts$|cuda\/discover\.ts$/.test(id) ? 'export {}' : null,
        },
      ],
    });
    const all = files.filter((f) => f.type === 'chunk');
    expect(all.flatMap((c) => c.moduleIds).some((id) => id.endsWith('batch/processor.ts'))).toBe(true);
    for (const { fileName, code, moduleIds } of all) {
      expect(code, fileName).not.toMatch(/(from|import)\s*\(?\s*["'`]node:/);
      expect(code, fileName).not.toMatch(/(from|import)\s*\(?\s*["'`](koffi|webgpu|bullmq|ioredis)["'`]/);
      expect(
        moduleIds.filter((id) => /bullmq|ioredis|batch\/queue\/(?!index)|browser-external/.test(id)),
        fileName,
      ).toEqual([]);
    }
  });
});
