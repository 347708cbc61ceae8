// Finds the program of a lazy graph, or makes it, and the place it runs at.
//
// One entry per program key. Where it runs is decided once per pattern of "which inputs are where" and remembered with the
// entry, until the router says that it has learned something (`epoch`) or the device in the place was replaced.

import type { Program } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { Router } from '../governor/routing/router.ts';
import type { RouteRequest } from '../governor/routing/types.ts';
import { KeyedCache } from '../graph/keyed-cache.ts';
import type { Node } from '../graph/node.ts';
import type { Patterns } from '../graph/patterns.ts';
import { makePlan, type Plan } from '../graph/plan.ts';
import type { Trace } from '../graph/trace.ts';
import type { Kernel, Routine } from '../kernel/kernel.ts';
import type { Emitter } from './events.ts';
import { type Entry, type Executable, isInOrder, newEntry, usable } from './executable.ts';
import type { Ledger } from './ledger.ts';
import { type Conditions, type Placed, Placement } from './placement.ts';
import { checkSizes } from './placement-errors.ts';
import type { Want } from './want.ts';
import { locations } from './whereabouts.ts';

/** Programs kept: those used last, and at most as many again. */
const maxPrograms = 2048;
/** Runs after which it is known whether values that a program keeps are used. */
const trialRuns = 3;
/** How many bytes are worth asking. On the host all are: few of them are computed again sooner than they are attached to a tensor. */
const manyBytes = ({ caps }: Place): number => (caps.host ? 0 : 1 << 20);

export class Programs {
  readonly #places: readonly Place[];
  readonly #awaits: boolean;
  readonly #cache = new KeyedCache<Entry>(maxPrograms);
  /** What devices have prepared before. */
  readonly #known = new WeakSet<Program>();
  readonly #router: Router | null;
  readonly #placement: Placement;
  readonly #ledger: Ledger;
  readonly #events: Emitter;
  readonly #patterns: Patterns | null;

  constructor(
    places: readonly Place[],
    router: Router | null,
    conditions: Conditions,
    ledger: Ledger,
    events: Emitter,
    patterns: Patterns | null,
  ) {
    this.#places = places;
    this.#awaits = places.length > 1 && places.some((p) => !p.caps.syncRead);
    this.#router = router;
    this.#placement = new Placement(places, router, conditions, events);
    this.#ledger = ledger;
    this.#events = events;
    this.#patterns = patterns;
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
      entry = newEntry();
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
    const { place, decision } = this.#placement.choose(this.#placed(entry, t, outputs, leaves), want);
    const executable = this.#executable(entry, t, outputs, place);
    // Without a choice there is nothing new to say: what was decided before is what its times are compared with.
    if (decision) executable.decision = decision;
    // A try is made once, not for ever.
    if (!decision?.explored) entry.choices.set(pattern, { executable, epoch, decision });
    return executable;
  }

  /** What the router is told about a program, and the places it could run at. */
  request(t: Trace, outputs: readonly Node[], leaves: readonly Node[], want: Want): RouteRequest {
    return this.#placement.request(this.#placed(newEntry(), t, outputs, leaves), want);
  }

  /** The place new data goes to. */
  home(dtypes: number, bytes: number, want: Pick<Want, 'pin' | 'prefer' | 'excluded'>): Place {
    return this.#placement.home(dtypes, bytes, want);
  }

  #placed(entry: Entry, t: Trace, outputs: readonly Node[], leaves: readonly Node[]): Placed {
    return { entry, trace: t, leaves, plan: (place) => this.#plan(entry, t, outputs, place) };
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
    const inOrder = isInOrder(plan);
    const executable: Executable = {
      id,
      plan,
      place,
      generation,
      programs,
      inOrder,
      by,
      entry,
      decision: null,
      runs: 0,
    };
    entry.executables[place.index] = executable;
    return executable;
  }

  /**
   * A program has kept values that nobody asked for. Steps of an expression are held until they are collected, and nobody knows whether
   * they are temporaries: if the program's next runs find that none of them was used, it is planned anew without them, so that a product
   * and what follows it are one step again and memory does not fill with what nobody reads.
   */
  keptSpares({ plan, place, entry }: Executable): void {
    const { spares } = entry;
    const bytes = plan.kept.reduce((n, k) => n + plan.made[k.buffer - plan.leaves]!.bytes, 0);
    if (spares.used || bytes < manyBytes(place)) return;
    if (++spares.runs < trialRuns) return;
    spares.dropped = true;
    entry.plans.length = 0;
    entry.executables.length = 0;
    entry.choices.clear();
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
    const asked = [...outputs, ...t.checks.map((c) => c.bad)];
    const plan = makePlan(t, asked, place.caps, this.#patterns, !entry.spares.dropped);
    entry.plans[place.index] = plan;
    return plan;
  }
}
