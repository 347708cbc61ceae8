import { defineConfig } from 'tsdown';
import { pageScript } from './scripts/page-script.mjs';

/**
 * What is fetched together lies in one file: words that everybody uses (dtypes, shapes, errors; the pools' free lists are none),
 * the runtime with what all devices need, what several devices take, and WebGPU. A group holds what its files import, too, unless a
 * group above has it: so a device that shares files with others has none. Bundlers keep files apart, and many small ones are many
 * requests and compress worse.
 */
const groups = [
  { name: 'words', test: /src[\\/](errors|base[\\/](?!free-lists)[\w-]+)\.ts$/ },
  { name: 'core', test: /src[\\/](runtime[\\/]create|devices[\\/]\w+|kernel[\\/](plain|unit-roots))\.ts$/ },
  { name: 'measured', test: /src[\\/]governor[\\/]routing[\\/]measured\.ts$/ },
  { name: 'webgpu', test: /src[\\/]devices[\\/]webgpu[\\/]open\.ts$/ },
];

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    devices: 'src/devices.ts',
    // Its own file, so that the package can leave it out for browsers.
    cuda: 'src/devices/cuda/discover.ts',
    isolated: 'src/governor/recovery/isolated/open.ts',
    'gpu-child': 'src/governor/recovery/isolated/child.ts',
    compute: 'src/compute/index.ts',
    profile: 'src/profile/index.ts',
    'profile-register': 'src/profile/register.ts',
    batch: 'src/batch/index.ts',
    // The queue on Redis and its child process: files of their own, left out for browsers.
    queue: 'src/batch/queue/index.ts',
    'batch-child': 'src/batch/queue/child.ts',
    routing: 'src/governor/routing/index.ts',
    io: 'src/io/index.ts',
    forge: 'src/forge/index.ts',
    lattice: 'src/lattice/index.ts',
    field: 'src/field/index.ts',
    'field-wire': 'src/field/wire/index.ts',
    studio: 'src/studio/index.ts',
    tfjs: 'src/tfjs/index.ts',
    cli: 'src/cli/main.ts',
    'nvml-child': 'src/forge/detect/nvml-child.ts',
  },
  plugins: [pageScript()],
  outputOptions: { codeSplitting: { groups } },
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  dts: true,
  clean: true,
  external: [/^node:/, 'koffi', 'webgpu', 'commander', 'bullmq', 'ioredis', /^@tensorflow\//],
});
