// Recordings: many launches replayed with one call.
//
// Launches of our own kernels become nodes of a CUDA graph, one after the other; a replay with other buffers or scalars
// rewrites the arguments of the nodes that changed and launches the same graph again. A few copies of the graph are kept,
// because a step that swaps two buffers (`f = step(f)`), or a short loop that begins anew, would otherwise rewrite everything every
// time. One or two kernels are launched directly, which is cheaper than any graph. Launches of a library (cuBLAS) have arguments we cannot rewrite:
// they are captured once per set of buffers that comes back.

import type { Launch, Recording } from '../device.ts';
import type { CudaBuffer } from './buffer.ts';
import type { Driver } from './driver.ts';
import { Exchange } from './exchange.ts';
import type { CudaProgram } from './program.ts';
import { KernelStep, type Located, type StreamStep } from './step.ts';
import type { Stretch } from './stretches.ts';

export interface RecordingHost {
  readonly driver: Driver;
  readonly stream: number;
  /** Makes the compute stream wait for copies of these buffers that are under way. */
  settle(buffers: readonly Located[]): void;
  borrow(bytes: number): { readonly address: number; giveBack(): void };
  /** Pinned host memory, taken and given back. */
  readonly pinned: { take(bytes: number): Stretch; release(block: Stretch): void };
}

export function record(host: RecordingHost, launches: readonly Launch[]): Recording {
  const bytes = Math.max(0, ...launches.map((l) => (l.program as CudaProgram).borrowedBytes));
  const borrowed = bytes > 0 ? host.borrow(bytes) : { address: 0, giveBack: () => {} };
  const steps = launches.flatMap((l) => (l.program as CudaProgram).steps.map((step) => ({ step, launch: l })));
  const ours = steps.every(({ step }) => step instanceof KernelStep);
  const player = ours
    ? new NodePlayer(host, borrowed.address, () =>
        steps.map(({ step, launch }) => (step as KernelStep).renumbered(launch.buffers, launch.scalars)),
      )
    : new CapturePlayer(host, borrowed.address, steps);
  let live = true;
  let exchange: Exchange | null = null;
  const exchangeFor = (bindings: readonly CudaBuffer[], input: number, output: number): Exchange => {
    if (exchange?.serves(bindings, input, output)) return exchange;
    exchange?.close();
    exchange = null;
    exchange = new Exchange(
      {
        driver: host.driver,
        stream: host.stream,
        take: (size) => host.pinned.take(size),
        giveBack: (block) => host.pinned.release(block),
        launch: (buffers, scalars) => runAll(steps, host.stream, buffers, borrowed.address, scalars),
      },
      bindings,
      input,
      output,
    );
    return exchange;
  };
  return {
    replay: (bindings, scalars) => {
      const located = bindings as readonly unknown[] as readonly Located[];
      host.settle(located);
      player.play(located, scalars);
    },
    // A library may choose and allocate while it is captured: that is left to `CapturePlayer`.
    ...(ours && {
      exchange: (bindings, scalars, input, bytes, output) => {
        const located = bindings as readonly CudaBuffer[];
        host.settle(located);
        return exchangeFor(located, input, output).run(located, scalars, bytes);
      },
    }),
    dispose: () => {
      if (!live) return;
      live = false;
      player.close();
      exchange?.close();
      borrowed.giveBack();
    },
  };
}

type RecordedStep = { readonly step: StreamStep; readonly launch: Launch };

function runAll(
  steps: readonly RecordedStep[],
  stream: number,
  buffers: readonly Located[],
  borrowed: number,
  scalars: readonly number[],
): void {
  for (const { step, launch } of steps) {
    step.run(
      stream,
      launch.buffers.map((i) => buffers[i]!),
      borrowed,
      launch.scalars.map((i) => scalars[i]!),
    );
  }
}

interface Player {
  play(buffers: readonly Located[], scalars: readonly number[]): void;
  close(): void;
}

/** Copies of a graph: as many sets of buffers as may take turns without being told to the driver again. */
const mostVariants = 4;

/** Below this, launching the kernels one by one is faster. */
const graphPays = 3;

interface Variant {
  readonly nodes: readonly { readonly step: KernelStep; readonly handle: number; readonly params: number }[];
  readonly graph: number;
  readonly exec: number;
  readonly keep: readonly ArrayBuffer[];
  addresses: readonly number[];
}

class NodePlayer implements Player {
  readonly #host: RecordingHost;
  readonly #borrowed: number;
  readonly #make: () => KernelStep[];
  readonly #direct: KernelStep[] | null;
  /** Most recently used first. */
  readonly #variants: Variant[] = [];

  constructor(host: RecordingHost, borrowed: number, make: () => KernelStep[]) {
    this.#host = host;
    this.#borrowed = borrowed;
    this.#make = make;
    const steps = make();
    this.#direct = steps.length < graphPays ? steps : null;
  }

