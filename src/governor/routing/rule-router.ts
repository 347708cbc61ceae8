// Decides where work runs, as far as nothing has to be measured for it: pins, forbidden devices, the rule table, statistics. Where
// devices were measured it asks `Costs`; router.ts has it from the start.
//
// The router knows no tensors, graphs or devices: requests come in as numbers, decisions go out as names.

import { checkMethods } from '../../base/signatures.ts';
import type { DeviceId } from '../../devices/device.ts';
import { DeviceUnavailable } from '../../errors.ts';
import type { Costs } from './costs.ts';
import { Costed, Fixed } from './decision.ts';
import type { Learned } from './model.ts';
import { type Analysis, analyze, type CallOptions, requestOf, type Sized } from './named.ts';
import { covers, type Routing, type RoutingOptions, resolveRouting } from './options.ts';
import type { Profile } from './profile.ts';
import { applyRules, wantsGpu } from './rules.ts';
import { routerSignatures, routingKinds } from './signatures.ts';
import { type RouteStats, StatsTable } from './stats.ts';
import type { Candidate, Decision, Operation, Outcome, RouteRequest, WorkItem } from './types.ts';
import { largest, typicalWork } from './work.ts';

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

const epochMs = 250;

export class RuleRouter {
  /** Grows when so much was learned that remembered placements should be decided anew; at most four times a second. */
  epoch = 0;
  readonly routing: Routing;
  readonly #options: RoutingOptions;
  #costs: Costs | null = null;
  readonly #stats = new StatsTable();
  readonly #clock: () => number;
  readonly #freeBytes: (id: DeviceId) => number | null;
  readonly #hosts: Set<DeviceId>;
  #devices: readonly DeviceId[];
  #lastEpoch = Number.NEGATIVE_INFINITY;
  #changed = false;

  constructor(options: RoutingOptions, setup: RouterSetup = {}) {
    this.routing = resolveRouting(options);
    this.#options = options;
    this.#clock = setup.clock ?? (() => performance.now());
    this.#freeBytes = setup.freeBytes ?? (() => null);
    this.#devices = setup.devices ?? [];
    this.#hosts = new Set(setup.hosts);
  }

  /** Decides by costs from now on, as far as devices were measured. */
  protected measured(profiles: ReadonlyMap<DeviceId, Profile>, decides?: typeof Costs): void {
    const costs = (this.#costs ??= decides ? new decides(this.routing, (id) => this.#isHost(id)) : null);
    if (!costs)
      throw unavailable(
        'a router for one device, which was not measured, compares no costs',
        'Open a second device, or use openRouter with `always`.',
      );
    for (const [id, profile] of profiles) {
      costs.add(id, profile);
      if (profile.host) this.#hosts.add(id);
    }
  }

  #isHost(id: DeviceId): boolean {
    return this.#hosts.has(id);
  }

  get options(): RoutingOptions {
    return this.#options;
  }

  get devices(): readonly DeviceId[] {
    return this.#devices;
  }

  /**
   * @internal Takes in measurements of a device: after calibration, or when a device came back as another one. A router that was made without
   * any also needs what decides by them.
   */
  calibrated(profiles: ReadonlyMap<DeviceId, Profile>, decides?: typeof Costs): void {
    this.measured(profiles, decides);
    this.#devices = [...new Set([...this.#devices, ...profiles.keys()])];
    this.touch();
  }

  /** What was measured of a device; undefined if nothing was. */
  profile(id: DeviceId): Profile | undefined {
    return this.#costs?.profile(id);
  }

  /** @internal Something outside changed (a penalty, a device): remembered placements should be decided anew. */
  touch(): void {
    this.#lastEpoch = Number.NEGATIVE_INFINITY;
    this.#turn();
  }

