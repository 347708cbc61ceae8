// A device counts only after it has computed something right: upload, compute, read back, compare. The same run measures how
// long a large kernel and a round trip take, which ranks devices.

import type { Runtime, Tensor } from '../index.ts';
import type { Clock } from '../profile/clock.ts';

export interface ProbeResult {
  /** ms of a kernel over `probeElements` values, waited for; from fewer values where there is little room. */
  readonly kernelMs: number;
  /** ms of a small launch together with reading its result. */
  readonly latencyMs: number;
}

/** 4 MB of f32 in, as much out. */
export const probeElements = 1 << 20;
const smallElements = 1024;

/** Times of the probe, or what is wrong with the device. */
export async function probeDevice(
  runtime: Runtime,
  device: string,
  clock: Clock,
  elements: number,
): Promise<ProbeResult | string> {
  try {
    // A device with little room is measured with less.
    let fitting = elements;
    while (fitting > smallElements && fitting * 32 > runtime.device(device).memory().free) fitting /= 2;
    const policy = { device, what: 'probe', attempts: 1, fallback: false } as const;
    return await runtime.attempt(policy, async ({ run }) => {
      await round(runtime, device, clock, smallElements, run);
      const small = await round(runtime, device, clock, smallElements, run);
      const large = await round(runtime, device, clock, fitting, run);
      return { kernelMs: (large.kernelMs * probeElements) / fitting, latencyMs: small.roundMs };
    });
  } catch (e) {
    return e instanceof Error ? e.message.split('\n')[0]! : String(e);
  }
}

async function round(
  runtime: Runtime,
  device: string,
  clock: Clock,
  elements: number,
  run: <T>(body: () => T) => T,
): Promise<{ kernelMs: number; roundMs: number }> {
  const input = new Float32Array(elements);
  // Whole numbers small enough for 3x + 1 to be exact.
  for (let i = 0; i < smallElements; i++) input[i] = (i * 7919) % 65521;
  for (let n = smallElements; n < elements; n *= 2) input.copyWithin(n, 0, n);
  const x = run(() => runtime.tensor(input));
  const launched = async (): Promise<Tensor> => {
    const y = run(() => x.mul(3).add(1).compute()) as unknown as Tensor;
    await runtime.device(device).mark().whenDone();
    return y;
  };
  // The first launch may still compile.
  (await launched()).dispose();
  const start = clock.now();
  const y = await launched();
  const kernelMs = clock.now() - start;
  const got = await y.data();
  const roundMs = clock.now() - start;
  x.dispose();
  y.dispose();
  const bad = input.findIndex((v, i) => Number(got[i]) !== 3 * v + 1);
  if (bad >= 0) throw new Error(`it computes wrong: 3 · ${input[bad]} + 1 came out as ${got[bad]}`);
  return { kernelMs, roundMs };
}
