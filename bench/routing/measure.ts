// How long each distinct call takes on each device, from inputs at home to the result in host memory.

import type { DeviceId, Runtime, Tensor } from '../../src/index.ts';
import type { Call } from './calls.ts';

export interface Timed {
  readonly call: Call;
  /** Median µs per device, and the samples behind it. */
  readonly us: ReadonlyMap<DeviceId, number>;
  readonly samples: number;
}

export const median = (list: readonly number[]): number => {
  const s = [...list].sort((a, b) => a - b);
  const mid = (s.length - 1) / 2;
  return (s[Math.floor(mid)]! + s[Math.ceil(mid)]!) / 2;
};

/** Inputs at home, all uploads finished. */
export async function place(rt: Runtime, call: Call): Promise<Tensor[]> {
  const inputs = rt.scope({ device: call.home }, () => call.work.inputs(rt, call.n));
  if (inputs.length > 0) await rt.device(call.home).mark().whenDone();
  return inputs;
}

/** One run, in µs: on the device given, or where the runtime decides. */
export async function once(rt: Runtime, call: Call, device: DeviceId | null): Promise<number> {
  const inputs = await place(rt, call);
  const work = async (): Promise<number> => {
    const start = performance.now();
    const result = call.work.run(rt, inputs, call.n);
    const data = await result.data();
    const us = (performance.now() - start) * 1000;
    if (data.length === 0) throw new Error(`${call.work.op}: no result`);
    result.dispose();
    return us;
  };
  const us = await (device === null ? rt.scope(work) : rt.scope({ device }, work));
  for (const t of inputs) t.dispose();
  return us;
}

export interface Limits {
  /** Samples wanted of each call on each device, ms after which three are enough, ms above which a call is not part of the trace. */
  readonly samples: number;
  readonly enoughMs: number;
  readonly longestMs: number;
}

/**
 * Times one call on all devices; null if one of them cannot do it, or takes too long. The devices take turns, so that whatever
 * else the machine does slows all of them alike.
 */
export async function time(
  rt: Runtime,
  call: Call,
  devices: readonly DeviceId[],
  limits: Limits,
): Promise<Timed | null> {
  const samples = new Map(devices.map((d) => [d, [] as number[]]));
  const start = performance.now();
  let device = devices[0]!;
  try {
    // The first ones compile.
    for (device of devices) {
      if ((await once(rt, call, device)) > 2000 * limits.longestMs) return null;
    }
    for (let i = 0; i < limits.samples && (i < 3 || performance.now() - start < limits.enoughMs); i++)
      for (device of devices) samples.get(device)!.push(await once(rt, call, device));
  } catch (error) {
    console.error(`  left out: ${call.work.op} of ${call.n} on ${device}: ${String(error).split('\n')[0]}`);
    return null;
  }
  const us = new Map([...samples].map(([d, list]) => [d, median(list)]));
  if ([...us.values()].some((v) => v > 1000 * limits.longestMs)) return null;
  return { call, us, samples: samples.get(device)!.length };
}
