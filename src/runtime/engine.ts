// Runs programs: finds the plan of a lazy graph and its place, brings its inputs there, launches its steps.
//
// A run is all or nothing: results are attached to their nodes only after every step was enqueued and every index check
// that can be read at once has passed; if anything throws on the way, what was allocated is released and no node changed.
// So a run that failed can be tried again, at the same place or another: `Attempts` says whether and where.

import type { DeviceBuffer, Program } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import type { Blame, Maybe, Work } from '../governor/recovery/attempt.ts';
import type { Recovery } from '../governor/recovery/recovery.ts';
import { type Node, noNodes } from '../graph/node.ts';
import { fits, gatheredNumbers, gatheredReach } from '../graph/outline.ts';
import type { LaunchStep } from '../graph/plan.ts';
import type { DeferredCheck } from '../graph/storage.ts';
import { type Trace, trace } from '../graph/trace.ts';
import { Checks, withInherited } from './checks.ts';
import type { Dispatch } from './dispatch.ts';
import { EagerPrograms } from './eager.ts';
import type { Emitter } from './events.ts';
import type { Executable } from './executable.ts';
import type { Feedback } from './feedback.ts';
import { type Issuing, nowhere } from './issuing.ts';
import type { Ledger } from './ledger.ts';
import type { Programs } from './programs.ts';
import { recipes } from './recipe.ts';
import { rerun } from './rerun.ts';
import { Residency } from './residency.ts';
import { Results, releaseMade } from './results.ts';
import { anywhere, type Want } from './want.ts';

/** What is computed by somebody who waits for it. */
interface LaterRun {
  readonly nodes: readonly Node[];
  readonly signal: AbortSignal | undefined;
}

export class Engine {
  readonly programs: Programs;
  readonly residency: Residency;
  readonly checks: Checks;
  readonly results: Results;
  readonly dispatch: Dispatch;
  readonly #events: Emitter;
  readonly #issuing: Issuing;
  readonly #ledger: Ledger;
  readonly #recovery: Recovery;
  readonly feedback: Feedback;
  readonly #eager = new EagerPrograms();
  /** The place of the work in progress: what throws, throws there. */
  #at: Place | null = null;
  /** An input whose memory the result of the next single launch may take over. */
  #donor: Node | null = null;
  /** What is being restored is for a run that asked this. */
  #restoring: Want = anywhere;

  constructor(
    programs: Programs,
    recovery: Recovery,
    feedback: Feedback,
    ledger: Ledger,
    events: Emitter,
    dispatch: Dispatch,
    issuing: Issuing,
  ) {
    this.programs = programs;
    this.#issuing = issuing;
    this.#events = events;
    this.dispatch = dispatch;
    this.checks = new Checks(recovery);
    this.residency = new Residency(recovery, events, this.dispatch);
    this.#recovery = recovery;
    this.feedback = feedback;
    this.#ledger = ledger;
    this.results = new Results(ledger.storages);
  }

