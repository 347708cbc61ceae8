// Measures what devices take for launches, transfers and kernels of each class, within a time limit.
//
// Points are taken in rounds, one class after the other, so that whenever the time is up every class has what there was
// time for. Where making or running a kernel takes long (a driver's compiler, a software GPU), each class gets one size, chosen so that
// the work shows; elsewhere several. A point that would not fit into the time left is left out and counted; a class without
// any point is derived from one that has some.

import type { Device, DeviceId } from '../../devices/device.ts';
import type { RoutineOp } from '../../kernel/kernel.ts';
import { withDeadline } from '../recovery/deadline.ts';
import { throwIfAborted } from '../recovery/errors.ts';
import { type Curve, curveOf, scaled } from './curve.ts';
import { probes } from './probes.ts';
import { amountOf, type Profile } from './profile.ts';
import { type ReadClock, Stopwatch } from './stopwatch.ts';
import type { KernelClass } from './types.ts';

export interface CalibrationProgress {
  readonly device: DeviceId;
  /** Share of this device's time that is over, 0 to 1. */
  readonly part: number;
  readonly what: string;
}

export interface CalibrateOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CalibrationProgress) => void) | undefined;
  /** For all devices together. Default 550 ms. */
  readonly budgetMs?: number | undefined;
  readonly clock?: ReadClock | undefined;
  /** Told of a device that failed, which is left out then. Without it the failure is thrown. */
  readonly onFailure?: ((device: Device, error: unknown) => void) | undefined;
  /** The longest that one device may take, however much time there is. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

type ProbeClass = keyof typeof probes;

interface ClassPlan {
  readonly routine?: RoutineOp;
  /** Elements, where kernels are made quickly; first the size that says most. */
  readonly sizes: readonly number[];
  /** One size each for slow compilers, on slow and on fast devices. */
  readonly slow: number;
  readonly fast: number;
  /** How the work grows with the elements. */
  readonly power: number;
  /** Kernels a device may make for it. */
  readonly kernels: number;
}

/** In the order of their use: when the time is up, the last ones are left out. */
const plans: Readonly<Record<ProbeClass, ClassPlan>> = {
  map: { sizes: [1 << 16, 4096, 1 << 22], slow: 1 << 16, fast: 1 << 22, power: 1, kernels: 1 },
  matmul: {
    routine: 'matmul',
    sizes: [128 ** 2, 16 ** 2, 256 ** 2],
    slow: 64 ** 2,
    fast: 1024 ** 2,
    power: 1.5,
    kernels: 1,
  },
  heavy: { sizes: [1 << 16, 4096], slow: 1 << 14, fast: 1 << 22, power: 1, kernels: 1 },
  reduce: { sizes: [1 << 16, 4096, 1 << 22], slow: 1 << 16, fast: 1 << 22, power: 1, kernels: 2 },
  scan: { routine: 'scan', sizes: [1 << 16, 4096], slow: 1 << 14, fast: 1 << 20, power: 1, kernels: 2 },
  scatter: { routine: 'scatter', sizes: [1 << 16, 4096], slow: 256, fast: 1 << 20, power: 1, kernels: 4 },
  sort: { routine: 'sort', sizes: [1 << 14, 1024], slow: 256, fast: 1 << 18, power: 1.1, kernels: 4 },
};

const classNames = Object.keys(plans) as ProbeClass[];
/** Bytes; the last only where the one before took little time. */
const transferSizes = { small: 4096, middle: 1 << 18, large: 1 << 22, largest: 1 << 26 } as const;

/** Making a kernel takes long if it takes more µs than this. */
const slowCompiler = 8000;
/** How much longer an emulated GPU may take to make a kernel of a routine, which is larger than those before. */
const largerKernels = 2;
/** A pass that takes no more launches than this is hidden behind its own. */
const fastLaunches = 3;
/** From one size to the next, where the launch hid the work. */
const step = 8;
/** A point expected to take more µs is not measured: larger work is in proportion. */
const longest = 9000;
/** Points that are taken by a clock that has not moved yet. By one that never does, every limit above would be kept for ever. */
const mostUntimed = 8;

/**
 * Where there was no time for a class: another one's curve, times a factor for the same amount, on the host and on GPUs. The
 * latter are high on purpose: these routines take many passes there, and what is thought too slow is found out by trying.
 */