  play(buffers: readonly Located[], scalars: readonly number[]): void {
    const { driver, stream } = this.#host;
    if (this.#direct) {
      for (const step of this.#direct) step.run(stream, buffers, this.#borrowed, scalars);
      return;
    }
    const variant = this.#variantFor(buffers, scalars);
    for (const node of variant.nodes) {
      if (!node.step.bind(buffers, this.#borrowed, scalars)) continue;
      const code = driver.call.cuGraphExecKernelNodeSetParams(variant.exec, node.handle, node.params);
      if (code !== 0) throw driver.error(code, `new arguments for ${node.step.name} in a recording`);
    }
    const code = driver.call.cuGraphLaunch(variant.exec, stream);
    if (code !== 0) throw driver.error(code, `replay of ${variant.nodes.length} recorded launches`);
  }

  close(): void {
    const { call } = this.#host.driver;
    for (const v of this.#variants) {
      call.cuGraphExecDestroy(v.exec);
      call.cuGraphDestroy(v.graph);
    }
    this.#variants.length = 0;
  }

  #variantFor(buffers: readonly Located[], scalars: readonly number[]): Variant {
    const at = this.#variants.findIndex((v) => sameAddresses(v, buffers));
    if (at === 0) return this.#variants[0]!;
    const made = at < 0 && this.#variants.length < mostVariants ? this.#build(buffers, scalars) : null;
    // One that fits, or the one not used for longest.
    const variant = made ?? this.#variants.splice(at, 1)[0]!;
    if (at < 0) variant.addresses = buffers.map((b) => b.address);
    this.#variants.unshift(variant);
    return variant;
  }

  #build(buffers: readonly Located[], scalars: readonly number[]): Variant {
    const { driver } = this.#host;
    const { call, outAddress } = driver;
    driver.check(call.cuGraphCreate(outAddress, 0), 'cuGraphCreate');
    const graph = driver.u64();
    const keep: ArrayBuffer[] = [];
    const dependency = new BigUint64Array(new ArrayBuffer(8));
    const dependencyAddress = driver.ffi.address(dependency);
    const nodes = this.#make().map((step, i) => {
      step.bind(buffers, this.#borrowed, scalars);
      const block = nodeParams(step);
      keep.push(block);
      const params = driver.ffi.address(new Uint8Array(block));
      const code = call.cuGraphAddKernelNode(
        outAddress,
        graph,
        i === 0 ? 0 : dependencyAddress,
        i === 0 ? 0 : 1,
        params,
      );
      driver.check(code, `recording of ${step.name}`);
      const handle = driver.u64();
      dependency[0] = BigInt(handle);
      return { step, handle, params };
    });
    driver.check(call.cuGraphInstantiateWithFlags(outAddress, graph, 0), 'cuGraphInstantiate');
    return { nodes, graph, exec: driver.u64(), keep, addresses: buffers.map((b) => b.address) };
  }
}

const sameAddresses = (v: Variant, buffers: readonly Located[]): boolean =>
  v.addresses.every((a, i) => a === buffers[i]!.address);

/** CUDA_KERNEL_NODE_PARAMS, version 1: function, grid, block, shared bytes, kernelParams, extra. */
function nodeParams(step: KernelStep): ArrayBuffer {
  const block = new ArrayBuffer(56);
  const view = new DataView(block);
  view.setBigUint64(0, BigInt(step.fn), true);
  [...step.grid, ...step.block, step.shared].forEach((v, i) => {
    view.setUint32(8 + 4 * i, v, true);
  });
  view.setBigUint64(48, BigInt(step.extraAddress), true);
  return block;
}

const mostCaptures = 4;

class CapturePlayer implements Player {
  readonly #host: RecordingHost;
  readonly #borrowed: number;
  readonly #steps: readonly RecordedStep[];
  readonly #captures = new Map<string, { graph: number; exec: number } | null>();

  constructor(host: RecordingHost, borrowed: number, steps: readonly RecordedStep[]) {
    this.#host = host;
    this.#borrowed = borrowed;
    this.#steps = steps;
  }

  play(buffers: readonly Located[], scalars: readonly number[]): void {
    const { driver, stream } = this.#host;
    const key = `${buffers.map((b) => b.address).join()}/${scalars.join()}`;
    const known = this.#captures.get(key);
    if (known) {
      driver.check(driver.call.cuGraphLaunch(known.exec, stream), 'replay of a captured recording');
      return;
    }
    // The first time may still create handles and choose algorithms, which a capture does not allow.
    if (known === undefined || this.#full()) {
      if (this.#captures.size > 64) this.#forget();
      this.#captures.set(key, null);
      this.#run(stream, buffers, scalars);
      return;
    }
    const made = this.#capture(buffers, scalars);
    this.#captures.set(key, made);
    driver.check(driver.call.cuGraphLaunch(made.exec, stream), 'replay of a captured recording');
  }

  close(): void {
    const { call } = this.#host.driver;
    for (const c of this.#captures.values()) {
      if (!c) continue;
      call.cuGraphExecDestroy(c.exec);
      call.cuGraphDestroy(c.graph);
    }
    this.#captures.clear();
  }

  #full(): boolean {
    let n = 0;
    for (const c of this.#captures.values()) if (c) n++;
    return n >= mostCaptures;
  }

  #forget(): void {
    for (const [key, c] of this.#captures) if (!c) this.#captures.delete(key);
  }

  #run(stream: number, buffers: readonly Located[], scalars: readonly number[]): void {
    runAll(this.#steps, stream, buffers, this.#borrowed, scalars);
  }

  #capture(buffers: readonly Located[], scalars: readonly number[]): { graph: number; exec: number } {
    const { driver, stream } = this.#host;
    const { call, outAddress } = driver;
    const graph = driver.capture(stream, () => this.#run(stream, buffers, scalars));
    driver.check(call.cuGraphInstantiateWithFlags(outAddress, graph, 0), 'cuGraphInstantiate');
    return { graph, exec: driver.u64() };
  }
}