  /** @internal Where a program runs, as the runtime asks. */
  decide(request: RouteRequest): Decision {
    const decision = this.#decide(request, true);
    this.#stats.decided(request.op, decision.device, decision.explored);
    for (let i = 0; i < request.inputs.length; i++) {
      const input = request.inputs[i]!;
      if (input.at.length === 0 && !decision.explored) this.#costs?.used(decision.device, input.bytes);
    }
    return decision;
  }

  /** @internal Where new host data of this size is best brought. */
  home(bytes: number, dtypeAllowed: readonly DeviceId[]): DeviceId {
    const { device, forbid, mode } = this.routing;
    if (device !== null) {
      const pinned = dtypeAllowed.find((id) => covers([device], id));
      if (pinned !== undefined) return pinned;
    }
    const allowed = forbid.length === 0 ? dtypeAllowed : dtypeAllowed.filter((id) => !covers(forbid, id));
    if (allowed.length <= 1 || mode !== 'measured') return allowed[0] ?? dtypeAllowed[0]!;
    return this.#costs?.home(bytes, allowed) ?? allowed[0]!;
  }

  /**
   * @internal The launches of a program took `measuredUs` on a device, where `predictedUs` were expected: launches and work, without
   * transfers.
   */
  observe(op: Operation, work: readonly WorkItem[], device: DeviceId, predictedUs: number, measuredUs: number): void {
    if (!(measuredUs > 0)) return;
    this.#stats.measured(op, device, predictedUs, measuredUs);
    if (this.#costs?.learnKernels(op, work, device, measuredUs)) this.#changed = true;
    if (this.#changed) this.#turn();
  }

  /**
   * @internal A call as a whole took `measuredUs`: from where its inputs were when `decision` was made to its result being where it was
   * wanted. This teaches transfers and waiting too, which `observe` cannot.
   */
  observeCall(decision: Decision, measuredUs: number): void {
    if (!(decision instanceof Costed) || !(measuredUs > 0)) return;
    const { request, device } = decision;
    const candidate = request.candidates.find((c) => c.device === device);
    if (!candidate) return;
    const predicted = decision.predictions.find((p) => p.device === device)?.us ?? 0;
    this.#stats.measured(request.op, device, predicted, measuredUs);
    if (this.#costs?.learnCall(request, candidate, measuredUs)) this.#changed = true;
    if (this.#changed) this.#turn();
  }

  /** Per operation type and device: count, predicted, measured, error. */
  stats(): RouteStats[] {
    return this.#stats.list();
  }

  /** µs routed so far by prediction, and how many of them exploring has cost. */
  exploration(): { readonly routedUs: number; readonly lostUs: number } {
    return this.#costs?.exploration ?? { routedUs: 0, lostUs: 0 };
  }

  /** @internal What measurements have taught, per device, to be kept. */
  learned(): Map<DeviceId, Learned> {
    return new Map(
      this.#devices.flatMap((id) => {
        const learned = this.#costs?.save(id);
        return learned ? [[id, learned]] : [];
      }),
    );
  }

  /** @internal */
  relearn(saved: ReadonlyMap<DeviceId, Learned>): void {
    for (const [id, learned] of saved) this.#costs?.load(id, learned);
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
    this.observe(type, work, device, this.#costs?.kernelTime(type, work, device) ?? 0, ms * 1000);
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
    const costs = mode === 'measured' ? this.#costs : null;
    if (costs && candidates.every((c) => costs.has(c.device)))
      return costs.decide(request, candidates, { explore, freeBytes, needBytes, fallback });
    return this.#byRules(request, candidates, fallback, freeBytes, needBytes);
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

  #turn(): void {
    const now = this.#clock();
    if (now - this.#lastEpoch < epochMs) return;
    this.#lastEpoch = now;
    this.#changed = false;
    this.epoch++;
  }
}

checkMethods(RuleRouter.prototype, routerSignatures, routingKinds);

const unavailable = (message: string, fix: string): DeviceUnavailable =>
  new DeviceUnavailable({ code: 'DEVICE_NOT_ROUTABLE', message: `routing: ${message}`, fix, where: 'routing' });
