// rt.rawKernel: a kernel in a device's own language, for those who need it.
//
// One source per language; the kernel runs on the fastest open device that has one of them. Conventions: PTX takes one 64-bit
// pointer per input, then per output, then the scalars as 64-bit words; WGSL binds inputs, outputs and a uniform of scalars
// in group 0. Results are computed at once: what the kernel does to memory outside its outputs is its own affair.

import { byteSize, type DType } from '../base/dtype.ts';
import { checkShape, type Shape, sizeOf } from '../base/shape.ts';
import { checked } from '../base/signatures.ts';
import type { DeviceBuffer, Program } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { ArgumentError, DeviceUnavailable } from '../errors.ts';
import { internInts, noInts } from '../graph/intern.ts';
import { Node } from '../graph/node.ts';
import type { RawKernel } from '../kernel/kernel.ts';
import { nodeOf } from '../tensor/core.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Engine } from './engine.ts';
import type { RuntimeHost } from './host.ts';
import { releaseMade } from './results.ts';
import { runtimeKinds } from './signatures.ts';
import { anywhere, type Want } from './want.ts';

export type RawLanguage = RawKernel['language'];

/** What a kernel writes. */
export interface RawOutput {
  readonly dtype: DType;
  readonly shape: Shape;
}

export interface RawOptions {
  readonly name?: string | undefined;
  /** Source text per language: `{ ptx, wgsl }`. */
  readonly sources: Readonly<Partial<Record<RawLanguage, string>>>;
  readonly entry: string;
  /** What is written, from what is read. */
  readonly outputs: (...inputs: readonly Tensor[]) => readonly RawOutput[];
  /** Workgroups (WebGPU) or blocks (CUDA), from the inputs. */
  readonly grid: (...inputs: readonly Tensor[]) => readonly [number, number?, number?];
  /** Threads per block; WGSL states its own. Default 256. */
  readonly block?: readonly [number, number?, number?] | undefined;
  /** Types of the scalars that follow the tensors in a call. */
  readonly scalars?: readonly DType[] | undefined;
}

/** Shapes that a kernel is kept ready for. */
const mostPrepared = 256;

type RawCall = (inputs: readonly Tensor[], scalars?: readonly number[]) => Tensor[];