const derived: readonly {
  readonly cls: ProbeClass;
  readonly from: ProbeClass;
  readonly host: number;
  readonly gpu: number;
}[] = [
  { cls: 'reduce', from: 'map', host: 1, gpu: 1 },
  { cls: 'heavy', from: 'map', host: 1, gpu: 3 },
  { cls: 'matmul', from: 'heavy', host: 0.3, gpu: 1 },
  { cls: 'scan', from: 'reduce', host: 4, gpu: 4 },
  { cls: 'scatter', from: 'scan', host: 1, gpu: 50 },
  { cls: 'sort', from: 'scan', host: 16, gpu: 50 },
];

export async function calibrate(
  devices: readonly Device[],
  options: CalibrateOptions = {},
): Promise<Map<DeviceId, Profile>> {
  const clock = options.clock ?? (() => performance.now());
  const deadline = clock() + (options.budgetMs ?? 550);
  const profiles = new Map<DeviceId, Profile>();
  let left = devices.length;
  // Devices that compute on this thread make kernels quickly and leave most of their share to the others.
  for (const device of [...devices].sort((a, b) => Number(b.caps.syncRead) - Number(a.caps.syncRead))) {
    const share = clock() + Math.max(20, (deadline - clock()) / left--);
    const { signal, onFailure, timeoutMs = Number.POSITIVE_INFINITY } = options;
    try {
      const run = new Calibration(device, share, clock, options).run();
      profiles.set(device.id, await withDeadline(run, timeoutMs, { what: `measuring ${device.id}`, signal }));
    } catch (error) {
      throwIfAborted(signal, `measuring ${device.id}`);
      if (!onFailure) throw error;
      onFailure(device, error);
    }
  }
  return profiles;
}

class Calibration {
  readonly #device: Device;
  readonly #deadline: number;
  readonly #clock: ReadClock;
  readonly #options: CalibrateOptions;
  readonly #watch: Stopwatch;
  readonly #start: number;
  readonly #up: [number, number][] = [];
  readonly #down: [number, number][] = [];
  readonly #points = new Map<ProbeClass, [amount: number, us: number][]>();
  readonly #last = new Map<ProbeClass, { readonly size: number; readonly us: number }>();
  #missed = 0;
  #taken = 0;

  constructor(device: Device, deadline: number, clock: ReadClock, options: CalibrateOptions) {
    this.#device = device;
    this.#deadline = deadline;
    this.#clock = clock;
    this.#options = options;
    this.#watch = new Stopwatch(device, clock);
    this.#start = clock();
  }

