// A device counts only after it has computed something right: allocate, write, launch, read back, compare. The same run
// measures how long a large kernel and a round trip take, which ranks devices.

import type { Device } from '../devices/device.ts';
import { withDeadline } from '../governor/recovery/deadline.ts';
import { Exprs } from '../kernel/expr.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { Clock } from './clock.ts';

export interface ProbeResult {
  readonly ok: boolean;
  readonly reason: string;
  /** ms of a kernel over `probeElements` values, waited for; from fewer values where there is little room. */
  readonly kernelMs: number;
  /** ms of a small launch together with reading its result. */
  readonly latencyMs: number;
}

/** 4 MB of f32 in, as much out. */
export const probeElements = 1 << 20;
const smallElements = 1024;
const patienceMs = 10_000;

function scaled(elements: number): Kernel {
  const b = new Exprs();
  const x = b.load('f32', 0, b.axis(0, elements));
  const value = b.alu('add', b.alu('mul', x, b.const('f32', 3)), b.const('f32', 1));
  return {
    kind: 'kernel',
    name: `probe_mul_add_f32_${elements}`,
    space: [elements],
    reduced: [],
    accumulators: [],
    outputs: [{ type: 'f32', value }],
    inputs: [{ type: 'f32', elements }],
    scalars: [],
    inPlace: [],
    estimate: { flops: 2 * elements, bytesRead: 4 * elements, bytesWritten: 4 * elements },
  };
}

/** Runs the probe. Never throws: a device that fails is told from one that works by `ok`. */
export async function probeDevice(device: Device, clock: Clock, elements = probeElements): Promise<ProbeResult> {
  try {
    return await withDeadline(measured(device, clock, elements), patienceMs, { what: `probe (${device.id})` });
  } catch (e) {
    return failure(e instanceof Error ? e.message.split('\n')[0]! : String(e));
  }
}

const failure = (reason: string): ProbeResult => ({
  ok: false,
  reason,
  kernelMs: Number.POSITIVE_INFINITY,
  latencyMs: Number.POSITIVE_INFINITY,
});

async function measured(device: Device, clock: Clock, elements: number): Promise<ProbeResult> {
  const small = await round(device, clock, smallElements);
  const again = await round(device, clock, smallElements);
  // A device with little room is measured with less.
  let fitting = elements;
  while (fitting > smallElements && fitting * 32 > device.memory().free) fitting /= 2;
  const large = await round(device, clock, fitting);
  const wrong = small.wrong ?? again.wrong ?? large.wrong;
  return {
    ok: wrong === null,
    reason: wrong ?? 'it computed right',
    kernelMs: (large.kernelMs * probeElements) / fitting,
    latencyMs: again.roundMs,
  };
}

async function round(
  device: Device,
  clock: Clock,
  elements: number,
): Promise<{ wrong: string | null; kernelMs: number; roundMs: number }> {
  const input = new Float32Array(elements);
  // Whole numbers small enough for 3x + 1 to be exact.
  for (let i = 0; i < smallElements; i++) input[i] = (i * 7919) % 65521;
  for (let n = smallElements; n < elements; n *= 2) input.copyWithin(n, 0, n);
  const program = device.prepare(scaled(elements));
  const buffers = [device.allocate(input.byteLength)];
  try {
    buffers.push(device.allocate(input.byteLength));
    device.write(buffers[0]!, new Uint8Array(input.buffer));
    // The first launch may still compile.
    device.launch(program, buffers, []);
    await device.mark().whenDone();
    const start = clock.now();
    device.launch(program, buffers, []);
    await device.mark().whenDone();
    const kernelMs = clock.now() - start;
    const bytes = await device.read(buffers[1]!, 0, input.byteLength);
    const roundMs = clock.now() - start;
    const got = new Float32Array(bytes.buffer, bytes.byteOffset, elements);
    let bad = -1;
    for (let i = 0; i < elements && bad < 0; i++) if (got[i] !== 3 * input[i]! + 1) bad = i;
    const wrong = bad < 0 ? null : `it computes wrong: 3 · ${input[bad]} + 1 came out as ${got[bad]}`;
    return { wrong, kernelMs, roundMs };
  } finally {
    for (const b of buffers) if (!b.collected) device.release(b);
  }
}
