// A plugin for rolldown, tsdown, vite and vitest: `import text from './page/main.ts?script'` gives the bundled and minified
// code of a page as a string, so that pages are written in checked modules and travel in one file without any request.

import { resolve } from 'node:path';

const suffix = '?script';
const bundled = new Map();

async function bundle(file) {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    input: file,
    platform: 'browser',
    plugins: [pageScript()],
    external: ['koffi', 'webgpu', /^node:/],
    transform: { target: 'es2022' },
  });
  const { output } = await build.generate({ format: 'iife', minify: true, codeSplitting: false });
  await build.close();
  return { code: output[0].code.trim(), files: output[0].moduleIds };
}

export function pageScript() {
  return {
    name: 'page-script',
    enforce: 'pre',
    resolveId(source, importer) {
      if (!source.endsWith(suffix) || !importer) return null;
      return `${resolve(importer, '..', source.slice(0, -suffix.length))}${suffix}`;
    },
    async load(id) {
      if (!id.endsWith(suffix)) return null;
      const file = id.slice(0, -suffix.length);
      if (!bundled.has(file)) bundled.set(file, bundle(file));
      const { code, files } = await bundled.get(file);
      for (const f of files) this.addWatchFile?.(f);
      return { code: `export default ${JSON.stringify(code)};`, moduleType: 'js', map: null };
    },
  };
}
