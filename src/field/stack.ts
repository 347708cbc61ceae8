// Fields that run together: their tensors stacked along a first axis, so that one launch serves all of them. A field that runs
// alone is a stack of one.
//
// The state stays on the device, in a stepper. What a cycle makes counts only once it was read, looked at and accepted: a cycle that fails
// changes nothing.

import { createStepper, type DeviceId, type Runtime, type Stepper, type Tensor } from '../index.ts';
import { type Store, withAttractors } from './full/attractors.ts';
import type { CycleProgram, StateTensors } from './program.ts';

export interface Transfers {
  up: number;
  down: number;
}

/** What all stacks of a kind of field have in common. */
export interface StackKind {
  readonly rt: Runtime;
  readonly device: DeviceId;
  readonly program: CycleProgram;
  /** Values that a cycle of one field is given. */
  readonly inputLength: number;
}

/** What a cycle is given beside its input: contents to be kept, and tensors that take the place of others. */
export interface CycleExtras {
  readonly stores: readonly Store[];
  readonly tensors: StateTensors;
}

export class Stack {
  readonly rows: number;
  readonly #kind: StackKind;
  readonly #stepper: Stepper;
  readonly #keys: Tensor;
  /** The last record of all rows, and its part for each: mostly the same arrays every time. */
  #records: { readonly tail: Float32Array; readonly rows: readonly Float32Array[] } | null = null;
  /** What a cycle is given, filled anew for each. */
  readonly input: Float32Array;
  /** Fields that still live here; the tensors go with the last one. */
  #members: number;

  /** Takes the tensors over. */
  constructor(kind: StackKind, state: StateTensors, keys: Tensor) {
    this.#kind = kind;
    this.#keys = keys;
    this.rows = keys.shape[0]!;
    this.#members = this.rows;
    this.input = new Float32Array(this.rows * kind.inputLength);
    this.#stepper = createStepper(kind.rt, kind.program, {
      state,
      fixed: [keys],
      input: { shape: [this.rows, kind.inputLength] },
      reads: 'tail',
      device: kind.device,
    });
  }

  get state(): StateTensors {
    return this.#stepper.state;
  }

  get keys(): Tensor {
    return this.#keys;
  }

  /** What the last cycle made, until it is accepted. */
  get made(): StateTensors {
    return this.#stepper.pending ?? this.#stepper.state;
  }

  /** One cycle of all rows on `input`: the record of each, good until the next one. Without a promise, where the device can. */
  cycleSync(extras: CycleExtras, transfers: Transfers): Float32Array {
    transfers.up++;
    transfers.down++;
    return this.#stepper.runSync(this.input, this.#replaced(extras)) as Float32Array;
  }

  async cycle(extras: CycleExtras, transfers: Transfers): Promise<Float32Array> {
    transfers.up++;
    transfers.down++;
    return (await this.#stepper.run(this.input, this.#replaced(extras))) as Float32Array;
  }

  /** The records of the rows, from those of all. */
  recordsOf(tail: Float32Array): readonly Float32Array[] {
    if (this.#records?.tail === tail) return this.#records.rows;
    const length = tail.length / this.rows;
    const rows = Array.from({ length: this.rows }, (_, row) => tail.subarray(row * length, (row + 1) * length));
    this.#records = { tail, rows };
    return rows;
  }

  /** What the last cycle made is the state from now on. */
  accept(): void {
    this.#stepper.accept();
  }

  reject(): void {
    this.#stepper.drop();
  }

  /** The tensors of one row, as a stack of its own. */
  take(row: number): Stack {
    const part = (t: Tensor): Tensor => t.slice([[row, row + 1]]).compute();
    const { rt, device } = this.#kind;
    return rt.scope({ device }, () => {
      const state = Object.fromEntries(Object.entries(this.state).map(([name, t]) => [name, part(t).keep()]));
      return new Stack(this.#kind, state, part(this.#keys).keep());
    });
  }

  /** Rows of several stacks, one below the other. */
  static join(parts: readonly { readonly stack: Stack; readonly row: number }[]): Stack {
    const kind = parts[0]!.stack.#kind;
    const { rt, device } = kind;
    return rt.scope({ device }, () => {
      // A tensor that a field lacks has one row for all of them.
      const part = (t: Tensor, row: number): Tensor =>
        t.slice([[Math.min(row, t.shape[0]! - 1), Math.min(row, t.shape[0]! - 1) + 1]]);
      const rows = (pick: (stack: Stack) => Tensor): Tensor =>
        rt
          .concat(parts.map(({ stack, row }) => part(pick(stack), row)))
          .compute()
          .keep();
      const like = parts.find(({ stack }) => stack.state.attractors)?.stack ?? parts[0]!.stack;
      const empty = (name: string): Tensor => rt.zeros([1, ...like.state[name]!.shape.slice(1)]);
      const names = Object.keys(like.state);
      const state = Object.fromEntries(names.map((name) => [name, rows((s) => s.state[name] ?? empty(name))]));
      return new Stack(
        kind,
        state,
        rows((s) => s.keys),
      );
    });
  }

  /** One field less lives here. */
  leave(): void {
    if (--this.#members > 0) return;
    this.#stepper.dispose();
    this.#keys.dispose();
  }

  #replaced({ stores, tensors }: CycleExtras): StateTensors {
    if (stores.length === 0) return tensors;
    const { rt, device } = this.#kind;
    const attractors = rt.scope({ device }, () => withAttractors(rt, this.state, stores).keep());
    return { ...tensors, attractors };
  }
}
