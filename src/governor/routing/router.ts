// Decides where work runs.
//
// In mode `measured` every candidate's cost is predicted (launches, kernels, the transfers that its inputs' place forces) and
// the least wins; within 10 % the data stays where it is. Measured times correct the predictions. In mode `rules`, and for
// devices that were not measured, the rule table decides. A pinned device wins over all of this.
//
// The router knows no tensors, graphs or devices: requests come in as numbers, decisions go out as names.

import type { DeviceId } from '../../devices/device.ts';
import { ArgumentError, DeviceUnavailable } from '../../errors.ts';
import { Costed, Fixed } from './decision.ts';
import { Exploration } from './explore.ts';
import { Homes } from './home.ts';
import { CostModel, type Learned } from './model.ts';
import { type Analysis, analyze, type CallOptions, requestOf, type Sized } from './named.ts';
import { covers, type Routing, type RoutingOptions, resolveRouting } from './options.ts';
import type { Profile } from './profile.ts';
import { applyRules, wantsGpu } from './rules.ts';
import { type RouteStats, StatsTable } from './stats.ts';
import type { Candidate, Decision, Operation, Outcome, Prediction, RouteRequest, WorkItem } from './types.ts';
import { typicalWork } from './work.ts';

export interface RouterSetup {
  /** Devices there are; default: those with a profile. */
  readonly devices?: readonly DeviceId[] | undefined;
  /** Those of them that are the host's own processor; everything else is a GPU. Default: those whose profile says so. */
  readonly hosts?: readonly DeviceId[] | undefined;
  /** Free bytes of a device, or null; asked by `shouldUseGPU` and `route`. */
  readonly freeBytes?: ((id: DeviceId) => number | null) | undefined;
  /** Milliseconds; for tests. */
  readonly clock?: (() => number) | undefined;
}

export interface RouteExplanation extends Decision {
  readonly op: Operation;
  readonly elements: number;
  /** Where the inputs are. */
  readonly location: readonly string[];
  readonly samples: number;
}

/** Costs that differ by less are no reason to move data. */
const tieBand = 0.1;
/** A device this many times faster is the optimal choice, one less so an acceptable one. */
const clearlyFaster = 1.5;
/** A change of a correction (as a logarithm) that may turn decisions. */
const notableMove = 0.1;
const epochMs = 250;

export class Router {
  /** Grows when so much was learned that remembered placements should be decided anew; at most four times a second. */
  epoch = 0;
  readonly routing: Routing;
  readonly #options: RoutingOptions;
  readonly #model: CostModel;
  readonly #homes = new Homes();
  readonly #stats = new StatsTable();
  readonly #exploration: Exploration;
  readonly #clock: () => number;
  readonly #freeBytes: (id: DeviceId) => number | null;
  readonly #hosts: Set<DeviceId>;
  #devices: readonly DeviceId[];
  #lastEpoch = Number.NEGATIVE_INFINITY;
  #changed = false;

  constructor(options: RoutingOptions, profiles: ReadonlyMap<DeviceId, Profile>, setup: RouterSetup = {}) {
    this.routing = resolveRouting(options);
    this.#options = options;
    this.#model = new CostModel(profiles);
    this.#exploration = new Exploration(this.routing.explore);
    this.#clock = setup.clock ?? (() => performance.now());
    this.#freeBytes = setup.freeBytes ?? (() => null);
    this.#devices = setup.devices ?? [...profiles.keys()];
    this.#hosts = new Set(setup.hosts);
    for (const [id, p] of profiles) this.#known(id, p);
  }

