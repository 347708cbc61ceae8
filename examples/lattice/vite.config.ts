// Builds the page from the package's sources, as examples/browser does.

import { join } from 'node:path';
import { defineConfig } from 'vite';

const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
const sources = join(import.meta.dirname, '../../src');

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  resolve: {
    alias: [
      { find: 'gpuforge/lattice', replacement: join(sources, 'lattice/index.ts') },
      { find: 'gpuforge', replacement: join(sources, 'index.ts') },
    ],
  },
  server: { headers },
  preview: { headers },
  build: { target: 'es2022' },
});
