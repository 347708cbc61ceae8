// The cost of a request on one device: launches, the kernels' roofs, forced transfers and waiting, penalty.
//
// A prediction starts from the profile. The kernels' part is corrected by what kernels took before, the rest by what
// transfers took; if this very call was measured as a whole, from inputs to result, that counts most. Nothing is allocated while
// predicting: the parts are left in the model's fields.

import type { DeviceId } from '../../devices/device.ts';
import { Corrections, type SavedCorrections, Signature } from './corrections.ts';
import { at } from './curve.ts';
import { launchTime, type Profile } from './profile.ts';
import type { Candidate, Operation, RouteRequest, WorkItem } from './types.ts';

/** Memory that one load from a place given by data touches. */
const sectorBytes = 32;
/** Calls predicted to take fewer µs tell what a call costs around its launches and transfers. */
const shortCall = 200;
/** Short calls a device needs until its own ones count as much as those of all devices. */
const fewShortCalls = 16;
/** On a GPU, a call teaches transfers only if its kernels are expected to take less than one in so many parts of their time. */
const surelyTransfer = 16;
/** Learned factors of transfers stay within these. */
const transferLimit = Math.log(16);

/** Stored form of what was learned about a device. */
export interface Learned {
  readonly kernels: SavedCorrections;
  readonly calls: SavedCorrections;
  readonly transferLog: number;
}

class DeviceModel {
  profile: Profile;
  /** Of launches alone, and of whole calls. */
  readonly kernels = new Corrections();
  readonly calls = new Corrections();
  /** Learned log factor of this device's transfers, and the number of samples behind it. */
  transferLog = 0;
  transferCount = 0;
  /** µs that short calls take here beyond launches and transfers, and the number of samples behind it. */
  overhead = 0;
  shortCalls = 0;

  constructor(profile: Profile) {
    this.profile = profile;
  }
}

export class CostModel {
  readonly #devices = new Map<DeviceId, DeviceModel>();
  readonly #signature = new Signature();
  /**
   * µs that a call takes beyond what devices do, learned as the median over short calls on all of them. Without it the device that is
   * used would look slower than its profile, and those that are not would not.
   */
  #overhead = 0;

  /** The parts of the last prediction, in µs; they add up to `total` before the penalty. */
  launch = 0;
  work = 0;
  transfer = 0;
  total = 0;
  samples = 0;
  /** Whether this work has ever been observed there. */
  seen = false;
  /** The kernels and the transfers as the profile alone has them. */
  #kernels0 = 0;
  #transfer0 = 0;

  constructor(profiles: ReadonlyMap<DeviceId, Profile> = new Map()) {
    for (const [id, profile] of profiles) this.add(id, profile);
  }

  /** Takes in a profile; what was learned about a device of this name before is kept. */
  add(id: DeviceId, profile: Profile): void {
    const known = this.#devices.get(id);
    if (known) known.profile = profile;
    else this.#devices.set(id, new DeviceModel(profile));
  }

  has(id: DeviceId): boolean {
    return this.#devices.has(id);
  }

  profile(id: DeviceId): Profile | undefined {
    return this.#devices.get(id)?.profile;
  }

  /** Fills the fields. The device must have a profile. */
  predict(request: RouteRequest, candidate: Candidate): void {
    const d = this.#devices.get(candidate.device)!;
    this.#predictKernels(d, request.op, candidate.work);
    this.#predictTransfers(request, candidate.device);
    this.launch += this.#overheadOf(d);
    const parts = this.launch + this.work + this.transfer;
    const base = this.#kernels0 + this.#transfer0;
    const s = this.#signature.call(this.#transfer0, request.wanted);
    const us = base * Math.exp(d.calls.own(s, Math.log(parts / base)));
    this.samples = Math.max(this.samples, d.calls.samples(s));
    this.seen ||= d.calls.seen(s);
    this.launch *= us / parts;
    this.work *= us / parts;
    this.transfer *= us / parts;
    this.total = us * candidate.penalty;
  }

  /** The kernels' time alone, launches included, as corrected. */
  kernelTime(op: Operation, work: readonly WorkItem[], device: DeviceId): number {
    const d = this.#devices.get(device);
    if (!d) return 0;
    this.#predictKernels(d, op, work);
    return this.launch + this.work;
  }

