import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build, type Rollup } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const here = dirname(fileURLToPath(import.meta.url));
const run = promisify(execFile);
let folder: string;

const prelude = `
import { createCpuDevice, elementwise } from './cpu.mjs';
const n = 1 << 20;
const kernel = elementwise(n, ['f32', 'f32'], 'f32', (b, [x, y]) => b.alu('mul', x, y));
const work = (device) => {
  const [a, b, c] = [device.allocate(4 * n), device.allocate(4 * n), device.allocate(4 * n)];
  device.launch(device.prepare(kernel), [a, b, c], []);
  for (const buffer of [a, b, c]) device.release(buffer);
};
const workersReady = async (device) => {
  for (let i = 0; i < 500 && device.workers?.ready !== 1; i++) {
    work(device);
    await new Promise((done) => setTimeout(done, 10));
  }
  if (device.workers?.ready !== 1) throw new Error('no worker');
};
`;

async function script(name: string, body: string, ...flags: string[]): Promise<string> {
  const file = join(folder, `${name}.mjs`);
  await writeFile(file, prelude + body);
  const { stdout } = await run(process.execPath, [...flags, file], { timeout: 30_000 });
  return stdout.trim();
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gpuforge-cpu-'));
  const entry = join(folder, 'entry.ts');
  await writeFile(
    entry,
    `export { createCpuDevice } from ${JSON.stringify(join(here, 'device.ts'))};\n` +
      `export { elementwise } from ${JSON.stringify(join(here, '../../../test/support/cpu.ts'))};\n`,
  );
  await build({
    configFile: false,
    logLevel: 'silent',
    build: { ssr: entry, outDir: folder, emptyOutDir: false, rollupOptions: { output: { entryFileNames: 'cpu.mjs' } } },
  });
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

describe('the process', () => {
  it('ends by itself although a device with sleeping workers was never closed', async () => {
    const out = await script(
      'open',
      `const d = await createCpuDevice({ threads: 2 }); await workersReady(d); console.log('ready');`,
    );
    expect(out).toBe('ready');
  }, 40_000);

  it('ends by itself after a device was closed', async () => {
    const out = await script(
      'closed',
      `const d = await createCpuDevice({ threads: 2 }); await workersReady(d); await d.close(); console.log('closed');`,
    );
    expect(out).toBe('closed');
  }, 40_000);

  it.runIf(process.platform === 'linux')(
    'loses the threads of a device that was forgotten',
    async () => {
      const out = await script(
        'forgotten',
        `import { readdirSync } from 'node:fs';
       const threads = () => readdirSync('/proc/self/task').length;
       const before = threads();
       await (async () => workersReady(await createCpuDevice({ threads: 2 })))();
       const during = threads();
       for (let i = 0; i < 300 && threads() >= during; i++) {
         globalThis.gc();
         await new Promise((done) => setTimeout(done, 10));
       }
       console.log(during > before, threads() < during);`,
        '--expose-gc',
      );
      expect(out).toBe('true true');
    },
    40_000,
  );
});

describe('a bundle for browsers', () => {
  it('needs no Node module and no shim', async () => {
    const warnings: string[] = [];
    const result = (await build({
      configFile: false,
      logLevel: 'silent',
      build: {
        write: false,
        lib: { entry: join(here, 'device.ts'), formats: ['es'] },
        rollupOptions: { onwarn: (w) => warnings.push(w.message) },
      },
    })) as Rollup.RollupOutput[];
    const chunks = result[0]!.output.filter((o) => o.type === 'chunk');
    const own = new Set(chunks.map((c) => c.fileName));
    expect(warnings).toEqual([]);
    expect(chunks.flatMap((c) => c.imports.filter((i) => !own.has(i)))).toEqual([]);
    for (const { code } of chunks) {
      expect(code).not.toMatch(/from\s*["']node:/);
      expect(code).not.toContain('__vite-browser-external');
    }
  }, 60_000);
});
