// Which places can run a program or take new data; the router chooses where there are several.

import type { Place } from '../devices/place.ts';
import type { Router } from '../governor/routing/router.ts';
import type { Candidate, Decision, RouteRequest } from '../governor/routing/types.ts';
import { operationOf, workOf } from '../governor/routing/work.ts';
import type { Node } from '../graph/node.ts';
import type { Plan } from '../graph/plan.ts';
import type { Trace } from '../graph/trace.ts';
import type { Emitter } from './events.ts';
import type { Entry } from './executable.ts';
import { noPlace, pinnedAway } from './placement-errors.ts';
import type { Want } from './want.ts';
import { pinOf, reachable, whereabouts } from './whereabouts.ts';

/** How likely a place is to do its work well: 1 if nothing speaks against it, more if it is short of memory or failed lately. */
export interface Conditions {
  penalty(place: Place): number;
  /** Whether work may be sent there at all. */
  allows(place: Place): boolean;
}

/** A program that looks for a place. */
export interface Placed {
  readonly entry: Entry;
  readonly trace: Trace;
  /** Its inputs, in order. */
  readonly leaves: readonly Node[];
  /** Its plan at a place. */
  plan(place: Place): Plan;
}

export class Placement {
  readonly #places: readonly Place[];
  readonly #router: Router | null;
  readonly #conditions: Conditions;
  readonly #events: Emitter;

  constructor(places: readonly Place[], router: Router | null, conditions: Conditions, events: Emitter) {
    this.#places = places;
    this.#router = router;
    this.#conditions = conditions;
    this.#events = events;
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
      throw noPlace(places, dtypes);
    }
    if (able.length === 1 || !this.#router) return able[0]!;
    const id = this.#router.home(
      bytes,
      able.map((p) => p.id),
    );
    return able.find((p) => p.id === id)!;
  }

  /** The place a program runs at, and what the router said if it was asked. */
  choose(program: Placed, want: Want): { place: Place; decision: Decision | null } {
    const candidates = this.#candidates(program.trace, program.leaves, want);
    if (candidates.length === 1 || !this.#router) return { place: candidates[0]!, decision: null };
    const decision = this.#router.decide(this.#request(program, want, candidates));
    const place = candidates.find((p) => p.id === decision.device)!;
    if (this.#events.has('route'))
      this.#events.emit('route', { op: operationOf(program.entry.work!, want.op), ...decision });
    return { place, decision };
  }

  /** What the router is told about a program, and the places it could run at. */
  request(program: Placed, want: Want): RouteRequest {
    return this.#request(program, want, this.#candidates(program.trace, program.leaves, want));
  }

  #request({ entry, leaves, plan: planAt }: Placed, want: Want, candidates: readonly Place[]): RouteRequest {
    const plan = planAt(candidates[0]!);
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
      throw pinnedAway(pin, t.dtypes, want, leaves, t.nodes);
    }
    if (want.prefer && able.includes(want.prefer)) return [want.prefer];
    const allowed = able.filter((p) => this.#conditions.allows(p));
    if (allowed.length > 0) return allowed;
    if (able.length > 0) return able;
    // Those that are left cannot do it: the error that ruled the others out is the one to know.
    if (want.excluded !== 0) throw want.failed;
    throw noPlace(this.#places, t.dtypes, want, leaves, t.nodes);
  }
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
