// The calls of one turn: from one flush to the next.
//
// Programs do the same thing again and again: a prediction, a training step. As long as the calls of a turn are those of an earlier one
// (`steps.ts`), nothing is done for them: results are ids and shapes. At the end of the turn one compiled program computes what is
// still wanted, and no graph was built. The first call that differs, or whoever needs a tensor before the end, makes lazy tensors of what
// was put off, and the rest of the turn goes call by call; its calls are noted, so that the next turn of the kind is known.
//
// A turn that ends in a known way twice gets its program the second time. What is read before the end, and on a device that works
// beside the host the first layers of a network, is a program of its own, with which the rest begins (`parts.ts`).

import type { Tensor } from '../index.ts';
import type { ForgeBackend } from './backend.ts';
import { isNumeric } from './convert.ts';
import { beginEarlier, isWhole, neededAfter } from './parts.ts';
import { perform, program } from './perform.ts';
import type { Described, Ending, Needed, Program, Result, Step, StepTree } from './steps.ts';
import { Entry } from './store.ts';
import type { KernelInputs, TensorInfo } from './types.ts';

/** A turn that ended in the same way so often gets a program. */
const worthProgram = 2;

/** Turns of so few calls that are read at once are not put off again. */
const shortTurn = 3;

type Mode =
  /** All calls so far are known, and put off. */
  | 'follows'
  /** Calls are done one by one, and noted. */
  | 'learns'
  /** Calls are done one by one. */
  | 'rests';

/** Of the call that is looked at. */
const described: Described = { count: 0, names: [], infos: [], values: [], constants: [] };

export class Turn {
  readonly #backend: ForgeBackend;
  readonly #tree: StepTree;
  #mode: Mode = 'follows';
  #at: Step;
  /** The calls so far, as far as they are known. */
  readonly #steps: Step[] = [];
  /** The calls before this one are computed, as far as the rest of the turn is known to need it. */
  #from = 0;
  /** Everything that appeared, by its number in this turn. */
  readonly #values: Entry[] = [];
  /** The numbers of the tensors that programs begin with. */
  readonly #leaves: number[] = [];
  /** What was read before the end, and after how many calls. */
  readonly #reads: { readonly after: number; readonly value: number }[] = [];

  constructor(backend: ForgeBackend, tree: StepTree) {
    this.#backend = backend;
    this.#tree = tree;
    this.#at = tree.root;
  }

  /** Nothing happened yet. */
  get fresh(): boolean {
    return this.#mode === 'follows' && this.#values.length === 0 && this.#steps.length === 0;
  }