  #known(id: DeviceId, profile: Profile): void {
    this.#homes.calibrated(id, profile);
    if (profile.host) this.#hosts.add(id);
  }

  #isHost(id: DeviceId): boolean {
    return this.#hosts.has(id);
  }

  static #shared: Router | null = null;

  /** One router for the whole process. Asking again with other options is an error: they would be ignored. */
  static shared(
    options: RoutingOptions = {},
    profiles: ReadonlyMap<DeviceId, Profile> = new Map(),
    setup: RouterSetup = {},
  ): Router {
    const router = (Router.#shared ??= new Router(options, profiles, setup));
    const [had, asked] = [JSON.stringify(router.routing), JSON.stringify(resolveRouting(options))];
    if (had !== asked) {
      throw new ArgumentError({
        code: 'SHARED_OPTIONS',
        message: `Router.shared: it exists with other options (${had}, asked for ${asked})`,
        fix: 'Use the same options everywhere, or create a Router of your own.',
        where: 'Router.shared',
      });
    }
    return router;
  }

  get options(): RoutingOptions {
    return this.#options;
  }

  get devices(): readonly DeviceId[] {
    return this.#devices;
  }

  /** Takes in measurements of a device: after calibration, or when a device came back as another one. */
  calibrated(profiles: ReadonlyMap<DeviceId, Profile>): void {
    for (const [id, p] of profiles) {
      this.#model.add(id, p);
      this.#known(id, p);
      if (!this.#devices.includes(id)) this.#devices = [...this.#devices, id];
    }
    this.touch();
  }

  profile(id: DeviceId): Profile | undefined {
    return this.#model.profile(id);
  }

  /** Something outside changed (a penalty, a device): remembered placements should be decided anew. */
  touch(): void {
    this.#lastEpoch = Number.NEGATIVE_INFINITY;
    this.#turn();
  }

  decide(request: RouteRequest): Decision {
    const decision = this.#decide(request, true);
    this.#stats.decided(request.op, decision.device, decision.explored);
    for (let i = 0; i < request.inputs.length; i++) {
      const input = request.inputs[i]!;
      if (input.at.length === 0 && !decision.explored) this.#homes.used(decision.device, input.bytes);
    }
    return decision;
  }

  /** Where new host data of this size is best brought. */
  home(bytes: number, dtypeAllowed: readonly DeviceId[]): DeviceId {
    const { device, forbid, mode } = this.routing;
    if (device !== null) {
      const pinned = dtypeAllowed.find((id) => covers([device], id));
      if (pinned !== undefined) return pinned;
    }
    const allowed = forbid.length === 0 ? dtypeAllowed : dtypeAllowed.filter((id) => !covers(forbid, id));
    if (allowed.length <= 1 || mode !== 'measured') return allowed[0] ?? dtypeAllowed[0]!;
    return this.#homes.best(bytes, allowed);
  }

  /**
   * The launches of a program took `measuredUs` on a device, where `predictedUs` were expected: launches and work, without
   * transfers.
   */
  observe(op: Operation, work: readonly WorkItem[], device: DeviceId, predictedUs: number, measuredUs: number): void {
    if (!(measuredUs > 0)) return;
    this.#stats.measured(op, device, predictedUs, measuredUs);
    if (this.#model.learnKernels(op, work, device, measuredUs, notableMove) > 0) this.#changed = true;
    if (this.#changed) this.#turn();
  }

  /**
   * A call as a whole took `measuredUs`: from where its inputs were when `decision` was made to its result being where it was
   * wanted. This teaches transfers and waiting too, which `observe` cannot.
   */
  observeCall(decision: Decision, measuredUs: number): void {
    if (!(decision instanceof Costed) || !(measuredUs > 0)) return;
    const { request, device } = decision;
    const candidate = request.candidates.find((c) => c.device === device);
    if (!candidate) return;
    const predicted = decision.predictions.find((p) => p.device === device)?.us ?? 0;
    this.#stats.measured(request.op, device, predicted, measuredUs);
    if (this.#model.learnCall(request, candidate, measuredUs, notableMove) > 0) this.#changed = true;
    if (this.#changed) this.#turn();
  }

  /** Per operation type and device: count, predicted, measured, error. */
  stats(): RouteStats[] {
    return this.#stats.list();
  }

  /** µs routed so far by prediction, and how many of them exploring has cost. */
  exploration(): { readonly routedUs: number; readonly lostUs: number } {
    const { routedUs, lostUs } = this.#exploration;
    return { routedUs, lostUs };
  }

  /** What measurements have taught, per device, to be kept. */
  learned(): Map<DeviceId, Learned> {
    return new Map(
      this.#devices.flatMap((id) => {
        const learned = this.#model.save(id);
        return learned ? [[id, learned]] : [];
      }),
    );
  }

  relearn(saved: ReadonlyMap<DeviceId, Learned>): void {
    for (const [id, learned] of saved) this.#model.load(id, learned);
    this.touch();
  }

  /** What is known of a call by its name and size. Elements of a matrix product are those of one operand. */
  analyze(op: string, data?: Sized, options: CallOptions = {}): Analysis {
    return analyze(op, data, options, this.routing.device);
  }

  shouldUseGPU(
    op: string,
    data?: Sized,
    options: CallOptions = {},
  ): { readonly useGPU: boolean; readonly preference: Outcome; readonly reason: string } {
    const d = this.#call(op, data, options);
    return { useGPU: !this.#isHost(d.device), preference: d.outcome, reason: d.reason };
  }

  route(op: string, data?: Sized, options: CallOptions = {}): { readonly device: DeviceId; readonly reason: string } {
    const { device, reason } = this.#call(op, data, options);
    return { device, reason };
  }

  /** Tells how long an operation took; later decisions for it follow. */
  recordOperationResult(op: string, elements: number, device: DeviceId, ms: number): void {
    const type = this.analyze(op, elements).type;
    const work = [typicalWork(type, elements)];
    this.observe(type, work, device, this.#model.kernelTime(type, work, device), ms * 1000);
  }

  /** Why there: of a request as the runtime makes it, or of an operation by name and size. Changes nothing. */
  explain(request: RouteRequest): RouteExplanation;
  explain(op: string, data?: Sized, options?: CallOptions): RouteExplanation;
  explain(first: RouteRequest | string, data?: Sized, options: CallOptions = {}): RouteExplanation {
    const request = typeof first === 'string' ? this.#request(first, data, options) : first;
    const d = typeof first === 'string' ? this.#call(first, data, options) : this.#decide(request, false);
    return {
      device: d.device,
      outcome: d.outcome,
      reason: d.reason,
      predictions: d.predictions,
      explored: false,
      op: request.op,
      elements: largest(request.candidates[0]!.work),
      location: [...new Set(request.inputs.flatMap((i) => (i.at.length > 0 ? i.at : ['host'])))],
      samples: d.predictions.find((p) => p.device === d.device)?.samples ?? 0,
    };
  }

  #request(op: string, data: Sized, options: CallOptions): RouteRequest {
    return requestOf(this.analyze(op, data, options), this.#devices, options);
  }

  #call(op: string, data: Sized, options: CallOptions): Decision {
    if (this.#devices.length === 0)
      throw unavailable('the router knows no device', 'Give it profiles or a list of devices.');
    const preference = options.device ?? this.routing.device;
    const found = preference === null ? undefined : this.#devices.find((id) => covers([preference], id));
    if (found) return new Fixed(found, 'no_preference', () => `${found} was asked for`);
    const request = this.#request(op, data, options);
    if (preference !== null && options.device !== undefined) {
      if (!this.routing.allowFallback)
        throw unavailable(`${preference} was asked for and is not there`, `Use one of ${this.#devices.join(', ')}.`);
      const host = this.#devices.find((id) => this.#isHost(id)) ?? this.#devices[0]!;
      return new Fixed(host, 'cpu_optimal', () => `${preference} was asked for and is not there, so ${host} is used`);
    }
    const gpu = this.#devices.find((id) => !this.#isHost(id));
    const free = options.freeBytes ?? (gpu ? this.#freeBytes(gpu) : null);
    return this.#decide(request, false, free, options.bytes ?? 8 * largest(request.candidates[0]!.work));
  }

  #decide(request: RouteRequest, explore: boolean, freeBytes: number | null = null, needBytes = 0): Decision {
    const { device: pin, forbid, mode, allowFallback } = this.routing;
    let { candidates } = request;
    if (forbid.length > 0) {
      candidates = candidates.filter((c) => !covers(forbid, c.device));
      if (candidates.length === 0)
        throw unavailable(
          `all devices that can do this are forbidden (${forbid.join(', ')})`,
          'Take one of them off routing.forbid.',
        );
    }
    let fallback = '';
    if (pin !== null) {
      const pinned = candidates.find((c) => covers([pin], c.device));
      if (pinned) return new Fixed(pinned.device, 'no_preference', () => `routing is pinned to ${pin}`);
      if (!allowFallback)
        throw unavailable(
          `routing is pinned to ${pin}, which is not there or cannot do this (${candidates.map((c) => c.device).join(', ')} can)`,
          'Set routing.allowFallback, or pin a device that can.',
        );
      fallback = `${pin} is not there or cannot do this; `;
    }
    const first = candidates[0]!;
    if (mode === 'off')
      return new Fixed(first.device, 'no_preference', () => `${fallback}routing is off: the first device is used`);
    const measured = mode === 'measured' && candidates.every((c) => this.#model.has(c.device));
    if (!measured) return this.#byRules(request, candidates, fallback, freeBytes, needBytes);
    if (candidates.length === 1 && !explore) return this.#single(request, first, fallback);
    return this.#byCost(request, candidates, fallback, explore, freeBytes, needBytes);
  }

  #single(request: RouteRequest, only: Candidate, fallback: string): Decision {
    const predictions = [this.#predict(request, only)];
    const outcome = this.#isHost(only.device) ? 'cpu_optimal' : 'gpu_optimal';
    return new Costed(request, only.device, outcome, predictions, false, `${fallback}the only device that can do this`);
  }

  #byRules(
    request: RouteRequest,
    candidates: readonly Candidate[],
    fallback: string,
    freeBytes: number | null,
    needBytes: number,
  ): Decision {
    const gpu = candidates.find((c) => !this.#isHost(c.device));
    const host = candidates.find((c) => this.#isHost(c.device));
    const { gpuThresholdElements, gpuOptimalThreshold, overheadToleranceMs } = this.routing;
    const { outcome, why } = applyRules({
      op: request.op,
      elements: largest((gpu ?? host!).work),
      gpuPresent: gpu !== undefined,
      needBytes: gpu?.memory?.needBytes ?? needBytes,
      freeBytes: gpu?.memory?.freeBytes ?? freeBytes,
      gpuThresholdElements,
      gpuOptimalThreshold,
      overheadToleranceMs,
    });
    const chosen = (wantsGpu(outcome) ? gpu : host) ?? gpu ?? host!;
    return new Fixed(chosen.device, outcome, () => `${fallback}${why()}`);
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
    const { given, gpuThresholdElements, overheadToleranceMs } = this.routing;
    if (given.threshold && largest(c.work) < gpuThresholdElements) return true;
    if (given.overhead && p.launch + p.transfer > 1000 * overheadToleranceMs) return true;
    const free = c.memory?.freeBytes ?? freeBytes;
    return free !== null && (c.memory?.needBytes ?? needBytes) > 0.8 * free;
  }

  #byCost(
    request: RouteRequest,
    candidates: readonly Candidate[],
    fallback: string,
    explore: boolean,
    freeBytes: number | null,
    needBytes: number,
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
    const large = !this.routing.given.optimal || elements >= this.routing.gpuOptimalThreshold;
    return clear && large ? 'gpu_optimal' : 'gpu_acceptable';
  }

  /** What a first run on a device pays for making the program. */
  #compileUs(request: RouteRequest, c: Candidate): number {
    this.#model.predict(request, c);
    return this.#model.seen ? 0 : (this.#model.profile(c.device)?.compileUs ?? 0);
  }

  #turn(): void {
    const now = this.#clock();
    if (now - this.#lastEpoch < epochMs) return;
    this.#lastEpoch = now;
    this.#changed = false;
    this.epoch++;
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

function largest(work: readonly WorkItem[]): number {
  let most = 0;
  for (let i = 0; i < work.length; i++) most = Math.max(most, work[i]!.elements);
  return most;
}

const unavailable = (message: string, fix: string): DeviceUnavailable =>
  new DeviceUnavailable({ code: 'DEVICE_NOT_ROUTABLE', message: `routing: ${message}`, fix, where: 'routing' });
