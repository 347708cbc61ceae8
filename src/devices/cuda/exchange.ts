// Upload, recorded launches and download as one CUDA graph: one call enqueues all of it, one wait ends it.
//
// The bytes travel through pinned memory of the recording's own, which the graph's copies have the addresses of. A graph is captured for
// each set of addresses that comes back (a loop that swaps two states has two). Each exchange is waited for, so that nothing is under
// way when the pinned memory is filled again.

import type { Driver } from './driver.ts';
import type { Located } from './step.ts';
import type { Stretch } from './stretches.ts';

export interface ExchangeHost {
  readonly driver: Driver;
  readonly stream: number;
  take(bytes: number): Stretch;
  giveBack(block: Stretch): void;
  /** Enqueues the launches. */
  launch(bindings: readonly Located[], scalars: readonly number[]): void;
}

interface Sized extends Located {
  readonly bytes: number;
}

interface Captured {
  readonly addresses: readonly number[];
  readonly scalars: readonly number[];
  readonly graph: number;
  readonly exec: number;
}

/** Sets of addresses that are remembered; more would mean that they do not come back. */
const mostCaptured = 4;
const align = 256;

export class Exchange {
  readonly #driver: Driver;
  readonly #host: ExchangeHost;
  readonly #input: number;
  readonly #output: number;
  readonly #block: Stretch;
  readonly #up: Uint8Array;
  readonly #down: Uint8Array;
  readonly #downAddress: number;
  /** Last used first. */
  readonly #captured: Captured[] = [];

  constructor(host: ExchangeHost, bindings: readonly Sized[], input: number, output: number) {
    this.#host = host;
    this.#driver = host.driver;
    this.#input = input;
    this.#output = output;
    const up = bindings[input]!.bytes;
    const down = bindings[output]!.bytes;
    const at = Math.ceil(up / align) * align;
    this.#block = host.take(at + down);
    const memory = this.#driver.ffi.view(this.#block.address, at + down);
    this.#up = new Uint8Array(memory, 0, up);
    this.#down = new Uint8Array(memory, at, down);
    this.#downAddress = this.#block.address + at;
  }

  /** Whether it was made for these. */
  serves(bindings: readonly Sized[], input: number, output: number): boolean {
    return (
      input === this.#input &&
      output === this.#output &&
      bindings[input]!.bytes === this.#up.length &&
      bindings[output]!.bytes === this.#down.length
    );
  }

  run(bindings: readonly Sized[], scalars: readonly number[], bytes: Uint8Array): Uint8Array {
    const { call } = this.#driver;
    const { stream } = this.#host;
    const { exec } = this.#find(bindings, scalars);
    this.#up.set(bytes);
    let code = call.cuGraphLaunch(exec, stream);
    if (code !== 0) throw this.#driver.error(code, 'an exchange with the device');
    code = call.cuStreamSynchronize(stream);
    if (code !== 0) throw this.#driver.error(code, 'an exchange with the device');
    return this.#down;
  }

  close(): void {
    for (const captured of this.#captured.splice(0)) this.#destroy(captured);
    this.#host.giveBack(this.#block);
  }

  #find(bindings: readonly Sized[], scalars: readonly number[]): Captured {
    const list = this.#captured;
    for (let i = 0; i < list.length; i++) {
      const known = list[i]!;
      if (!sameAddresses(known.addresses, bindings) || !sameNumbers(known.scalars, scalars)) continue;
      return known;
    }
    if (list.length >= mostCaptured) this.#destroy(list.pop()!);
    const made = this.#capture(bindings, scalars);
    list.unshift(made);
    return made;
  }

  #capture(bindings: readonly Sized[], scalars: readonly number[]): Captured {
    const driver = this.#driver;
    const { call, outAddress } = driver;
    const { stream } = this.#host;
    const { length } = this.#up;
    const graph = driver.capture(stream, () => {
      const from = this.#block.address;
      driver.check(
        call.cuMemcpyHtoDAsync_v2(bindings[this.#input]!.address, from, length, stream),
        'recording an upload',
      );
      this.#host.launch(bindings, scalars);
      const source = bindings[this.#output]!.address;
      driver.check(
        call.cuMemcpyDtoHAsync_v2(this.#downAddress, source, this.#down.length, stream),
        'recording a download',
      );
    });
    driver.check(call.cuGraphInstantiateWithFlags(outAddress, graph, 0), 'cuGraphInstantiate');
    return { addresses: bindings.map((b) => b.address), scalars: [...scalars], graph, exec: driver.u64() };
  }

  #destroy({ exec, graph }: Captured): void {
    this.#driver.call.cuGraphExecDestroy(exec);
    this.#driver.call.cuGraphDestroy(graph);
  }
}

function sameAddresses(addresses: readonly number[], bindings: readonly Located[]): boolean {
  for (let i = 0; i < addresses.length; i++) if (addresses[i] !== bindings[i]!.address) return false;
  return true;
}

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}
