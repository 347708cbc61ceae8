// Fields that run together: their tensors stacked along a first axis, so that one launch serves all of them. A field that runs
// alone is a stack of one.
//
// A cycle makes new tensors and leaves the old ones until what came of it was read and looked at: a cycle that fails changes
// nothing.

import type { DeviceId, Runtime, Tensor } from '../index.ts';
import { type Store, withAttractors } from './full/attractors.ts';
import type { CycleProgram, StateTensors } from './program.ts';

export interface Transfers {
  up: number;
  down: number;
}

export class Stack {
  readonly rows: number;
  /** Fields that still live here; the tensors go with the last one. */
  #members: number;
  #state: StateTensors;
  readonly #keys: Tensor;
  readonly #rt: Runtime;
  readonly #device: DeviceId;
  #disposed = false;

  constructor(rt: Runtime, device: DeviceId, state: StateTensors, keys: Tensor) {
    this.#rt = rt;
    this.#device = device;
    this.#state = state;
    this.#keys = keys;
    this.rows = keys.shape[0]!;
    this.#members = this.rows;
  }

  get state(): StateTensors {
    return this.#state;
  }

  get keys(): Tensor {
    return this.#keys;
  }

  /** Enqueues a cycle; the tensors that it changes. They count only once `accept` is called. */
  launch(program: CycleProgram, input: Float32Array, transfers: Transfers, stores: readonly Store[]): StateTensors {
    return this.#rt.scope({ device: this.#device }, () => {
      const given = this.#rt.tensor(input, [this.rows, input.length / this.rows]);
      transfers.up++;
      const attractors = stores.length > 0 ? withAttractors(this.#rt, this.#state, stores) : null;
      const state = attractors ? { ...this.#state, attractors } : this.#state;
      // A cycle may return what it needs stored on the way; it ends with this scope.
      const { diffused: _, ...made } = program(state, given, this.#keys);
      return attractors ? { ...made, attractors } : made;
    });
  }

  /** The record of all rows, without a promise. */
  readSync(next: StateTensors, transfers: Transfers): Float32Array {
    transfers.down++;
    return next.tail!.dataSync() as Float32Array;
  }

  async read(next: StateTensors, transfers: Transfers): Promise<Float32Array> {
    transfers.down++;
    return (await next.tail!.data()) as Float32Array;
  }

  accept(next: StateTensors): void {
    for (const name of Object.keys(next)) this.#state[name]?.dispose();
    this.#state = { ...this.#state, ...next };
  }

  reject(next: StateTensors): void {
    disposeAll(next);
  }

  /** The tensors of one row, as a stack of its own. */
  take(row: number): Stack {
    const part = (t: Tensor): Tensor => t.slice([[row, row + 1]]).compute();
    return this.#rt.scope({ device: this.#device }, () => {
      const state = Object.fromEntries(Object.entries(this.#state).map(([name, t]) => [name, part(t).keep()]));
      return new Stack(this.#rt, this.#device, state, part(this.#keys).keep());
    });
  }

  /** Rows of several stacks, one below the other. */
  static join(rt: Runtime, device: DeviceId, parts: readonly { readonly stack: Stack; readonly row: number }[]): Stack {
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
        rt,
        device,
        state,
        rows((s) => s.keys),
      );
    });
  }

  /** One field less lives here. */
  leave(): void {
    if (--this.#members > 0 || this.#disposed) return;
    this.#disposed = true;
    disposeAll(this.#state);
    this.#keys.dispose();
  }
}

function disposeAll(state: StateTensors): void {
  for (const t of Object.values(state)) t.dispose();
}