  readonly #computing: Work<readonly Node[], Want, Executable | null> = {
    what: 'compute',
    run: (nodes, want) => this.#computeHeld(nodes, want),
    blame: (error) => this.#blamed(error),
  };

  readonly #computingLater: Work<LaterRun, Want, Maybe<Executable | null>> = {
    what: 'compute',
    run: ({ nodes, signal }, want) =>
      this.programs.awaits ? this.#computeFar(nodes, want, signal) : this.#computeHeld(nodes, want),
    blame: (error) => this.#blamed(error),
  };

  readonly #calling: Work<(want: Want) => unknown, Want, unknown> = {
    what: 'compute',
    run: (call, want) => {
      this.#events.hold();
      try {
        return call(want);
      } finally {
        this.#events.release();
      }
    },
    blame: (error) => this.#blamed(error),
  };

  /** Computes nodes, and enqueues whatever that takes. Throws if inputs are on a device that cannot be read synchronously. */
  compute(nodes: readonly Node[], want: Want = anywhere): Executable | null {
    return this.#recovery.attempts.run(this.#computing, nodes, this.#without(want));
  }

  /** As `compute`, for one node: a program that is known runs without being attempted, unless it fails. */
  computeOne(node: Node, want: Want = anywhere): Executable | null {
    let ran: Executable | null;
    try {
      ran = this.#known(node, want);
    } catch (error) {
      return this.#recovery.attempts.failed(this.#computing, [node], want, error);
    }
    return ran ?? this.compute([node], want);
  }

  /** Runs a small expression that is like the last of its kind, where nothing is lost or being restored; null elsewhere. */
  #known(node: Node, want: Want): Executable | null {
    if (node.storage !== null || this.#ledger.storages.lost > 0 || this.#restoring.excluded !== 0) return null;
    this.#events.hold();
    try {
      return this.#again(node, want);
    } finally {
      this.#events.release();
    }
  }

  /** As `compute`, waiting for inputs to come from devices that can only be read asynchronously. */
  computeAsync(nodes: readonly Node[], want: Want = anywhere, signal?: AbortSignal): Maybe<Executable | null> {
    return this.#recovery.attempts.runAsync(this.#computingLater, { nodes, signal }, want, signal);
  }

  /** Runs something until it succeeds or recovery gives up. */
  attempt<T>(want: Want, run: (want: Want) => T): T {
    return this.#recovery.attempts.run(this.#calling, run, this.#without(want)) as T;
  }

  /** A run for the sake of another one stays off the places that failed in that. */
  #without(want: Want): Want {
    const { excluded, unreadable, failed } = this.#restoring;
    if (excluded === 0) return want;
    return {
      ...want,
      excluded: want.excluded | excluded,
      unreadable: want.unreadable | unreadable,
      failed: want.failed ?? failed,
    };
  }

  /** Where something failed: in the making of a program, the reading of an input, or at the place of the last run. */
  #blamed(error: unknown): Blame {
    const read = this.residency.failedRead(error);
    const place = this.programs.preparing ?? read?.place ?? this.#at;
    this.programs.preparing = null;
    return { place, node: read?.node ?? null };
  }

  /** Changes when the router has learned something: placements are decided anew. */
  get epoch(): number {
    return this.feedback.epoch;
  }

  async #computeFar(nodes: readonly Node[], want: Want, signal: AbortSignal | undefined): Promise<Executable | null> {
    const far = this.#far(nodes, want);
    if (far) await Promise.all(far.leaves.map((leaf) => this.residency.bringAsync(leaf, far.place, signal)));
    return this.#computeHeld(nodes, far?.place.alive ? { ...want, pin: far.place } : want);
  }

  /** The place of a run and its inputs, if some of them have to be waited for. */
  #far(nodes: readonly Node[], want: Want): { readonly place: Place; readonly leaves: readonly Node[] } | null {
    this.#revive(nodes, want);
    const wanted = uncomputed(nodes);
    if (wanted.length === 0) return null;
    const t = trace(wanted);
    if (recipes.any && this.#restore(t.leaves, want)) return this.#far(nodes, want);
    if (!t.leaves.some(mustAwait)) return null;
    const { place } = this.programs.find(t, wanted, t.leaves, { ...want, awaits: true });
    this.#at = place;
    return { place, leaves: t.leaves };
  }

  /** Whoever listens is told of what this does afterwards. */
  #held<T>(run: () => T): T {
    this.#events.hold();
    try {
      return run();
    } finally {
      this.#events.release();
    }
  }

  #computeHeld(nodes: readonly Node[], want: Want): Executable | null {
    this.#events.hold();
    try {
      return this.#compute(nodes, want);
    } finally {
      this.#events.release();
    }
  }

  /** The program that was run, if any. */
  #compute(nodes: readonly Node[], want: Want): Executable | null {
    this.#revive(nodes, want);
    const wanted = uncomputed(nodes);
    if (wanted.length === 0) return null;
    const again = wanted.length === 1 ? this.#again(wanted[0]!, want) : null;
    if (again) return again;
    const t = trace(wanted);
    // It may have been asked for itself, and what restores it traces too.
    if (recipes.any && this.#restore(t.leaves, want)) return this.#compute(nodes, want);
    const { epoch } = this;
    const executable = this.programs.find(t, wanted, t.leaves, want);
    this.use(t.leaves, executable.place);
    let there = true;
    for (let i = 0; i < t.leaves.length; i++) {
      const { storage } = t.leaves[i]!;
      if (storage !== null && !storage.lent && storage.on(executable.place)) continue;
      there = false;
      this.residency.bring(t.leaves[i]!, executable.place);
    }
    this.dispatch.issuedIn = this.#issuing.of(t.nodes);
    // What was decided for inputs elsewhere is not said of inputs here.
    const eager = wanted.length === 1 && there ? this.#eager.traced(wanted[0]!, want, executable, epoch) : null;
    this.#run(executable, t, wanted, want.wanted === 'host');
    if (eager) this.#eager.remember(eager);
    return executable;
  }

  /** Brings back what was lost below nodes, and for that what was given up there. */
  #revive(nodes: readonly Node[], want: Want): void {
    if (this.#ledger.storages.lost === 0) return;
    this.#restoringFor(want, () => {
      if (recipes.any) recipes.restoreAll(nodes);
      if (this.#ledger.storages.lost > 0) this.#recovery.revive(nodes, (node) => this.compute([node]), want.unreadable);
    });
  }

  /** Computes again those inputs of a run that were given up; false if there is none. */
  #restore(leaves: readonly Node[], want: Want): boolean {
    return this.#restoringFor(want, () => recipes.restore(leaves));
  }

  #restoringFor<T>(want: Want, restore: () => T): T {
    const outer = this.#restoring;
    this.#restoring = want;
    try {
      return restore();
    } finally {
      this.#restoring = outer;
    }
  }

  /** A new run begins at a place: its inputs stay where they are until the next one. */
  use(leaves: readonly Node[], place: Place): void {
    this.#at = place;
    this.#recovery.begins(place);
    const now = ++this.#ledger.storages.now;
    for (let i = 0; i < leaves.length; i++) {
      const { storage } = leaves[i]!;
      storage?.use(now);
    }
  }

  /** Runs a small expression that is like the last of its kind; null if it is not. */
  #again(node: Node, want: Want): Executable | null {
    const known = this.#eager.find(node, want, this.feedback.epoch);
    if (known === null || (node.depth > 1 && this.#issuing.told)) return null;
    const { storages } = this.#ledger;
    const { executable } = known;
    const { place, plan, by } = executable;
    const buffers = new Array<DeviceBuffer | undefined>(plan.leaves + plan.made.length);
    if (!fits(known.outline, node, place, buffers, storages.now + 1)) return null;
    const scalars = gatheredNumbers();
    const reach = gatheredReach();
    storages.now++;
    executable.decision = known.decision;
    this.#at = place;
    this.dispatch.issuedIn = node.issuedIn ?? nowhere;
    this.launch(executable, buffers, scalars, want.wanted === 'host');
    this.#ledger.programHits++;
    this.results.attachOne(node, place, buffers[plan.outputs[0]!]!, reach, by);
    return executable;
  }

  /** Within `run`, the result of a single launch takes over the memory of an input that nobody else needs. */
  inPlace<T>(donor: Node, run: () => T): T {
    const outer = this.#donor;
    this.#donor = donor;
    try {
      return run();
    } finally {
      this.#donor = outer;
    }
  }

  /** What is launched next is issued by whoever calls now. */
  issues(): void {
    this.dispatch.issuedIn = this.#issuing.now();
  }

  /** The plan of nodes without running it. */
  plan(nodes: readonly Node[], want: Want = anywhere): Executable {
    return this.#held(() => {
      const t = trace(nodes);
      return this.programs.find(t, nodes, t.leaves, want);
    });
  }

  /**
   * Launches a plan. `buffers` holds its leaves; what is made is added behind them, and what the plan does not return is
   * released again. `whole`: it is part of a call whose time is taken from start to end.
   */
  launch(
    executable: Executable,
    buffers: (DeviceBuffer | undefined)[],
    scalars: readonly number[],
    whole = false,
  ): (DeviceBuffer | undefined)[] {
    const sample = this.feedback.begin(executable, whole);
    if (executable.inOrder && this.#donor === null && scalars.length === executable.plan.steps[0]!.scalars.length)
      this.#launchInOrder(executable, buffers, scalars);
    else this.#launchSteps(executable, buffers, scalars);
    if (sample) this.feedback.end(executable, sample);
    return buffers;
  }

  #launchSteps(executable: Executable, buffers: (DeviceBuffer | undefined)[], scalars: readonly number[]): void {
    const { plan, place, programs } = executable;
    const { steps } = plan;
    const donor = this.#donor;
    const given = donor === null ? -1 : takenOver(donor, executable, buffers);
    try {
      for (let i = 0; i < steps.length; i++) {
        const step = steps[i]!;
        this.#step(executable, step, programs[i]!, buffers, scalars, given >= 0 ? given : step.reuse);
      }
    } catch (e) {
      // The donor's own buffer is not ours to release.
      if (given >= 0) buffers[plan.leaves] = undefined;
      releaseMade(place, buffers, plan.leaves);
      throw e;
    }
    if (given >= 0) donor!.storage!.dropCopy(place, true);
  }

  /** A plan of one launch that takes everything as it comes. */
  #launchInOrder(
    { place, plan, programs, id }: Executable,
    buffers: (DeviceBuffer | undefined)[],
    scalars: readonly number[],
  ): void {
    const made = place.allocate(plan.made[0]!.bytes);
    buffers[plan.leaves] = made;
    try {
      this.dispatch.launch(place, programs[0]!, buffers as DeviceBuffer[], scalars, plan.steps[0]!.fused.estimate, id);
    } catch (e) {
      place.release(made);
      throw e;
    }
  }

  #step(
    { place, plan, id: number }: Executable,
    step: LaunchStep,
    program: Program,
    buffers: (DeviceBuffer | undefined)[],
    scalars: readonly number[],
    reuse: number,
  ): void {
    const ids = step.buffers;
    const bound = new Array<DeviceBuffer>(ids.length);
    for (let k = 0; k < ids.length; k++) {
      const id = ids[k]!;
      if (k >= ids.length - step.outputs) {
        if (reuse >= 0) {
          buffers[id] = buffers[reuse];
          buffers[reuse] = undefined;
        } else {
          buffers[id] = place.allocate(plan.made[id - plan.leaves]!.bytes);
        }
      }
      // A reused input is bound before its buffer passes to the output: inputs come first.
      bound[k] = buffers[id]!;
    }
    const values = step.scalars.length === 0 ? none : valuesOf(step.scalars, scalars);
    this.dispatch.launch(place, program, bound, values, step.fused.estimate, number);
    for (let k = 0; k < step.frees.length; k++) {
      const id = step.frees[k]!;
      place.release(buffers[id]!);
      buffers[id] = undefined;
    }
  }

  #run(executable: Executable, t: Trace, outputs: readonly Node[], whole: boolean): void {
    const { plan, place, by } = executable;
    const { leaves } = t;
    const buffers = new Array<DeviceBuffer | undefined>(plan.leaves + plan.made.length);
    let reach = 0;
    let checked = t.checks.length > 0;
    for (let i = 0; i < leaves.length; i++) {
      const leaf = leaves[i]!;
      const storage = leaf.storage!;
      buffers[i] = storage.on(place);
      if (leaf.reach > reach) reach = leaf.reach;
      if (storage.checks) checked = true;
    }
    this.launch(executable, buffers, t.scalars, whole);
    const checks = checked ? this.#checksOf(t, executable, buffers, outputs.length) : null;
    const first = plan.outputs[0]!;
    if (outputs.length === 1 && plan.kept.length === 0 && checks === null && first >= plan.leaves) {
      this.results.attachOne(outputs[0]!, place, buffers[first]!, reach, by, rerun(executable, t, this));
      return;
    }
    const nodes = [...outputs];
    const ids = plan.outputs.slice(0, outputs.length);
    const results = plan.kept.length > 0 ? new Set(nodes) : null;
    for (const { number, buffer } of plan.kept) {
      const node = t.nodes[number]!;
      // Only tensors keep: a node below may be let go of as soon as the results are attached.
      if (node.handles === 0 || node.storage || results!.has(node)) continue;
      results!.add(node);
      nodes.push(node);
      ids.push(buffer);
    }
    this.results.attach({ place, leaves, buffers, checks, by }, nodes, ids, { reach, call: null });
    if (nodes.length === outputs.length) return;
    for (let i = outputs.length; i < nodes.length; i++) nodes[i]!.storage!.spare = executable.entry.spares;
    this.programs.keptSpares(executable);
  }

  /** What must hold before the results of a run may be handed out: its own checks, and those of its inputs. */
  #checksOf(
    t: Trace,
    executable: Executable,
    buffers: (DeviceBuffer | undefined)[],
    outputs: number,
  ): readonly DeferredCheck[] | null {
    const { place, plan } = executable;
    const undo = (): void => releaseMade(place, buffers, plan.leaves);
    const own = t.checks.length > 0 ? this.checks.read(t, executable, buffers, outputs, undo) : null;
    // Values that were found in range are not checked again: they never change.
    if (own?.length === 0) for (const { indices, size } of t.checks) if (indices.storage) indices.storage.below = size;
    return withInherited(own, t.leaves);
  }
}

