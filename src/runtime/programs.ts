// Finds the program of a lazy graph, or makes it, and the place it runs at.
//
// One entry per program key. Where it runs is decided once per pattern of "which inputs are where" and remembered with the
// entry, until the router says that it has learned something (`epoch`) or the device in the place was replaced.

import { dtypeInfo } from '../base/dtype.ts';
import type { Program } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { ArgumentError, DeviceLost, DeviceUnavailable, DTypeError, OutOfMemory } from '../errors.ts';
import { type Asked, asked } from '../governor/recovery/attempt.ts';
import type { Router } from '../governor/routing/router.ts';
import {
  type Candidate,
  type Decision,
  type OperationType,
  operationTypes,
  type RouteRequest,
  type WorkItem,
} from '../governor/routing/types.ts';
import { operationOf, workOf } from '../governor/routing/work.ts';
import type { Node } from '../graph/node.ts';
import { makePlan, type Plan } from '../graph/plan.ts';
import type { MadeBy, Storage } from '../graph/storage.ts';
import { KeyedCache, type Trace } from '../graph/trace.ts';
import type { Kernel, Routine } from '../kernel/kernel.ts';
import type { Emitter } from './events.ts';
import type { Ledger } from './ledger.ts';

/** A plan made ready for the device at a place. */
export interface Executable {
  /** Its number among the events of the runtime. */
  readonly id: number;
  readonly plan: Plan;
  readonly place: Place;
  readonly generation: number;
  readonly programs: readonly Program[];
  /** Its kernels, as what they make remembers them. */
  readonly by: MadeBy;
  /** What it is, for the router's books; null while there is only one place. */
  readonly entry: Entry;
  /** What the router said, if it was asked. */
  decision: Decision | null;
  /** Times it ran; the router measures some of them. */
  runs: number;
}

interface Entry {
  /** Per place. */
  readonly plans: (Plan | undefined)[];
  readonly executables: (Executable | undefined)[];
  /** By the pattern of where the inputs are. */
  readonly choices: Map<
    number,
    { readonly executable: Executable; readonly epoch: number; readonly decision: Decision | null }
  >;
  work: readonly WorkItem[] | null;
}

/** What the caller asks of the place. */
export interface Want extends Asked {
  /** Only places whose results can be read synchronously, from inputs that can be read synchronously. */
  readonly sync: boolean;
  /** Inputs may be awaited. */
  readonly awaits: boolean;
  /** Where the result goes next: to the host, or nobody knows. */
  readonly wanted: 'host' | null;
  /** What the caller says the work is, for the router's books; null if nothing was said. */
  readonly op: OperationType | null;
}

export const anywhere: Want = {
  sync: false,
  awaits: false,
  wanted: null,
  op: null,
  ...asked,
};

/** Programs kept: those used last, and at most as many again. */
const maxPrograms = 2048;

/** How likely a place is to do its work well: 1 if nothing speaks against it, more if it is short of memory or failed lately. */
export interface Conditions {
  penalty(place: Place): number;
  /** Whether work may be sent there at all. */
  allows(place: Place): boolean;
}

export class Programs {
  readonly #places: readonly Place[];
  readonly #awaits: boolean;
  readonly #cache = new KeyedCache<Entry>(maxPrograms);
  /** What devices have prepared before. */
  readonly #known = new WeakSet<Program>();
  readonly #router: Router | null;
  readonly #conditions: Conditions;
  readonly #ledger: Ledger;
  readonly #events: Emitter;

  constructor(
    places: readonly Place[],
    router: Router | null,
    conditions: Conditions,
    ledger: Ledger,
    events: Emitter,
  ) {
    this.#places = places;
    this.#awaits = places.length > 1 && places.some((p) => !p.caps.syncRead);
    this.#router = router;
    this.#conditions = conditions;
    this.#ledger = ledger;
    this.#events = events;
  }

  /** The place a program is being made for; stays when that fails, until the next one is. */
  preparing: Place | null = null;

  /** Whether inputs may have to be waited for: there is a choice of places, and one of them cannot be read at once. */
  get awaits(): boolean {
    return this.#awaits;
  }

  /** Programs in the cache. */
  get size(): number {
    return this.#cache.size;
  }

