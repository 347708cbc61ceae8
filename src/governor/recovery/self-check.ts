// A device is used only after it has computed something right.
//
// The check is a function made of error-free sums and bit tricks, exp: compilers that reassociate floats break it while
// plain arithmetic still looks fine. This was seen with WebGPU on a GPU driver, where exp(1) came out as 2.

import type { Device, DeviceBuffer } from '../../devices/device.ts';
import { decompose } from '../../kernel/decompose/index.ts';
import { Exprs } from '../../kernel/expr.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { withDeadline } from './deadline.ts';

const values = [1, -1, 0.3, 2.5, -7.25, 20, 88, -80];
const repeats = 32;

function expKernel(elements: number): Kernel {
  const b = new Exprs();
  return {
    kind: 'kernel',
    name: `self_check_exp_f32_${elements}`,
    space: [elements],
    reduced: [],
    accumulators: [],
    outputs: [{ type: 'f32', value: b.alu('exp', b.load('f32', 0, b.axis(0, elements))) }],
    inputs: [{ type: 'f32', elements }],
    scalars: [],
    inPlace: [],
    estimate: { flops: 16 * elements, bytesRead: 4 * elements, bytesWritten: 4 * elements },
  };
}

/** What the device got wrong, or null. Ends within the time limit, and with the signal. */
export async function selfCheck(
  device: Device,
  timeoutMs = Number.POSITIVE_INFINITY,
  signal?: AbortSignal,
): Promise<string | null> {
  const input = Float32Array.from({ length: values.length * repeats }, (_, i) => values[i % values.length]!);
  const buffers: DeviceBuffer[] = [];
  try {
    for (let i = 0; i < 2; i++) buffers.push(device.allocate(input.byteLength));
    const [from, to] = buffers as [DeviceBuffer, DeviceBuffer];
    device.write(from, new Uint8Array(input.buffer));
    device.launch(device.prepare(decompose(expKernel(input.length), device.caps.native)), buffers, []);
    const bytes = await withDeadline(device.read(to), timeoutMs, { what: `self-check (${device.id})`, signal });
    const got = new Float32Array(bytes.buffer, bytes.byteOffset, input.length);
    const wrong = input.findIndex((x, i) => !(Math.abs(got[i]! - Math.exp(x)) <= 1e-6 * Math.exp(x)));
    return wrong < 0 ? null : `exp(${input[wrong]}) came out as ${got[wrong]}`;
  } finally {
    for (const b of buffers) if (!b.collected) device.release(b);
  }
}
