// Builds the example from the package's sources.

import { join } from 'node:path';
import { defineConfig } from 'vite';

const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
const source = (file: string): string => join(import.meta.dirname, '../../src', file);

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  resolve: {
    alias: [
      { find: 'gpuforge/field', replacement: source('field/index.ts') },
      { find: 'gpuforge', replacement: source('index.ts') },
    ],
  },
  server: { headers },
  preview: { headers },
  build: { target: 'es2022' },
});