  get #software(): boolean {
    return this.#device.caps.details.software === true;
  }

  async run(): Promise<Profile> {
    try {
      await this.#watch.measureWait();
      // Without these nothing can be predicted: they are measured even if others have used up the time.
      await this.#class('map', 64, true);
      await this.#transfer(transferSizes.middle, true);
      await this.#class('map', plans.map.slow, true);
      await this.#transfer(transferSizes.small);
      await this.#transfer(transferSizes.large);
      if (this.#watch.compileUs() > slowCompiler || this.#software) await this.#frugal();
      else await this.#rounds();
      await this.#transfer(transferSizes.largest);
    } finally {
      this.#tidy();
    }
    return this.#profile();
  }

  /** What cannot be given back to a device that has failed went with it; its failure is the one to know. */
  #tidy(): void {
    try {
      this.#watch.close();
      this.#device.trim();
    } catch {}
  }

  async #frugal(): Promise<void> {
    const launch = this.#points.get('map')?.[0]?.[1] ?? 1;
    const hidden = (): boolean => (this.#last.get('map')?.us ?? Number.POSITIVE_INFINITY) <= fastLaunches * launch;
    // Until the work shows behind the launch: a curve that is flat says nothing about larger work.
    let n: number = plans.map.slow;
    while (hidden() && n < plans.map.fast) {
      n *= step;
      const missed = this.#missed;
      await this.#class('map', n);
      if (this.#missed > missed) break;
    }
    // A GPU emulated on the CPU is never fast, however slow its launches make it look.
    const fast = n >= plans.map.fast && !this.#software;
    for (const cls of classNames) if (cls !== 'map') await this.#class(cls, fast ? plans[cls].fast : plans[cls].slow);
  }

  async #rounds(): Promise<void> {
    const most = Math.max(...classNames.map((c) => plans[c].sizes.length));
    for (let round = 0; round < most; round++) {
      for (const cls of classNames) {
        const size = plans[cls].sizes[round];
        if (size !== undefined && !(cls === 'map' && size === plans.map.slow)) await this.#class(cls, size);
      }
    }
    // Work that a fast device hides behind its launch shows at sizes that a slow one could not afford.
    for (const cls of classNames) {
      const last = this.#last.get(cls);
      if (last && last.us < 500 && plans[cls].fast > last.size) await this.#class(cls, plans[cls].fast);
    }
  }

  async #transfer(bytes: number, always = false): Promise<void> {
    const [before] = this.#down.filter(([size]) => size < bytes).sort((p, q) => q[0] - p[0]);
    const expected = before ? (before[1] * bytes) / before[0] : 0;
    if (bytes > this.#device.caps.maxBufferBytes || (before && before[1] > 300 && expected > longest)) {
      this.#missed++;
      return;
    }
    if (!this.#may(`transfer of ${bytes} bytes`, 6 * expected) && !always) return;
    const { up, down } = await this.#watch.transfer(bytes);
    this.#up.push([bytes, up]);
    this.#down.push([bytes, down]);
  }

  async #class(cls: ProbeClass, size: number, always = false): Promise<void> {
    const { routine, power, kernels } = plans[cls];
    const { caps } = this.#device;
    if ((routine && !caps.routines.has(routine)) || 4 * size > caps.maxBufferBytes) return;
    const before = this.#last.get(cls);
    const launch = this.#points.get('map')?.[0]?.[1] ?? 0;
    // What exceeds a launch grows with the work.
    const expected = before && size > before.size ? Math.max(0, before.us - launch) * (size / before.size) ** power : 0;
    if (expected > longest) {
      this.#missed++;
      return;
    }
    const making = kernels * this.#watch.compileUs() * (routine && this.#software ? largerKernels : 1);
    if (!this.#may(`${cls} of ${size}`, making + 4 * expected) && !always) return;
    const probe = probes[cls](size);
    const us = await this.#watch.launch(probe);
    const { flops, bytesRead, bytesWritten } = probe.work.estimate;
    const list = this.#points.get(cls) ?? [];
    list.push([amountOf[cls] === 'flops' ? flops : bytesRead + bytesWritten, us]);
    this.#points.set(cls, list);
    if (size > (before?.size ?? 0)) this.#last.set(cls, { size, us });
  }

  /** Whether a point expected to take so many µs fits into the time left; counts it either way. */
  #may(what: string, us: number): boolean {
    this.#options.signal?.throwIfAborted();
    const now = this.#clock();
    const part = Math.min(1, (now - this.#start) / Math.max(1, this.#deadline - this.#start));
    this.#options.onProgress?.({ device: this.#device.id, part, what });
    const blind = now <= this.#start && this.#taken >= mostUntimed;
    if (blind || now + us / 1000 > this.#deadline) {
      this.#missed++;
      return false;
    }
    this.#taken++;
    return true;
  }

  #profile(): Profile {
    const classes: Partial<Record<KernelClass, Curve>> = {};
    const launch = this.#points.get('map')?.[0]?.[1] ?? 1;
    for (const [cls, list] of this.#points) {
      // What a launch costs by itself is known from the smallest one of all.
      const least = Math.min(...list.map((p) => p[0]));
      classes[cls] = curveOf(cls === 'map' ? list : [[least / 1024, launch], ...list]);
    }
    for (const { cls, from, host, gpu } of derived) {
      const [base, { routine }] = [classes[from], plans[cls]];
      if (base && (!routine || this.#device.caps.routines.has(routine)))
        classes[cls] ??= scaled(base, this.#device.caps.host ? host : gpu);
    }
    const smallest = [...this.#points.values()].map((list) => Math.min(...list.map((p) => p[1])));
    return {
      device: this.#device.id,
      name: this.#device.caps.name,
      host: this.#device.caps.host ?? false,
      launchUs: smallest.length > 0 ? Math.min(...smallest) : 0,
      waitUs: this.#watch.wait,
      compileUs: this.#watch.compileUs(),
      upload: curveOf(this.#up),
      download: curveOf(this.#down),
      classes,
      tookMs: this.#clock() - this.#start,
      missed: this.#missed,
    };
  }
}