const none: readonly number[] = [];

function valuesOf(slots: readonly number[], scalars: readonly number[]): readonly number[] {
  const values = new Array<number>(slots.length);
  for (let i = 0; i < slots.length; i++) values[i] = scalars[slots[i]!]!;
  return values;
}

/** Those that have no bytes yet, each once: what is asked for twice is attached once. */
function uncomputed(nodes: readonly Node[]): readonly Node[] {
  if (nodes.length === 1) return nodes[0]!.storage ? noNodes : nodes;
  return [...new Set(nodes)].filter((n) => !n.storage);
}

/** Whether a leaf can only be brought elsewhere by waiting for its device. */
const mustAwait = ({ storage }: Node): boolean =>
  storage !== null && !storage.host && !storage.places.some((p) => p.caps.syncRead);

/**
 * The input of a plan of one launch whose bytes may become its only result: the kernel reads them element by element, and one
 * tensor holds them, here and nowhere else. -1 if there is none.
 */
function takenOver(donor: Node, { plan, place }: Executable, buffers: readonly (DeviceBuffer | undefined)[]): number {
  const { storage } = donor;
  const [step] = plan.steps;
  if (!storage || !step || plan.steps.length > 1 || step.outputs !== 1 || step.work.kind !== 'kernel') return -1;
  const buffer = storage.on(place);
  if (!buffer || buffer.collected || storage.owners > 1 || donor.handles > 1 || donor.uses > 0) return -1;
  if (storage.places.length > 1 || storage.host || storage.lent || storage.pin || storage.checks) return -1;
  if (plan.made[0]!.bytes !== buffer.bytes || plan.outputs.some((b) => b < plan.leaves)) return -1;
  const slot = step.work.inPlace.find((s) => buffers[step.buffers[s]!] === buffer);
  // The same bytes as another input, too: that one would read what was written.
  const twice = buffers.slice(0, plan.leaves).filter((b) => b === buffer).length > 1;
  return slot === undefined || twice ? -1 : step.buffers[slot]!;
}