  /** The results of a call that is known at this point; null if it has to be done now. */
  follow(kernel: string, inputs: KernelInputs, attrs: unknown): TensorInfo | TensorInfo[] | null {
    if (this.#mode !== 'follows') return null;
    const step = this.#describe(inputs) ? this.#tree.find(this.#at, kernel, attrs, described) : null;
    if (step === null || step.readAtOnce) {
      this.build();
      if (step !== null) this.#mode = 'rests';
      return null;
    }
    this.#at = step;
    this.#steps.push(step);
    if (step.varies) this.#vary(step, inputs);
    const out = this.#putOff(step, inputs);
    const { needed } = step;
    // Its results may have been so many that the turn is over.
    if (needed !== null && needed.read === null && this.#mode === 'follows') this.#advance(needed);
    return out;
  }

  /** A call was done. `out`: its results; null if it cannot be done again from its inputs alone. */
  learn(kernel: string, inputs: KernelInputs, attrs: unknown, out: readonly TensorInfo[] | null, list: boolean): void {
    if (this.#mode !== 'learns') return;
    const comparable = out?.every(({ dtype }) => isNumeric(dtype)) === true && this.#describe(inputs);
    const step = out && comparable ? this.#noted(kernel, inputs, attrs, out, list) : null;
    if (step === null) this.#mode = 'rests';
    else {
      this.#at = step;
      this.#steps.push(step);
      if (step.varies) this.#vary(step, inputs);
    }
  }

  /** Numbers of a call that vary are inputs from here on. */
  #vary(step: Step, inputs: KernelInputs): void {
    for (const [name, { varies }] of Object.entries(step.inputs)) {
      const entry = this.#backend.entryOf(inputs[name]!.dataId);
      if (!varies || entry.varies || entry.constant === null) continue;
      entry.varies = true;
      if (this.#mode !== 'follows') continue;
      this.#backend.ready(entry, inputs[name]!.shape);
      this.#hold(entry.number);
    }
  }

  /** Lazy tensors for what was put off. */
  build(): void {
    if (this.#mode !== 'follows') return;
    const wanted = this.#wanted();
    if (wanted.length > 0) {
      const { session } = this.#backend;
      const values: Tensor[] = [];
      for (const n of this.#leaves) values[n] = this.#values[n]!.tensor!;
      const made = session.rt.scope(() => {
        perform(session, this.#steps, values);
        return wanted.map((n) => values[n]!);
      });
      this.#give(wanted, made);
    }
    this.#mode = 'learns';
    this.#release();
  }

  /** A result is read before the end: it gets its tensor, and with it what the rest of the turn needed the last time. */
  read(entry: Entry): void {
    if (entry.turn !== this || this.#mode === 'rests') return;
    const { needed } = this.#at;
    if (this.#mode === 'follows') {
      if (needed?.read === entry.number && this.#advance(needed)) return;
      this.#readAtOnce();
      this.build();
    }
    this.#reads.push({ after: this.#steps.length, value: entry.number });
  }

  #readAtOnce(): void {
    const [first] = this.#steps;
    if (!first || this.#steps.length > shortTurn) return;
    first.readAtOnce = true;
    this.#tree.readAtOnce.add(first.kernel);
  }

  /** The end: what was put off and is still wanted is computed, or becomes lazy tensors. */
  end(): void {
    if (this.#mode !== 'rests' && this.#steps.length > 0) {
      const wanted = this.#wanted();
      for (const { after, value } of this.#reads)
        this.#steps[after - 1]!.needed = { read: value, values: neededAfter(this.#steps, after, wanted, value) };
      if (wanted.length > 0 && this.#run(wanted, this.#from > 0)) {
        this.#mode = 'rests';
        this.#release();
      } else this.build();
    }
    this.#release();
    this.#values.length = 0;
    this.#steps.length = 0;
  }

  /** The backend is gone: nothing that was put off will be asked for. */
  abandon(): void {
    this.#mode = 'rests';
    this.#release();
  }

  /** Computes results before the end. The rest of the turn begins with them. */
  #advance({ values, read }: Needed): boolean {
    if (values.some((n) => this.#values[n]!.gone) || !this.#run(values, read === null)) return false;
    for (const n of values) this.#hold(n);
    this.#from = this.#steps.length;
    return true;
  }

  /** Computes results by a program, if there is one for them or it is time for one. `worth`: it is, the turn as a whole had one. */
  #run(wanted: readonly number[], worth: boolean): boolean {
    const ending = this.#at.ending(wanted, this.#from);
    ending.seen++;
    if (this.#mode !== 'follows' || (ending.seen < worthProgram && !worth)) return false;
    const { session } = this.#backend;
    try {
      const { leaves, run } = ending.program ?? this.#learnt(ending);
      this.#give(wanted, run(...leaves.map((n) => this.#values[n]!.tensor!)));
      session.repeated++;
      return true;
    } catch {
      // Call by call, whoever reads a value is told what is wrong.
      ending.program = null;
      return false;
    }
  }

  /** Gives an ending its program. */
  #learnt(ending: Ending): Program {
    const { wanted } = ending;
    const late = this.#steps.slice(this.#from);
    const leaves = [...this.#leaves];
    // Another turn with the same beginning may have computed other results than this one needs.
    const steps = isWhole(late, leaves, wanted) ? late : [...this.#steps];
    this.#tree.hasProgram(ending);
    if (this.#backend.session.beside && this.#from === 0) beginEarlier(this.#steps, wanted);
    return (ending.program = { leaves, run: program(this.#backend.session, steps, leaves, wanted) });
  }

  #give(wanted: readonly number[], made: readonly Tensor[]): void {
    for (let i = 0; i < wanted.length; i++) this.#values[wanted[i]!]!.tensor = made[i]!.keep();
  }

  /** The results that somebody still holds. Of a turn that follows, those that are not computed. */
  #wanted(): number[] {
    const follows = this.#mode === 'follows';
    const wanted: number[] = [];
    for (let i = 0; i < this.#steps.length; i++) {
      const { results } = this.#steps[i]!;
      for (let k = 0; k < results.length; k++) {
        const { of, value } = results[k]!;
        if (of !== null) continue;
        const { gone, tensor } = this.#values[value]!;
        if (!gone && !(follows && tensor !== null)) wanted.push(value);
      }
    }
    return wanted;
  }

  /** What the turn began with is not needed for it any more. */
  #release(): void {
    for (const n of this.#leaves) this.#backend.letGo(this.#values[n]!);
    this.#leaves.length = 0;
  }

  #putOff({ results, list }: Step, inputs: KernelInputs): TensorInfo | TensorInfo[] {
    const before = this.#values.length;
    let out: TensorInfo | TensorInfo[];
    if (list || results.length !== 1) {
      out = [];
      for (let i = 0; i < results.length; i++) out.push(this.#result(results[i]!, inputs));
    } else out = this.#result(results[0]!, inputs);
    this.#backend.pending.counted(this.#values.length - before);
    return out;
  }

  #result({ dtype, shape, of }: Result, inputs: KernelInputs): TensorInfo {
    if (of !== null) return this.#backend.share(inputs[of]!, shape);
    const entry = new Entry(dtype);
    this.#number(entry);
    const dataId = this.#backend.keep(entry);
    this.#backend.pending.wait(entry);
    // TF.js copies the shape.
    return { dataId, shape: shape as number[], dtype };
  }

  #noted(kernel: string, inputs: KernelInputs, attrs: unknown, out: readonly TensorInfo[], list: boolean): Step | null {
    const known = this.#tree.find(this.#at, kernel, attrs, described);
    const results: Result[] = [];
    for (const { dataId, dtype, shape } of out) {
      const of = Object.keys(inputs).find((name) => inputs[name]?.dataId === dataId) ?? null;
      const value = of === null ? this.#number(this.#backend.entryOf(dataId)) : -1;
      results.push({ dtype, shape: [...shape], of, value });
    }
    return known ?? this.#tree.add(this.#at, kernel, attrs, described, results, list);
  }

  /** Describes the inputs of a call; false if it cannot be compared with others. */
  #describe(inputs: KernelInputs): boolean {
    const { names, infos, values, constants } = described;
    let count = 0;
    for (const name in inputs) {
      const info = inputs[name];
      if (info === undefined || info === null) continue;
      if (Array.isArray(info) || !isNumeric(info.dtype)) return false;
      const entry = this.#backend.entryOf(info.dataId);
      if (entry.turn !== this) this.#begin(entry, info);
      names[count] = name;
      infos[count] = info;
      values[count] = entry.number;
      constants[count++] = entry.varies ? null : entry.constant;
    }
    described.count = count;
    return true;
  }

  /** A value from before the turn appears. Its tensor stays until the turn does not need it. */
  #begin(entry: Entry, info: TensorInfo): void {
    const isTensor = entry.constant === null || entry.varies;
    const tensor = isTensor && this.#mode === 'follows' ? this.#backend.ready(entry, info.shape) : null;
    const number = this.#number(entry);
    if (tensor !== null) this.#hold(number);
  }

  #hold(number: number): void {
    this.#values[number]!.holds++;
    this.#leaves.push(number);
  }

  #number(entry: Entry): number {
    entry.turn = this;
    return (entry.number = this.#values.push(entry) - 1);
  }
}
