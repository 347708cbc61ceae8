// The cost of a request on one device: waiting, launches, the kernels' roofs, forced transfers, penalty.
//
// Nothing is allocated while predicting: the parts are left in the model's fields.

import type { DeviceId } from '../devices/device.ts';
import { Corrections, Signature } from './corrections.ts';
import { at } from './curve.ts';
import { launchTime, type Profile } from './profile.ts';
import type { Candidate, OperationType, RouteRequest, WorkItem } from './types.ts';

/** Memory that one load from a place given by data touches. */
const sectorBytes = 32;
/** Learned factors of transfers stay within these. */
const transferLimit = Math.log(8);

interface DeviceModel {
  readonly profile: Profile;
  readonly corrections: Corrections;
  /** Learned log factors of this device's transfers, and their number. */
  transferLog: number;
  transferCount: number;
}

export class CostModel {
  readonly #devices = new Map<DeviceId, DeviceModel>();
  readonly #signature = new Signature();

  /** The parts of the last prediction, in µs. */
  launch = 0;
  work = 0;
  transfer = 0;
  total = 0;
  samples = 0;
  /** Whether this work has ever been observed there. */
  seen = false;

  constructor(profiles: ReadonlyMap<DeviceId, Profile>) {
    for (const [id, profile] of profiles) this.add(id, profile);
  }

  add(id: DeviceId, profile: Profile): void {
    const before = this.#devices.get(id);
    this.#devices.set(id, {
      profile,
      corrections: before?.corrections ?? new Corrections(),
      transferLog: before?.transferLog ?? 0,
      transferCount: before?.transferCount ?? 0,
    });
  }

  has(id: DeviceId): boolean {
    return this.#devices.has(id);
  }

  profile(id: DeviceId): Profile | undefined {
    return this.#devices.get(id)?.profile;
  }

  corrections(id: DeviceId): Corrections | undefined {
    return this.#devices.get(id)?.corrections;
  }

  /** Fills the fields. The device must have a profile. */
  predict(request: RouteRequest, candidate: Candidate): void {
    const d = this.#devices.get(candidate.device)!;
    this.#kernels(d, request.op, candidate.work);
    this.transfer = this.#transfers(request, candidate.device);
    this.total = (this.launch + this.work + this.transfer) * candidate.penalty;
  }

  /** The kernels' time alone, launches included, as corrected. */
  kernelTime(op: OperationType, work: readonly WorkItem[], device: DeviceId): number {
    const d = this.#devices.get(device);
    if (!d) return 0;
    this.#kernels(d, op, work);
    return this.launch + this.work;
  }

  /** µs to bring bytes from host memory to a device. */
  upload(id: DeviceId, bytes: number): number {
    const d = this.#devices.get(id);
    return d ? at(d.profile.upload, bytes) * Math.exp(d.transferLog) : 0;
  }

  /** µs until bytes of a device are in host memory, waiting included. */
  download(id: DeviceId, bytes: number): number {
    const d = this.#devices.get(id);
    return d ? Math.max(d.profile.waitUs, at(d.profile.download, bytes)) * Math.exp(d.transferLog) : 0;
  }

  /**
   * Learns from a run: `kernelUs` and `otherUs` are what was predicted, `measuredUs` what it took in all. The difference is
   * put down to each part by its share. Returns how far the correction moved, if notably.
   */
  learn(
    op: OperationType,
    work: readonly WorkItem[],
    device: DeviceId,
    kernelUs: number,
    otherUs: number,
    measuredUs: number,
    notable: number,
  ): number {
    const d = this.#devices.get(device);
    const predicted = kernelUs + otherUs;
    if (!d || !(predicted > 0) || !(measuredUs > 0)) return 0;
    const share = kernelUs / predicted;
    // What the kernels took if the rest took what was predicted, held between "all of it" and "in proportion".
    const proportion = (measuredUs / predicted) * kernelUs;
    const rest = measuredUs - otherUs;
    const kernels = share > 0.5 && rest > 0 ? share * rest + (1 - share) * proportion : proportion;
    const s = this.#signature.set(op, work);
    const base = kernelUs / d.corrections.factor(s);
    const moved = d.corrections.learn(s, Math.log(kernels / base), share, notable);
    if (share < 0.5) this.#learnTransfer(d, Math.log(measuredUs / predicted), 1 - share);
    return moved;
  }

  #learnTransfer(d: DeviceModel, log: number, weight: number): void {
    if (Math.abs(log) > transferLimit) return;
    const step = Math.max(1 / (d.transferCount + 4), 1 / 32) * weight * log;
    d.transferLog = Math.max(-transferLimit, Math.min(transferLimit, d.transferLog + step));
    d.transferCount++;
  }

  #kernels(d: DeviceModel, op: OperationType, work: readonly WorkItem[]): void {
    const { profile, corrections } = d;
    let sum = 0;
    for (let i = 0; i < work.length; i++) {
      const item = work[i]!;
      const extra = item.gathers ? sectorBytes * item.gathers * item.elements : 0;
      sum += launchTime(profile, item.class, item.flops, item.bytes + extra);
    }
    const s = this.#signature.set(op, work);
    const factor = corrections.factor(s);
    this.launch = work.length * profile.launchUs * factor;
    this.work = sum * factor - this.launch;
    this.samples = corrections.samples(s);
    this.seen = corrections.seen(s);
  }

  #transfers(request: RouteRequest, device: DeviceId): number {
    let us = 0;
    const { inputs, wanted } = request;
    for (let i = 0; i < inputs.length; i++) {
      const { at: places, bytes } = inputs[i]!;
      if (places.includes(device)) continue;
      if (places.length > 0) us += this.#cheapestDownload(places, bytes);
      us += this.upload(device, bytes);
    }
    if (wanted === null) return us;
    if (wanted === 'host') return us + this.download(device, request.outputBytes);
    // Until it is there: whoever wants it waits for the work in any case.
    if (wanted === device) return us + (this.#devices.get(device)?.profile.waitUs ?? 0);
    return us + this.download(device, request.outputBytes) + this.upload(wanted, request.outputBytes);
  }

  #cheapestDownload(places: readonly DeviceId[], bytes: number): number {
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < places.length; i++) best = Math.min(best, this.download(places[i]!, bytes));
    return best;
  }
}
