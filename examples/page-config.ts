// How the pages of the examples are built: from the package's sources. A page of your own needs nothing of this but the two headers: with
// them it is cross-origin isolated, and the CPU device may use threads.

import { join } from 'node:path';
import { normalizePath, type Plugin, type UserConfig } from 'vite';

const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

const source = (file: string): string => normalizePath(join(import.meta.dirname, '../src', file));

/** What needs Node is left out of pages, as the field `browser` of package.json has it for the package. */
const nodeOnly = new Set([source('devices/cuda/discover.ts'), source('governor/recovery/isolated/open.ts')]);
const withoutNode: Plugin = {
  name: 'without-node',
  load: (id) => (nodeOnly.has(id) ? 'export {};' : undefined),
};

/** `parts`: which of `gpuforge/…` the page imports besides `gpuforge`. */
export const pageConfig = (root: string, ...parts: readonly string[]): UserConfig => ({
  root,
  base: './',
  plugins: [withoutNode],
  resolve: {
    alias: [
      ...parts.map((part) => ({ find: `gpuforge/${part}`, replacement: source(`${part}/index.ts`) })),
      { find: 'gpuforge', replacement: source('index.ts') },
    ],
  },
  server: { headers },
  preview: { headers },
  build: { target: 'es2022' },
});