  /** The program of a trace. `leaves` are its inputs, in order: those of the trace, or the arguments they stand for. */
  find(t: Trace, outputs: readonly Node[], leaves: readonly Node[], want: Want): Executable {
    let entry = this.#cache.get(t.key, t.length);
    if (!entry) {
      entry = { plans: [], executables: [], choices: new Map(), work: null };
      this.#cache.set(t.key, t.length, entry);
    }
    if (this.#places.length === 1) {
      const known = entry.executables[0];
      if (known && known.generation === known.place.generation && known.place.alive) {
        this.#ledger.programHits++;
        return known;
      }
    }
    const pattern = locations(leaves, want);
    const epoch = this.#router?.epoch ?? 0;
    const choice = entry.choices.get(pattern);
    if (choice && choice.epoch === epoch && usable(choice.executable)) {
      this.#ledger.programHits++;
      // One program serves all patterns; how long it takes depends on this one.
      if (choice.decision) choice.executable.decision = choice.decision;
      return choice.executable;
    }
    const { place, decision } = this.#choose(entry, t, outputs, leaves, want);
    const executable = this.#executable(entry, t, outputs, place);
    // Without a choice there is nothing new to say: what was decided before is what its times are compared with.
    if (decision) executable.decision = decision;
    // A try is made once, not for ever.
    if (!decision?.explored) entry.choices.set(pattern, { executable, epoch, decision });
    return executable;
  }

  /** What the router is told about a program, and the places it could run at. */
  request(t: Trace, outputs: readonly Node[], leaves: readonly Node[], want: Want): RouteRequest {
    const entry: Entry = { plans: [], executables: [], choices: new Map(), work: null };
    return this.#request(entry, t, outputs, leaves, want, this.#candidates(t, leaves, want));
  }

  /** The place new data goes to. */
  home(dtypes: number, bytes: number, { pin, prefer, excluded }: Pick<Want, 'pin' | 'prefer' | 'excluded'>): Place {
    const places = this.#places;
    if (pin) {
      if (!pin.alive || (dtypes & ~pin.dtypes) !== 0) throw pinnedAway(pin, dtypes);
      return pin;
    }
    if (prefer?.alive && (excluded & prefer.bit) === 0 && (dtypes & ~prefer.dtypes) === 0) return prefer;
    if (excluded === 0 && places.length === 1 && (dtypes & ~places[0]!.dtypes) === 0 && places[0]!.alive)
      return places[0]!;
    const able = places.filter(
      (p) =>
        p.alive &&
        (excluded & p.bit) === 0 &&
        (dtypes & ~p.dtypes) === 0 &&
        bytes <= p.caps.maxBufferBytes &&
        p.inUse + bytes <= p.budget &&
        this.#conditions.allows(p),
    );
    if (able.length === 0) {
      const fallback = places.find((p) => p.alive && (excluded & p.bit) === 0 && (dtypes & ~p.dtypes) === 0);
      if (fallback) return fallback;
      throw this.#noPlace(dtypes);
    }
    if (able.length === 1 || !this.#router) return able[0]!;
    const id = this.#router.home(
      bytes,
      able.map((p) => p.id),
    );
    return able.find((p) => p.id === id)!;
  }

