// The child process of isolated devices, bundled from the sources for tests and measurements.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

/** Where optional packages are still found from. */
const cache = fileURLToPath(new URL('../../node_modules/.cache/gpuforge/', import.meta.url));

export interface BuiltChild {
  readonly script: string;
  remove(): void;
}

export async function buildChild(): Promise<BuiltChild> {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'child-'));
  const input = fileURLToPath(new URL('../../src/governor/recovery/isolated/child.ts', import.meta.url));
  await build({
    input: { 'gpu-child': input },
    external: [/^node:/, 'koffi', 'webgpu'],
    platform: 'neutral',
    output: { dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
    logLevel: 'silent',
  });
  return { script: join(folder, 'gpu-child.mjs'), remove: () => rmSync(folder, { recursive: true, force: true }) };
}
