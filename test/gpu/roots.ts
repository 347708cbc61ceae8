// The root of every float: what the renderer writes out for it (`ptx/roots.ts`) against the root in f64, rounded once.
//
// That rounding is the right one: f64 has more than twice the digits of f32. On the GPU all 2^32 floats take a fraction of a second.

import type { CudaDevice } from '../../src/devices/cuda/device.ts';
import type { Kernel } from '../../src/kernel/kernel.ts';
import { KernelBuilder } from './build.ts';
import { assert, type Report } from './check.ts';

const atOnce = 2 ** 26;

/** How many of the floats from a given word on have another root; NaNs are equal. */
export function wrongRoots(count: number): Kernel {
  const k = new KernelBuilder([], [count]);
  const { b } = k;
  const x = b.bitcast('f32', k.op('add', b.cast('u32', k.axis(0)), k.scalar('u32')));
  const [ours, right] = [k.op('sqrt', x), b.cast('f32', k.op('sqrt', b.cast('f64', x)))];
  const differ = k.op('ne', b.bitcast('u32', ours), b.bitcast('u32', right));
  const numbers = k.op('or', k.op('eq', ours, ours), k.op('eq', right, right));
  k.output(k.reduce('sum', b.cast('u32', k.op('and', differ, numbers))));
  return k.done('wrong_roots');
}

export async function rootTests(device: CudaDevice, report: Report): Promise<void> {
  report.group('roots');
  await report.test('of all floats are rounded correctly', () => {
    const program = device.prepare(wrongRoots(atOnce));
    const buffer = device.allocate(4);
    let wrong = 0;
    for (let word = 0; word < 2 ** 32; word += atOnce) {
      device.launch(program, [buffer], [word]);
      wrong += new Uint32Array(device.readSync(buffer).slice().buffer)[0]!;
    }
    device.release(buffer);
    assert(wrong === 0, `${wrong} of 2^32 roots are wrong`);
  });
}
