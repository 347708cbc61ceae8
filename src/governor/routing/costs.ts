// The measured half of the router: what a request costs on each device and which is least, where new data is best brought, what to
// try, and what measurements teach. Only there where devices were measured: a runtime with one device never loads it.

import type { DeviceId } from '../../devices/device.ts';
import { Costed } from './decision.ts';
import { Exploration } from './explore.ts';
import { Homes } from './home.ts';
import { CostModel, type Learned } from './model.ts';
import type { Routing } from './options.ts';
import type { Profile } from './profile.ts';
import type { Candidate, Decision, Operation, Outcome, Prediction, RouteRequest, WorkItem } from './types.ts';
import { largest } from './work.ts';

/** Costs that differ by less are no reason to move data. */
const tieBand = 0.1;
/** A device this many times faster is the optimal choice, one less so an acceptable one. */
const clearlyFaster = 1.5;
/** A change of a correction (as a logarithm) that may turn decisions. */
const notableMove = 0.1;

/** How a request is decided. */
export interface Asking {
  /** Another device than the best may be tried. */
  readonly explore: boolean;
  /** Free bytes of the GPU, and those that the work takes, where the candidates do not tell. */
  readonly freeBytes: number | null;
  readonly needBytes: number;
  /** Why the device that was asked for is not used; put before the reason. */
  readonly fallback: string;
}

export class Costs {
  readonly #routing: Routing;
  readonly #isHost: (id: DeviceId) => boolean;
  readonly #model = new CostModel();
  readonly #homes = new Homes();
  readonly #exploration: Exploration;

  constructor(routing: Routing, isHost: (id: DeviceId) => boolean) {
    this.#routing = routing;
    this.#isHost = isHost;
    this.#exploration = new Exploration(routing.explore);
  }

  /** Takes in measurements of a device. */
  add(id: DeviceId, profile: Profile): void {
    this.#model.add(id, profile);
    this.#homes.calibrated(id, profile);
  }

  has(id: DeviceId): boolean {
    return this.#model.has(id);
  }

  profile(id: DeviceId): Profile | undefined {
    return this.#model.profile(id);
  }

  /** What measurements have taught about a device, and the same taken in again. */
  save(id: DeviceId): Learned | null {
    return this.#model.save(id);
  }

  load(id: DeviceId, learned: Learned): void {
    this.#model.load(id, learned);
  }

  /** µs routed so far by prediction, and how many of them exploring has cost. */
  get exploration(): { readonly routedUs: number; readonly lostUs: number } {
    const { routedUs, lostUs } = this.#exploration;
    return { routedUs, lostUs };
  }

  /** Host data of this size was used there. */
  used(device: DeviceId, bytes: number): void {
    this.#homes.used(device, bytes);
  }

  /** Where host data of this size is best brought. */
  home(bytes: number, allowed: readonly DeviceId[]): DeviceId {
    return this.#homes.best(bytes, allowed);
  }

  kernelTime(op: Operation, work: readonly WorkItem[], device: DeviceId): number {
    return this.#model.kernelTime(op, work, device);
  }

  /** Learns from a measurement; whether that may turn decisions. */
  learnKernels(op: Operation, work: readonly WorkItem[], device: DeviceId, measuredUs: number): boolean {
    return this.#model.learnKernels(op, work, device, measuredUs, notableMove) > 0;
  }

  learnCall(request: RouteRequest, candidate: Candidate, measuredUs: number): boolean {
    return this.#model.learnCall(request, candidate, measuredUs, notableMove) > 0;
  }

  /** All candidates have been measured. */
  decide(request: RouteRequest, candidates: readonly Candidate[], asking: Asking): Decision {
    if (candidates.length === 1 && !asking.explore) return this.#single(request, candidates[0]!, asking.fallback);
    return this.#least(request, candidates, asking);
  }

  #single(request: RouteRequest, only: Candidate, fallback: string): Decision {
    const predictions = [this.#predict(request, only)];
    const outcome = this.#isHost(only.device) ? 'cpu_optimal' : 'gpu_optimal';
    return new Costed(request, only.device, outcome, predictions, false, `${fallback}the only device that can do this`);
  }

