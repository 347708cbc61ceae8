// Runs programs: finds or makes the plan of a lazy graph, brings its inputs to the device, launches its steps.
//
// A run is all or nothing: results are attached to their nodes only after every step was enqueued and every index check
// that can be read at once has passed; if anything throws on the way, what was allocated is released and no node changed.

import { type DType, dtypeInfo } from '../base/dtype.ts';
import type { Device, DeviceBuffer, Program } from '../devices/device.ts';
import { DeviceUnavailable, DTypeError, ForgeError, IndexError, OutOfMemory } from '../errors.ts';
import type { Ints } from '../graph/intern.ts';
import { type Node, settle } from '../graph/node.ts';
import { makePlan, type Plan, type Step } from '../graph/plan.ts';
import { type DeferredCheck, Storage } from '../graph/storage.ts';
import { KeyedCache, type Trace, trace } from '../graph/trace.ts';
import type { Emitter } from './events.ts';
import type { Ledger } from './ledger.ts';
import { recipes } from './recipe.ts';

/** A plan made ready for a device. */
export interface Executable {
  readonly plan: Plan;
  readonly device: Device;
  readonly programs: readonly Program[];
}

interface DeviceState {
  readonly device: Device;
  /** One bit per dtype the device has, by dtype id. */
  readonly dtypes: number;
  readonly cache: KeyedCache<Executable>;
}

/** A program of one op on computed operands. */
interface EagerProgram {
  readonly code: number;
  readonly shape: Ints;
  readonly shapes: readonly Ints[];
  readonly dtypes: readonly DType[];
  /** Both operands are one and the same. */
  readonly twice: boolean;
  readonly executable: Executable;
}

/** Programs kept per device; the oldest half goes when there are more. */
const maxPrograms = 4096;

export class Engine {
  readonly #states: readonly DeviceState[];
  readonly #ledger: Ledger;
  readonly #events: Emitter;
  readonly #deferred = new Set<DeferredCheck>();
  /** By the op's argument: the last program of its kind. */
  readonly #eager: EagerProgram[] = [];