  #choose(
    entry: Entry,
    t: Trace,
    outputs: readonly Node[],
    leaves: readonly Node[],
    want: Want,
  ): { place: Place; decision: Decision | null } {
    const candidates = this.#candidates(t, leaves, want);
    if (candidates.length === 1 || !this.#router) return { place: candidates[0]!, decision: null };
    const decision = this.#router.decide(this.#request(entry, t, outputs, leaves, want, candidates));
    const place = candidates.find((p) => p.id === decision.device)!;
    if (this.#events.has('route')) this.#events.emit('route', { op: operationOf(entry.work!, want.op), ...decision });
    return { place, decision };
  }

  #request(
    entry: Entry,
    t: Trace,
    outputs: readonly Node[],
    leaves: readonly Node[],
    want: Want,
    candidates: readonly Place[],
  ): RouteRequest {
    const plan = this.#plan(entry, t, outputs, candidates[0]!);
    entry.work ??= workOf(plan.steps.map((s) => s.fused));
    const { work } = entry;
    const results = new Set(plan.outputs.filter((b) => b >= plan.leaves));
    return {
      op: operationOf(work, want.op),
      candidates: candidates.map(
        (p): Candidate => ({
          device: p.id,
          work,
          penalty: this.#conditions.penalty(p),
          memory: memoryFor(plan, leaves, p),
        }),
      ),
      inputs: leaves.map(({ storage }) => ({ bytes: storage?.bytes ?? 0, at: whereabouts(storage) })),
      outputBytes: [...results].reduce((sum, b) => sum + plan.made[b - plan.leaves]!.bytes, 0),
      wanted: want.wanted,
    };
  }

  /** The places that can run it: at least one, or an error that says why there is none. */
  #candidates(t: Trace, leaves: readonly Node[], want: Want): readonly Place[] {
    const able = this.#places.filter(
      (p) =>
        p.alive &&
        (t.dtypes & ~p.dtypes) === 0 &&
        (want.excluded & p.bit) === 0 &&
        (!want.sync || p.caps.syncRead) &&
        (want.awaits || reachable(leaves, p)),
    );
    const pin = want.pin ?? pinOf(leaves);
    if (pin) {
      if (able.includes(pin)) return [pin];
      if ((want.excluded & pin.bit) !== 0) throw want.failed;
      throw pinnedAway(pin, t.dtypes, want, leaves);
    }
    if (want.prefer && able.includes(want.prefer)) return [want.prefer];
    const allowed = able.filter((p) => this.#conditions.allows(p));
    if (allowed.length > 0) return allowed;
    if (able.length > 0) return able;
    // Those that are left cannot do it: the error that ruled the others out is the one to know.
    if (want.excluded !== 0) throw want.failed;
    throw this.#noPlace(t.dtypes, want, leaves);
  }

  #executable(entry: Entry, t: Trace, outputs: readonly Node[], place: Place): Executable {
    const known = entry.executables[place.index];
    if (known && known.generation === place.generation) {
      this.#ledger.programHits++;
      return known;
    }
    const start = performance.now();
    const plan = this.#plan(entry, t, outputs, place);
    checkSizes(plan, place);
    const { id, programs } = this.#prepare(
      plan.steps.map((s) => s.work),
      place,
      start,
    );
    const { generation } = place;
    const by = { name: null, steps: plan.steps };
    const executable: Executable = { id, plan, place, generation, programs, by, entry, decision: null, runs: 0 };
    entry.executables[place.index] = executable;
    return executable;
  }

  /** A kernel made ready by itself, without a plan. */
  prepare(work: Kernel | Routine, place: Place): { readonly id: number; readonly program: Program } {
    const { id, programs } = this.#prepare([work], place, performance.now());
    return { id, program: programs[0]! };
  }

  /** Kernels made ready as one program that was begun at `start`. */
  #prepare(
    works: readonly (Kernel | Routine)[],
    place: Place,
    start: number,
  ): { readonly id: number; readonly programs: readonly Program[] } {
    this.preparing = place;
    const programs = works.map((w) => place.device.prepare(w));
    this.preparing = null;
    this.#ledger.programs++;
    const id = this.#events.nextId();
    if (this.#events.has('compile')) {
      const kernels = programs.map((p) => p.name);
      const cached = programs.every((p) => p.cached || this.#known.has(p));
      const ms = performance.now() - start;
      this.#events.emit('compile', { id, kernels, device: place.id, start, ms, cached });
    }
    for (const p of programs) this.#known.add(p);
    return { id, programs };
  }

  #plan(entry: Entry, t: Trace, outputs: readonly Node[], place: Place): Plan {
    const known = entry.plans[place.index];
    if (known) return known;
    const plan = makePlan(t, [...outputs, ...t.checks.map((c) => c.bad)], place.caps);
    entry.plans[place.index] = plan;
    return plan;
  }

  #noPlace(dtypes: number, want: Want = anywhere, leaves: readonly Node[] = []): Error {
    const fitting = this.#places.filter((p) => (dtypes & ~p.dtypes) === 0);
    const [first] = this.#places;
    if (fitting.length === 0) {
      const missing = Object.entries(dtypeInfo)
        .filter(([, info]) => dtypes & (1 << info.id) && !(first!.dtypes & (1 << info.id)))
        .map(([name]) => name);
      return new DTypeError({
        code: 'DTYPE_NOT_ON_DEVICE',
        message: `${first!.id} has no ${missing.join(', ')}, and no other device is open that has all dtypes of this computation`,
        fix: "Cast to a dtype the device has (such as 'f32' or 'i32'), or open the CPU device too.",
        where: first!.id,
      });
    }
    const alive = fitting.filter((p) => p.alive);
    if (alive.length === 0) {
      return new DeviceLost({
        code: 'DEVICE_LOST',
        message: `${fitting.map((p) => p.id).join(', ')} was lost, and no other device is open that could do the work`,
        fix: "Open the CPU device too (devices: ['cuda', 'webgpu', 'cpu']), or wait until the device is back.",
        where: fitting[0]!.id,
      });
    }
    if (want.sync && !alive.some((p) => p.caps.syncRead)) return asyncOnly(alive[0]!.id);
    const able = alive.filter((p) => !want.sync || p.caps.syncRead);
    return (able[0] && unreadable(able[0], leaves)) ?? needsAsync(alive[0]!.id, 'the host');
  }
}

const usable = (e: Executable): boolean => e.generation === e.place.generation && e.place.alive;

/** Where the inputs are and what is asked, as one number. Two patterns may share a number: that costs time, not truth. */
function locations(leaves: readonly Node[], want: Want): number {
  let h = want.excluded * 8 + (want.sync ? 1 : 0) + (want.awaits ? 2 : 0) + (want.wanted ? 4 : 0);
  h = Math.imul(h, 31) + (want.pin?.bit ?? 0) + ((want.prefer?.bit ?? 0) << 8);
  if (want.op) h = Math.imul(h, 31) + 1 + operationTypes.indexOf(want.op);
  for (let i = 0; i < leaves.length; i++) {
    const s = leaves[i]!.storage;
    h = Math.imul(h, 31) + (s ? s.mask + (s.pin ? s.pin.bit << 8 : 0) : 0);
  }
  return h | 0;
}