export function rawKernel(engine: Engine, host: RuntimeHost, places: readonly Place[], options: RawOptions): RawCall {
  const languages = Object.keys(options.sources) as RawLanguage[];
  const name = options.name ?? options.entry;
  if (languages.length === 0) throw noSource(name);
  const prepared = new Map<string, { readonly id: number; readonly program: Program; readonly generation: number }>();

  const place = (want: Want): Place => {
    const able = places.filter((p) => p.alive && p.caps.raw && languages.includes(p.caps.raw));
    const left = able.filter((p) => (want.pin ? want.pin === p : (want.excluded & p.bit) === 0));
    const found = left.find((p) => p === want.prefer) ?? left[0];
    if (found) return found;
    throw nowhere(name, languages, places);
  };

  /** One run; its results are nodes that remember it, so that a lost device takes them for good only with their inputs. */
  const run = (kernel: RawKernelOf, nodes: readonly Node[], scalars: readonly number[]): Node[] =>
    engine.attempt(host.want(anywhere), (want) => {
      const at = place(want);
      const lazy = nodes.filter((n) => !n.storage || n.storage.lost);
      if (lazy.length > 0) engine.compute(lazy);
      engine.use(nodes, at);
      const bound = nodes.map((n) => engine.residency.bring(n, at));
      const work = kernel(at.caps.raw!);
      const key = `${at.index} ${[...work.inputs, ...work.outputs].map((b) => `${b.type}${b.elements}`)} ${work.grid}`;
      let known = prepared.get(key);
      if (known?.generation !== at.generation) {
        known = { ...engine.programs.prepare(work, at), generation: at.generation };
        if (prepared.size >= mostPrepared) prepared.delete(prepared.keys().next().value!);
        prepared.set(key, known);
      }
      const buffers: DeviceBuffer[] = [...bound];
      try {
        for (const o of work.outputs) buffers.push(at.allocate(o.elements * byteSize(o.type)));
        engine.issues();
        engine.dispatch.launch(at, known.program, buffers, scalars, work.estimate, known.id);
      } catch (e) {
        releaseMade(at, buffers, bound.length);
        throw e;
      }
      const by = { name: null, steps: [{ fused: work }] };
      const made = kernel.outputs.map(({ dtype, shape }) => new Node('leaf', dtype, internInts(shape), [], noInts));
      const ids = made.map((_, i) => bound.length + i);
      const reach = nodes.reduce((most, n) => Math.max(most, n.reach), 0);
      const call = { inputs: nodes, run: (again: readonly Node[]) => run(kernel, again, scalars) };
      engine.results.attach({ place: at, leaves: nodes, buffers, checks: null, by }, made, ids, { reach, call });
      return made;
    });

  const call = (inputs: readonly Tensor[], scalars: readonly number[] = []): Tensor[] => {
    host.checkOpen('rawKernel');
    const nodes = inputs.map((t) => nodeOf(t, host, name));
    const outputs = options.outputs(...inputs);
    for (const o of outputs) checkShape(o.shape, name);
    const grid = triple(options.grid(...inputs));
    const reads = inputs.map(({ dtype, shape }) => ({ dtype, shape }));
    const kernel = Object.assign((language: RawLanguage) => describe(name, language, options, reads, outputs, grid), {
      outputs,
    });
    return run(kernel, nodes, [...scalars]).map((node) => new Tensor(host, node));
  };
  return checked(name, 'inputs:tensor[] scalars:numbers?', call, runtimeKinds);
}

/** A kernel of known inputs and outputs, in the language of whoever runs it. */
interface RawKernelOf {
  (language: RawLanguage): RawKernel;
  readonly outputs: readonly RawOutput[];
}

function describe(
  name: string,
  language: RawLanguage,
  options: RawOptions,
  inputs: readonly RawOutput[],
  outputs: readonly RawOutput[],
  grid: readonly [number, number, number],
): RawKernel {
  const buffer = (type: DType, shape: Shape) => ({ type, elements: sizeOf(shape) });
  const reads = inputs.map((t) => buffer(t.dtype, t.shape));
  const writes = outputs.map((o) => buffer(o.dtype, o.shape));
  const bytes = (list: readonly { type: DType; elements: number }[]): number =>
    list.reduce((sum, b) => sum + b.elements * byteSize(b.type), 0);
  return {
    kind: 'routine',
    op: 'raw',
    name,
    language,
    source: options.sources[language]!,
    entry: options.entry,
    inputs: reads,
    outputs: writes,
    scalars: options.scalars ?? [],
    grid,
    block: triple(options.block ?? [256]),
    estimate: { flops: 0, bytesRead: bytes(reads), bytesWritten: bytes(writes) },
  };
}

const triple = ([x, y = 1, z = 1]: readonly [number, number?, number?]): [number, number, number] => [x, y, z];

function noSource(name: string): ArgumentError {
  return new ArgumentError({
    code: 'NO_SOURCE',
    message: `rawKernel ${name}: there is no source`,
    fix: 'Give sources: { ptx: …, wgsl: … }, at least one of them.',
    where: 'rawKernel',
  });
}

function nowhere(name: string, languages: readonly string[], places: readonly Place[]): DeviceUnavailable {
  const open = places.map((p) => `${p.id} takes ${p.caps.raw ?? 'none'}`).join(', ');
  return new DeviceUnavailable({
    code: 'NO_DEVICE_FOR_LANGUAGE',
    message: `rawKernel ${name}: no open device runs ${languages.join(' or ')} (${open})`,
    fix: 'Give a source in a language that an open device takes, or write it with rt.kernel, which runs anywhere.',
    where: 'rawKernel',
  });
}