  /** Learns what the kernels of a program took. Returns how far their correction moved, if by more than `notable`. */
  learnKernels(
    op: Operation,
    work: readonly WorkItem[],
    device: DeviceId,
    measuredUs: number,
    notable: number,
  ): number {
    const d = this.#devices.get(device);
    if (!d) return 0;
    this.#predictKernels(d, op, work);
    const expected = Math.log((this.launch + this.work) / this.#kernels0);
    return d.kernels.learn(this.#signature, Math.log(measuredUs / this.#kernels0), expected, true, notable);
  }

  /** Learns what a call took as a whole, from where its inputs were to its result being where it was wanted. */
  learnCall(request: RouteRequest, candidate: Candidate, measuredUs: number, notable: number): number {
    const d = this.#devices.get(candidate.device);
    if (!d) return 0;
    this.#predictKernels(d, request.op, candidate.work);
    const fresh = !d.kernels.seen(this.#signature);
    if (fresh) d.kernels.meet(this.#signature);
    const kernels = this.launch + this.work;
    this.#predictTransfers(request, candidate.device);
    const s = this.#signature.call(this.#transfer0, request.wanted);
    const parts = kernels + this.transfer;
    const overhead = this.#overheadOf(d);
    const own = Math.max(measuredUs - overhead, measuredUs / 4);
    const base = this.#kernels0 + this.#transfer0;
    const expected = d.calls.own(s, Math.log((parts + overhead) / base));
    if (parts < shortCall && !fresh) this.#learnOverhead(d, measuredUs - parts);
    // The first run of a program pays for what it made: nothing to learn about transfers from. Nor is there where the kernels may
    // be what took long: on the host they are well known, elsewhere they are waited for together with the transfers.
    const known = d.profile.host ? 1 : surelyTransfer;
    if (this.transfer > known * kernels && !fresh) {
      const involved = this.#involved(request, candidate.device) ?? d;
      learnTransfer(involved, Math.log(Math.max(own - kernels, own / 4) / this.transfer));
    }
    return d.calls.learn(s, Math.log(measuredUs / base), expected, fresh, notable);
  }

  /** What short calls have taken on this device beyond its launches and transfers; where few have run there, what they have anywhere. */
  #overheadOf(d: DeviceModel): number {
    const n = d.shortCalls;
    return (n * d.overhead + fewShortCalls * this.#overhead) / (n + fewShortCalls);
  }

  #learnOverhead(d: DeviceModel, us: number): void {
    this.#overhead = towards(us, this.#overhead);
    d.overhead = d.shortCalls === 0 ? this.#overhead : towards(us, d.overhead);
    d.shortCalls++;
  }

  save(id: DeviceId): Learned | null {
    const d = this.#devices.get(id);
    return d ? { kernels: d.kernels.save(), calls: d.calls.save(), transferLog: d.transferLog } : null;
  }

  load(id: DeviceId, learned: Learned): void {
    const d = this.#devices.get(id);
    if (!d) return;
    d.kernels.load(learned.kernels);
    d.calls.load(learned.calls);
    d.transferLog = Math.max(-transferLimit, Math.min(transferLimit, learned.transferLog));
  }

  #predictKernels(d: DeviceModel, op: Operation, work: readonly WorkItem[]): void {
    const { profile, kernels } = d;
    let sum = 0;
    for (let i = 0; i < work.length; i++) {
      const item = work[i]!;
      const extra = item.gathers ? sectorBytes * item.gathers * item.elements : 0;
      sum += launchTime(profile, item.class, item.flops, item.bytes + extra);
    }
    const s = this.#signature.set(op, work);
    const factor = kernels.factor(s);
    this.#kernels0 = sum;
    this.launch = work.length * profile.launchUs * factor;
    this.work = Math.max(0, sum * factor - this.launch);
    this.samples = kernels.samples(s);
    this.seen = kernels.seen(s);
  }

  #predictTransfers(request: RouteRequest, device: DeviceId): void {
    this.transfer = 0;
    this.#transfer0 = 0;
    const { inputs, wanted, outputBytes } = request;
    for (let i = 0; i < inputs.length; i++) {
      const { at: places, bytes } = inputs[i]!;
      if (places.includes(device)) continue;
      const from = this.#nearest(places, bytes);
      if (from) this.#count(from, at(from.profile.download, bytes));
      this.#upload(device, bytes);
    }
    if (wanted === null) return;
    if (wanted === device) {
      // Until it is there: whoever wants it waits for the work in any case.
      const { waitUs } = this.#devices.get(device)!.profile;
      this.#count(this.#devices.get(device)!, waitUs);
      return;
    }
    this.#fetch(this.#devices.get(device)!, outputBytes);
    if (wanted !== 'host') this.#upload(wanted, outputBytes);
  }

  #upload(id: DeviceId, bytes: number): void {
    const d = this.#devices.get(id);
    if (d) this.#count(d, at(d.profile.upload, bytes));
  }

  /** A result, right after the work that makes it: unlike a read from an idle device, it is waited for. */
  #fetch(d: DeviceModel, bytes: number): void {
    const { waitUs, download } = d.profile;
    this.#count(d, Math.max(waitUs, at(download, bytes), waitUs + at(download, bytes) - at(download, 0)));
  }

  #count(d: DeviceModel, us: number): void {
    this.#transfer0 += us;
    this.transfer += us * Math.exp(d.transferLog);
  }

  /** The device from which bytes come to the host soonest; null if they are there already, or nobody knows. */
  #nearest(places: readonly DeviceId[], bytes: number): DeviceModel | null {
    let best: DeviceModel | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < places.length; i++) {
      if (places[i] === 'host') return null;
      const d = this.#devices.get(places[i]!);
      const us = d ? at(d.profile.download, bytes) : Number.POSITIVE_INFINITY;
      if (us >= least) continue;
      least = us;
      best = d!;
    }
    return best;
  }

  /** The device whose transfers most of the waiting is for: the slowest to be waited for of those that take part. */
  #involved(request: RouteRequest, device: DeviceId): DeviceModel | null {
    let worst = request.wanted === 'host' ? (this.#devices.get(device) ?? null) : null;
    for (let i = 0; i < request.inputs.length; i++) {
      const { at: places, bytes } = request.inputs[i]!;
      if (places.includes(device)) continue;
      const from = this.#nearest(places, bytes);
      if (from && (!worst || from.profile.waitUs > worst.profile.waitUs)) worst = from;
    }
    return worst;
  }
}

/** A step towards the median, whatever the size of the surprise. */
function towards(us: number, overhead: number): number {
  const step = 0.5 + 0.05 * overhead;
  return Math.max(0, Math.min(shortCall, overhead + (us > overhead ? step : -step)));
}

function learnTransfer(d: DeviceModel, log: number): void {
  if (!Number.isFinite(log)) return;
  const step = Math.max(-1, Math.min(1, log)) * Math.max(1 / (d.transferCount + 2), 1 / 32);
  d.transferLog = Math.max(-transferLimit, Math.min(transferLimit, d.transferLog + step));
  d.transferCount++;
}