  #predict(request: RouteRequest, c: Candidate): Prediction {
    const m = this.#model;
    m.predict(request, c);
    return {
      device: c.device,
      us: m.total,
      launch: m.launch,
      work: m.work,
      transfer: m.transfer,
      penalty: c.penalty,
      samples: m.samples,
    };
  }

  /** A GPU that the user's own limits rule out for this call, or one with too little free memory for it. */
  #ruledOut(c: Candidate, p: Prediction, freeBytes: number | null, needBytes: number): boolean {
    if (this.#isHost(c.device)) return false;
    const { given, gpuThresholdElements, overheadToleranceMs } = this.#routing;
    if (given.threshold && largest(c.work) < gpuThresholdElements) return true;
    if (given.overhead && p.launch + p.transfer > 1000 * overheadToleranceMs) return true;
    const free = c.memory?.freeBytes ?? freeBytes;
    return free !== null && (c.memory?.needBytes ?? needBytes) > 0.8 * free;
  }

  #least(
    request: RouteRequest,
    candidates: readonly Candidate[],
    { explore, freeBytes, needBytes, fallback }: Asking,
  ): Decision {
    const predictions: Prediction[] = [];
    let best = -1;
    for (let i = 0; i < candidates.length; i++) {
      const p = this.#predict(request, candidates[i]!);
      predictions.push(p);
      if (this.#ruledOut(candidates[i]!, p, freeBytes, needBytes)) continue;
      if (best < 0 || p.us < predictions[best]!.us) best = i;
    }
    // With no other device, limits meant to prefer one rule nothing out.
    if (best < 0) best = 0;
    const { us } = predictions[best]!;
    let chosen = best;
    let tied = false;
    let second = Number.POSITIVE_INFINITY;
    for (let i = 0; i < predictions.length; i++) {
      if (i === best || this.#ruledOut(candidates[i]!, predictions[i]!, freeBytes, needBytes)) continue;
      const other = predictions[i]!.us;
      second = Math.min(second, other);
      if (other > us * (1 + tieBand)) continue;
      tied = true;
      if (resident(request, candidates[i]!.device) > resident(request, candidates[chosen]!.device)) chosen = i;
    }
    if (explore) {
      this.#exploration.routed(us);
      const tried = this.#exploration.tryOther(predictions, chosen, (i) =>
        this.#ruledOut(candidates[i]!, predictions[i]!, null, 0) ? null : this.#compileUs(request, candidates[i]!),
      );
      if (tried >= 0) {
        const d = candidates[tried]!.device;
        return new Costed(request, d, 'no_preference', predictions, true, `${fallback}tried to learn how fast ${d} is`);
      }
    }
    const { device } = predictions[chosen]!;
    const outcome = tied ? 'no_preference' : this.#outcome(device, second / us, largest(candidates[chosen]!.work));
    const why = tied ? 'costs differ by less than 10 %, so the data stays where it is' : 'the least predicted cost';
    return new Costed(request, device, outcome, predictions, false, `${fallback}${why}`);
  }

  #outcome(device: DeviceId, ratio: number, elements: number): Outcome {
    const clear = ratio >= clearlyFaster;
    if (this.#isHost(device)) return clear ? 'cpu_optimal' : 'cpu_acceptable';
    const large = !this.#routing.given.optimal || elements >= this.#routing.gpuOptimalThreshold;
    return clear && large ? 'gpu_optimal' : 'gpu_acceptable';
  }

  /** What a first run on a device pays for making the program. */
  #compileUs(request: RouteRequest, c: Candidate): number {
    this.#model.predict(request, c);
    return this.#model.seen ? 0 : (this.#model.profile(c.device)?.compileUs ?? 0);
  }
}

function resident(request: RouteRequest, device: DeviceId): number {
  let bytes = 0;
  for (let i = 0; i < request.inputs.length; i++) {
    const input = request.inputs[i]!;
    if (input.at.includes(device)) bytes += input.bytes;
  }
  return bytes;
}