function whereabouts(storage: Storage | null): readonly string[] {
  if (!storage) return [];
  const at = storage.places.map((p) => p.id);
  return storage.host && at.length > 0 ? [...at, 'host'] : at;
}

/** Whether all inputs are at the place or can be brought there without waiting. */
function reachable(leaves: readonly Node[], place: Place): boolean {
  for (let i = 0; i < leaves.length; i++) {
    const s = leaves[i]!.storage;
    if (!s || (s.mask & place.bit) !== 0 || s.host) continue;
    if (!s.places.some((p) => p.caps.syncRead)) return false;
  }
  return true;
}

/** The place the inputs are pinned to, if any. */
function pinOf(leaves: readonly Node[]): Place | null {
  let pin: Place | null = null;
  for (const { storage } of leaves) {
    if (!storage?.pin) continue;
    if (pin && storage.pin !== pin) {
      throw new ArgumentError({
        code: 'PINNED_APART',
        message: `inputs of one computation are pinned to different devices: ${pin.id} and ${storage.pin.id}`,
        fix: 'Move one of them with tensor.to(device), or compute inside rt.scope({ device }, …).',
        where: 'routing',
      });
    }
    pin = storage.pin;
  }
  return pin;
}

/** Work that needs less fits in any case, or finds room: asking the device would take longer than most of it. */
const smallBytes = 1 << 20;

/** What a program needs at a place that has memory of its own: inputs that are not there yet, temporaries and results. */
function memoryFor(plan: Plan, leaves: readonly Node[], place: Place): Candidate['memory'] {
  if (place.caps.host) return undefined;
  let needBytes = 0;
  for (const { bytes } of plan.made) needBytes += bytes;
  for (const { storage } of leaves) if (storage && (storage.mask & place.bit) === 0) needBytes += storage.bytes;
  if (needBytes < smallBytes) return undefined;
  return { needBytes, freeBytes: place.free() };
}

function pinnedAway(pin: Place, dtypes: number, want: Want = anywhere, leaves: readonly Node[] = []): Error {
  if (!pin.alive) return lostPin(pin);
  const missing = Object.entries(dtypeInfo)
    .filter(([, info]) => dtypes & (1 << info.id) && !(pin.dtypes & (1 << info.id)))
    .map(([name]) => name);
  if (missing.length > 0) {
    return new DTypeError({
      code: 'DTYPE_NOT_ON_DEVICE',
      message: `the computation is pinned to ${pin.id}, which has no ${missing.join(', ')}`,
      fix: 'Cast to a dtype the device has, or pin it to another device.',
      where: pin.id,
    });
  }
  return unreadable(pin, leaves) ?? needsAsync(pin.id, want.sync ? 'the host' : 'another device');
}

/** Which input cannot be brought to a place at once, if there is one. */
function unreadable(to: Place, leaves: readonly Node[]): DeviceUnavailable | null {
  const far = leaves.find((l) => !reachable([l], to));
  return far ? needsAsync(far.storage?.place?.id ?? 'another device', to.id) : null;
}

export const lostPin = (pin: Place): DeviceLost =>
  new DeviceLost({
    code: 'DEVICE_LOST',
    message: `the computation is pinned to ${pin.id}, which was lost`,
    fix: 'Pin it to another device, or wait until the device is back.',
    where: pin.id,
  });

function needsAsync(from: string, to: string): DeviceUnavailable {
  return new DeviceUnavailable({
    code: 'NEEDS_ASYNC',
    message: `data on ${from} is needed on ${to}, and ${from} cannot be read synchronously`,
    fix: 'Use `await tensor.data()` instead of the synchronous form.',
    where: to,
  });
}

export function asyncOnly(device: string): DeviceUnavailable {
  return new DeviceUnavailable({
    code: 'NO_SYNC_READ',
    message: `${device} cannot be read synchronously`,
    fix: 'Use `await tensor.data()`.',
    where: device,
  });
}

function checkSizes(plan: Plan, place: Place): void {
  for (const { bytes } of plan.made) {
    if (bytes <= place.caps.maxBufferBytes) continue;
    throw new OutOfMemory({
      code: 'BUFFER_TOO_LARGE',
      message: `${place.id}: a result of ${bytes} bytes is larger than one buffer can be (${place.caps.maxBufferBytes} bytes)`,
      fix: 'Process the data in parts, or use a device with larger buffers.',
      where: place.id,
      requested: bytes,
      available: place.caps.maxBufferBytes,
    });
  }
}
