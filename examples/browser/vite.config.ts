// Builds the example from the package's sources. A page of your own needs nothing of this but the two headers: with them
// the page is cross-origin isolated, and the CPU device may use threads.

import { join } from 'node:path';
import { defineConfig } from 'vite';

const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  resolve: { alias: { gpuforge: join(import.meta.dirname, '../../src/index.ts') } },
  server: { headers },
  preview: { headers },
  build: { target: 'es2022' },
});