  constructor(devices: readonly Device[], ledger: Ledger, events: Emitter) {
    this.#ledger = ledger;
    this.#events = events;
    this.#states = devices.map((device) => {
      let dtypes = 0;
      for (const t of device.caps.dtypes) dtypes |= 1 << dtypeInfo[t].id;
      return { device, dtypes, cache: new KeyedCache<Executable>() };
    });
  }

  /** The device new data goes to: the first that has its dtype. */
  home(dtypes: number): Device {
    return this.#stateFor(dtypes).device;
  }

  /** Computes nodes, and enqueues whatever that takes. Throws if inputs are on a device that cannot be read synchronously. */
  compute(nodes: readonly Node[]): void {
    if (recipes.any) recipes.restoreAll(nodes);
    const wanted = nodes.length === 1 && !nodes[0]!.storage ? nodes : nodes.filter((n) => !n.storage);
    if (wanted.length === 0) return;
    if (wanted.length === 1 && this.#again(wanted[0]!)) return;
    const sources = wanted[0]!.sources;
    const t = trace(wanted);
    const executable = this.#executable(t, wanted);
    for (const leaf of t.leaves) this.#bring(leaf, executable.device);
    this.#run(executable, t, wanted);
    if (wanted.length === 1) this.#remember(wanted[0]!, sources, executable);
  }

  /**
   * The eager path: a single op on computed operands, like the last one of its kind, runs without being traced.
   * Whether it is like that one is decided by the same things the key of a trace holds.
   */
  #again(node: Node): boolean {
    const last = node.op === 'alu' ? this.#eager[node.arg.id] : undefined;
    if (last?.code !== node.code || last.shape !== node.shape) return false;
    const { sources } = node;
    const { executable } = last;
    const buffers: (DeviceBuffer | undefined)[] = [];
    for (let i = 0; i < sources.length; i++) {
      const { storage, shape, dtype } = sources[i]!;
      if (
        storage?.device !== executable.device ||
        storage.checks ||
        shape !== last.shapes[i] ||
        dtype !== last.dtypes[i]
      )
        return false;
      buffers.push(storage.buffer);
    }
    if (sources.length === 2 && last.twice !== (sources[0] === sources[1])) return false;
    if (last.twice) buffers.pop();
    this.launch(executable, buffers, none);
    this.#ledger.programHits++;
    settle(node, new Storage(executable.device, buffers[executable.plan.outputs[0]!]!, this.#ledger));
    return true;
  }

  #remember(node: Node, sources: readonly Node[], executable: Executable): void {
    const { plan } = executable;
    const twice = sources.length === 2 && sources[0] === sources[1];
    const plain =
      node.op === 'alu' && plan.steps.length === 1 && plan.steps[0]!.scalars.length === 0 && plan.kept.length === 0;
    if (!plain || plan.leaves !== (twice ? 1 : sources.length) || sources.some((s) => s.op === 'const' || !s.storage))
      return;
    this.#eager[node.arg.id] = {
      code: node.code,
      shape: node.shape,
      shapes: sources.map((s) => s.shape),
      dtypes: sources.map((s) => s.dtype),
      twice,
      executable,
    };
  }

  /** As `compute`, waiting for inputs to come from devices that can only be read asynchronously. */
  async computeAsync(nodes: readonly Node[]): Promise<void> {
    recipes.restoreAll(nodes);
    const wanted = nodes.filter((n) => !n.storage);
    if (wanted.length === 0) return;
    const t = trace(wanted);
    const { device } = this.#stateFor(t.dtypes);
    for (const leaf of t.leaves) {
      const { storage } = leaf;
      if (!storage || storage.on(device) || storage.device.readSync) continue;
      this.#addCopy(storage, device, await storage.device.read(storage.buffer));
    }
    this.compute(nodes);
  }

  /** The plan of nodes without running it. */
  plan(nodes: readonly Node[]): Executable {
    return this.#executable(trace(nodes), nodes);
  }

  /**
   * Launches a plan. `buffers` holds its leaves; what is made is added behind them, and what the plan does not return is
   * released again.
   */
  launch(
    executable: Executable,
    buffers: (DeviceBuffer | undefined)[],
    scalars: readonly number[],
  ): (DeviceBuffer | undefined)[] {
    const { plan, device, programs } = executable;
    const { steps } = plan;
    try {
      for (let i = 0; i < steps.length; i++) this.#step(steps[i]!, programs[i]!, device, plan, buffers, scalars);
    } catch (e) {
      releaseMade(plan, device, buffers);
      throw e;
    }
    return buffers;
  }

  #step(
    step: Step,
    program: Program,
    device: Device,
    plan: Plan,
    buffers: (DeviceBuffer | undefined)[],
    scalars: readonly number[],
  ): void {
    const ids = step.buffers;
    const bound = new Array<DeviceBuffer>(ids.length);
    for (let k = 0; k < ids.length; k++) {
      const id = ids[k]!;
      if (k >= ids.length - step.outputs) {
        if (step.reuse >= 0) {
          buffers[id] = buffers[step.reuse];
          buffers[step.reuse] = undefined;
        } else {
          buffers[id] = this.allocate(device, plan.made[id - plan.leaves]!.bytes);
        }
      }
      // A reused input is bound before its buffer passes to the output: inputs come first.
      bound[k] = buffers[id]!;
    }
    const values = step.scalars.length === 0 ? none : step.scalars.map((s) => scalars[s]!);
    this.#ledger.launches++;
    if (this.#events.has('launch')) {
      const start = performance.now();
      device.launch(program, bound, values);
      this.#events.emit('launch', {
        name: program.name,
        device: device.id,
        hostMs: performance.now() - start,
        estimate: step.fused.estimate,
      });
    } else {
      device.launch(program, bound, values);
    }
    for (let k = 0; k < step.frees.length; k++) {
      const id = step.frees[k]!;
      if (!buffers[id]!.collected) device.release(buffers[id]!);
      buffers[id] = undefined;
    }
  }

  #run(executable: Executable, t: Trace, outputs: readonly Node[]): void {
    const { plan, device } = executable;
    const buffers: (DeviceBuffer | undefined)[] = [];
    for (let i = 0; i < t.leaves.length; i++) buffers.push(t.leaves[i]!.storage!.on(device));
    this.launch(executable, buffers, t.scalars);
    let checks: DeferredCheck[] | null =
      t.checks.length > 0 ? this.#check(t, executable, buffers, outputs.length) : null;
    for (let i = 0; i < t.leaves.length; i++) {
      const inherited = t.leaves[i]!.storage!.checks;
      if (inherited) checks = [...(checks ?? []), ...inherited];
    }
    if (outputs.length === 1 && plan.kept.length === 0) {
      settle(outputs[0]!, this.#storageFor(plan.outputs[0]!, executable, t, buffers, null, checks));
      return;
    }
    const made = new Map<number, Storage>();
    for (let i = 0; i < outputs.length; i++)
      settle(outputs[i]!, this.#storageFor(plan.outputs[i]!, executable, t, buffers, made, checks));
    for (let i = 0; i < plan.kept.length; i++) {
      const { number, buffer } = plan.kept[i]!;
      const node = t.nodes[number]!;
      if (!node.storage) settle(node, this.#storageFor(buffer, executable, t, buffers, made, checks));
    }
  }

  #storageFor(
    id: number,
    { plan, device }: Executable,
    t: Trace,
    buffers: (DeviceBuffer | undefined)[],
    made: Map<number, Storage> | null,
    checks: readonly DeferredCheck[] | null,
  ): Storage {
    if (id >= 0 && id < plan.leaves) return t.leaves[id]!.storage!;
    let storage = made?.get(id);
    if (!storage) {
      storage = new Storage(device, id < 0 ? device.allocate(0) : buffers[id]!, this.#ledger);
      if (checks?.length) storage.checks = checks;
      made?.set(id, storage);
    }
    return storage;
  }

  /**
   * Reads the flags of index checks, which follow the outputs. Where that works at once a bad index stops the run; elsewhere
   * the checks are returned, and stay with the results until they are read.
   */
  #check(
    t: Trace,
    { plan, device }: Executable,
    buffers: (DeviceBuffer | undefined)[],
    first: number,
  ): DeferredCheck[] {
    const deferred: DeferredCheck[] = [];
    const seen = new Set<number>();
    t.checks.forEach((check, i) => {
      const id = plan.outputs[first + i]!;
      // Equal checks share one flag.
      if (seen.has(id)) return;
      seen.add(id);
      const buffer = buffers[id]!;
      if (!device.readSync) deferred.push(this.#defer(device, buffer, check.message));
      else if (device.readSync(buffer, 0, 1)[0] !== 0) {
        releaseMade(plan, device, buffers);
        throw badIndex(check.message);
      }
    });
    for (const id of seen) {
      if (device.readSync && !buffers[id]!.collected) device.release(buffers[id]!);
      buffers[id] = undefined;
    }
    return deferred;
  }

  #defer(device: Device, buffer: DeviceBuffer, message: string): DeferredCheck {
    let outcome: Promise<void> | null = null;
    const read = async (): Promise<void> => {
      this.#deferred.delete(check);
      const bad = (await device.read(buffer, 0, 1))[0] !== 0;
      device.release(buffer);
      if (bad) throw badIndex(message);
    };
    // Read once, however many results depend on it.
    const check: DeferredCheck = { verify: () => (outcome ??= read()) };
    this.#deferred.add(check);
    return check;
  }

  /** Fails if an index behind these bytes was out of range. */
  async verify(storage: Storage): Promise<void> {
    for (const check of storage.checks ?? []) await check.verify();
    storage.checks = null;
  }

  /** Fails if any index of work enqueued before was out of range. */
  async verifyAll(): Promise<void> {
    await Promise.all([...this.#deferred].map((c) => c.verify()));
  }

  /** Allocates; if there is no room, gives back what is held for reuse and tries once more. */
  allocate(device: Device, bytes: number): DeviceBuffer {
    try {
      return device.allocate(bytes);
    } catch (e) {
      if (!(e instanceof OutOfMemory)) throw e;
      device.trim();
      return device.allocate(bytes);
    }
  }

  #executable(t: Trace, outputs: readonly Node[]): Executable {
    const { device, cache } = this.#stateFor(t.dtypes);
    const known = cache.get(t.key, t.length);
    if (known) {
      this.#ledger.programHits++;
      return known;
    }
    const start = performance.now();
    const plan = makePlan(t, [...outputs, ...t.checks.map((c) => c.bad)], device.caps);
    const executable = this.#prepare(plan, device);
    if (cache.size >= maxPrograms) cache.clear();
    cache.set(t.key, t.length, executable);
    this.#ledger.programs++;
    if (this.#events.has('compile')) {
      const kernels = executable.programs.map((p) => p.name);
      this.#events.emit('compile', { kernels, device: device.id, ms: performance.now() - start });
    }
    return executable;
  }

  #prepare(plan: Plan, device: Device): Executable {
    for (const { bytes } of plan.made) {
      if (bytes <= device.caps.maxBufferBytes) continue;
      throw new OutOfMemory({
        code: 'BUFFER_TOO_LARGE',
        message: `${device.id}: a result of ${bytes} bytes is larger than one buffer can be (${device.caps.maxBufferBytes} bytes)`,
        fix: 'Process the data in parts, or use a device with larger buffers.',
        where: device.id,
        requested: bytes,
        available: device.caps.maxBufferBytes,
      });
    }
    return { plan, device, programs: plan.steps.map((s) => device.prepare(s.work)) };
  }

  #stateFor(dtypes: number): DeviceState {
    for (const state of this.#states) if ((dtypes & ~state.dtypes) === 0) return state;
    const [first] = this.#states;
    const missing = Object.entries(dtypeInfo)
      .filter(([, info]) => dtypes & (1 << info.id) && !(first!.dtypes & (1 << info.id)))
      .map(([name]) => name);
    throw new DTypeError({
      code: 'DTYPE_NOT_ON_DEVICE',
      message: `${first!.device.id} has no ${missing.join(', ')}, and no other device is open that has all dtypes of this computation`,
      fix: "Cast to a dtype the device has (such as 'f32' or 'i32'), or open the CPU device too.",
      where: first!.device.id,
    });
  }

  /** The bytes of a computed node on a device, copied there if need be. */
  resident(node: Node, device: Device): DeviceBuffer {
    this.#bring(node, device);
    return node.storage!.on(device)!;
  }

  countLaunches(n: number): void {
    this.#ledger.launches += n;
  }

  #bring(leaf: Node, device: Device): void {
    const { storage } = leaf;
    if (!storage) throw notKnownYet();
    if (storage.on(device)) return;
    if (!storage.device.readSync) {
      throw new DeviceUnavailable({
        code: 'NEEDS_ASYNC',
        message: `data on ${storage.device.id} is needed on ${device.id}, and ${storage.device.id} cannot be read synchronously`,
        fix: 'Use `await tensor.data()` instead of the synchronous form.',
        where: device.id,
      });
    }
    this.#addCopy(storage, device, storage.device.readSync(storage.buffer));
  }

  #addCopy(storage: Storage, device: Device, bytes: Uint8Array): void {
    const buffer = this.allocate(device, bytes.byteLength);
    device.write(buffer, bytes);
    storage.addCopy(device, buffer);
    if (this.#events.has('move')) {
      this.#events.emit('move', { from: storage.device.id, to: device.id, bytes: bytes.byteLength });
    }
  }
}

const none: readonly number[] = [];

function releaseMade(plan: Plan, device: Device, buffers: readonly (DeviceBuffer | undefined)[]): void {
  for (let b = plan.leaves; b < buffers.length; b++) {
    const buffer = buffers[b];
    if (buffer && !buffer.collected) device.release(buffer);
  }
}

function notKnownYet(): ForgeError {
  return new ForgeError({
    code: 'VALUE_NOT_KNOWN',
    message: 'a value was read while a function is being compiled',
    fix: 'Read tensors outside of the function given to rt.compile; inside, use ops such as rt.where instead of branches on values.',
    where: 'compile',
  });
}

function badIndex(message: string): IndexError {
  const [text = message, fix = ''] = message.split('\n  fix: ');
  return new IndexError({ code: 'INDEX_OUT_OF_RANGE', message: text, fix, where: text.split(':')[0]! });
}
