// Who may call a field when, and what every call ends with: calls wait for their turn, none is taken after the end, and a cycle that was
// done is saved if that is due and told to those who listen.

import { type DeviceId, DisposedError, EventBus, type Runtime } from '../index.ts';
import type { Autosave } from './autosave.ts';
import { FieldBody } from './body.ts';
import type { FieldEvents, FieldInput } from './events.ts';
import { encodeSnapshot, writeFile } from './file.ts';
import { type CheckedInput, checkInput } from './input.ts';
import type { ResolvedField } from './options.ts';
import type { StepResult } from './result.ts';
import { takeSnapshot } from './saved.ts';
import { Turn } from './turns.ts';

export class FieldCalls {
  readonly body: FieldBody;
  /** The device is read without waiting for a turn of the event loop. */
  readonly sync: boolean;
  readonly turn = new Turn();
  readonly events = new EventBus<FieldEvents>(['cycle', 'tick', 'settings', 'error'], 'field.on');
  autosave: Autosave | null = null;
  #ended: Promise<void> | null = null;

  constructor(rt: Runtime, device: DeviceId, options: ResolvedField) {
    this.sync = rt.device(device).caps.syncRead;
    this.body = new FieldBody(rt, device, options);
  }

  get ended(): boolean {
    return this.#ended !== null;
  }

  /** Refuses a call after the end. */
  check(where: string): void {
    if (!this.ended) return;
    throw new DisposedError({
      code: 'DISPOSED',
      message: `${where}: the field was disposed`,
      fix: 'Make a new field.',
      where,
    });
  }

  /** Does some work when it is its turn. */
  async next<T>(where: string, work: () => T | Promise<T>): Promise<T> {
    while (this.turn.running) await this.turn.running;
    this.check(where);
    return work();
  }

  /** An input as the next cycle takes it. */
  checked(input: FieldInput, where: string): CheckedInput {
    return checkInput(input, this.body.options.shape, where, this.body.input);
  }

  /** A cycle was done. */
  done({ sensors }: CheckedInput, result: StepResult): StepResult {
    this.autosave?.noted(this.body.carried.cycle);
    if (this.events.heard.cycle)
      this.events.emit('cycle', { sensors: sensors.slice(), motors: result.motors, state: result.state });
    return result;
  }

  /** Writes a snapshot to a file, when it is its turn: the last time at the end, when no other call is taken any more. */
  async write(file: string): Promise<void> {
    while (this.turn.running) await this.turn.running;
    await writeFile(file, encodeSnapshot(await takeSnapshot(this.body)));
  }

  /** Frees everything, after the call that runs; `last` comes behind. */
  end(last: () => Promise<void>): Promise<void> {
    this.#ended ??= this.#end(last);
    return this.#ended;
  }

  async #end(last: () => Promise<void>): Promise<void> {
    while (this.turn.running) await this.turn.running;
    await this.autosave?.end(this.body.carried.cycle);
    this.autosave = null;
    this.body.dispose();
    await last();
  }
}
