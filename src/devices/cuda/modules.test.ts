// Modules of programs that nobody holds are unloaded, those of programs in use never.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../../../test/gpu/build.ts';
import { MockCuda } from '../../../test/support/cuda-mock.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { openCudaDevices } from './discover.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

function scaled(n: number): Kernel {
  const k = new KernelBuilder([n]);
  k.output(k.op('mul', k.whole('f32'), k.scalar('f32')));
  return k.done(`scaled_${n}`);
}

describe('modules on CUDA', () => {
  it('stay few however many programs there were', async () => {
    const ffi = new MockCuda();
    const host = { env: {}, home: '/home/user', access: () => 'missing' as const };
    const { devices } = await openCudaDevices({ ffi, host, cacheDir: false });
    const device = devices[0]!;
    const held = device.prepare(scaled(7));
    const [x, y] = [device.allocate(28), device.allocate(28)];
    device.launch(held, [x, y], [2]);
    const launched = ffi.calls.filter((c) => c.name === 'cuLaunchKernel').map((c) => c.args[0]);
    for (let n = 10; n < 3010; n++) {
      device.prepare(scaled(n));
      if (n % 500 !== 0) continue;
      await new Promise((r) => setTimeout(r, 1));
      gc();
      await new Promise((r) => setTimeout(r, 1));
    }
    const count = (name: string): number => ffi.calls.filter((c) => c.name === name).length;
    expect(count('cuModuleLoadDataEx')).toBeGreaterThan(3000);
    // The program cache keeps the last ones; what it dropped is unloaded but for the last few.
    expect(count('cuModuleLoadDataEx') - count('cuModuleUnload')).toBeLessThan(2048 + 700);
    const unload = ffi.calls.findIndex((c) => c.name === 'cuModuleUnload');
    expect(ffi.calls[unload - 1]!.name).toBe('cuCtxSynchronize');
    ffi.calls.length = 0;
    device.launch(held, [x, y], [3]);
    expect(ffi.calls.filter((c) => c.name === 'cuLaunchKernel').map((c) => c.args[0])).toEqual(launched);
    await device.close();
    expect(count('cuModuleUnload')).toBeGreaterThan(1000);
  });
});
