import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    devices: 'src/devices.ts',
    // Its own file, so that the package can leave it out for browsers.
    cuda: 'src/devices/cuda/discover.ts',
    isolated: 'src/governor/recovery/isolated/open.ts',
    'gpu-child': 'src/governor/recovery/isolated/child.ts',
    compute: 'src/compute/index.ts',
    batch: 'src/batch/index.ts',
    routing: 'src/governor/routing/index.ts',
    io: 'src/io/index.ts',
    forge: 'src/forge/index.ts',
    lattice: 'src/lattice/index.ts',
    cli: 'src/cli/main.ts',
    'nvml-child': 'src/forge/detect/nvml-child.ts',
  },
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  dts: true,
  clean: true,
  external: [/^node:/, 'koffi', 'webgpu', 'commander', 'bullmq', 'ioredis'],
});
