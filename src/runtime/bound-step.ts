// A compiled recurrence bound to fixed buffers: two sets of states that take turns, its other inputs, and what lies between.
//
// A run reads one set and writes the other. It makes no tensor and allocates nothing; where the device can, upload, launches and download
// are one piece of work. Tensors for a state are made when somebody asks for them. From then on its bytes belong to the tensor: they
// are written again only if nobody else holds them, and never under the same node, so that nothing can be computed again from
// other bytes than it was computed from.

import { byteSize, type DType, dtypeInfo } from '../base/dtype.ts';
import type { Device, DeviceBuffer, Program, Recording } from '../devices/device.ts';
import type { Place } from '../devices/place.ts';
import { settle } from '../graph/holding.ts';
import { type Ints, noInts } from '../graph/intern.ts';
import { Node } from '../graph/node.ts';
import { Storage } from '../graph/storage.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Executable } from './executable.ts';
import type { RuntimeHost } from './host.ts';
import type { Remembered } from './signature.ts';

/** What a step is bound from: a call that was remembered, and the tensors that the next one takes. */
export interface BoundFrom {
  readonly asked: Remembered;
  /** The tensors of the call, in the order of its arguments. */
  readonly inputs: readonly Node[];
  readonly given: Node;
  /** The state, by name. The bound step takes the handles over. */
  readonly state: Readonly<Record<string, Tensor>>;
  /** What the function returns under the name of each result. */
  readonly results: Readonly<Record<string, number>>;
  /** The result that a run brings back. */
  readonly reads: string;
}

/** Which of the two sets. */
type Turn = 0 | 1;
const other = (turn: Turn): Turn => (turn === 0 ? 1 : 0);

interface Slot {
  readonly dtype: DType;
  readonly shape: Ints;
  readonly bytes: number;
  /** Which bindings read it, and which one is written. */
  readonly readAt: readonly number[];
  readonly writtenAt: number;
  readonly buffers: [DeviceBuffer, DeviceBuffer];
  readonly tensors: [Tensor | null, Tensor | null];
}

/** An input that no run changes. */
interface Constant {
  readonly node: Node;
  readonly buffer: DeviceBuffer;
}

interface BoundLaunch {
  readonly program: Program;
  readonly buffers: readonly DeviceBuffer[];
  readonly scalars: readonly number[];
}

export class BoundStep {
  readonly #host: RuntimeHost;
  readonly #place: Place;
  readonly #executable: Executable;
  readonly #generation: number;
  readonly #scalars: readonly number[];
  readonly #slots: ReadonlyMap<string, Slot>;
  readonly #kept: ReadonlyMap<string, Tensor>;
  readonly #constants: readonly Constant[];
  /** Buffers of ours alone: the input, and what lies between. */
  readonly #own: readonly DeviceBuffer[];
  readonly #inputAt: number;
  readonly #read: Slot;
  readonly #recording: Recording | null;
  /** By turn. */
  readonly #bindings: [DeviceBuffer[], DeviceBuffer[]];
  #launches: [readonly BoundLaunch[], readonly BoundLaunch[]] | null = null;
  #turn: Turn = 0;

  private constructor(host: RuntimeHost, from: BoundFrom, layout: Layout, own: readonly DeviceBuffer[]) {
    const { executable, slots, kept, constants, inputAt, bindings } = layout;
    this.#host = host;
    this.#executable = executable;
    this.#place = executable.place;
    this.#generation = executable.place.generation;
    this.#scalars = from.asked.scalars;
    this.#slots = slots;
    this.#kept = kept;
    this.#constants = constants;
    this.#own = own;
    this.#inputAt = inputAt;
    this.#read = slots.get(from.reads)!;
    this.#bindings = bindings;
    const { device } = this.#place;
    const { steps } = executable.plan;
    const launches = steps.map((s, i) => ({
      program: executable.programs[i]!,
      buffers: s.buffers,
      scalars: s.scalars,
    }));
    this.#recording = device.record && steps.length > 1 ? device.record(launches) : null;
  }

  /** Null where a call cannot be bound: its results are not buffers of their own, or its inputs lie elsewhere. */
  static make(host: RuntimeHost, from: BoundFrom): BoundStep | null {
    const { signature } = from.asked;
    const { executable } = signature;
    if (!executable || signature.gone || signature.checks.length > 0 || signature.draws.length > 0) return null;
    // Halves are widened on the way to the host.
    if (dtypeInfo[from.state[from.reads]!.dtype].class === 'float' && byteSize(from.state[from.reads]!.dtype) < 4)
      return null;
    const own: DeviceBuffer[] = [];
    const { place } = executable;
    if (!place.alive || executable.generation !== place.generation) return null;
    try {
      const layout = layOut(executable, from, (bytes) => {
        const buffer = place.allocate(bytes);
        own.push(buffer);
        return buffer;
      });
      if (layout) {
        const spare = new Set([...layout.slots.values()].map((s) => s.buffers[1]));
        return new BoundStep(
          host,
          from,
          layout,
          own.filter((b) => !spare.has(b)),
        );
      }
    } catch (e) {
      for (const buffer of own) place.release(buffer);
      throw e;
    }
    for (const buffer of own) place.release(buffer);
    return null;
  }

  get place(): Place {
    return this.#place;
  }

  /** Of what a run brings back. */
  get readType(): DType {
    return this.#read.dtype;
  }

  /** Whether everything is where it was bound, and the state that is written next is nobody else's. May make room for that. */
  ready(): boolean {
    const place = this.#place;
    if (!place.alive || place.generation !== this.#generation) return false;
    for (const { node, buffer } of this.#constants) if (node.storage?.on(place) !== buffer) return false;
    const turn = this.#turn;
    for (const slot of this.#slots.values()) {
      const now = slot.tensors[turn];
      if (now !== null && now.node.storage?.on(place) !== slot.buffers[turn]) return false;
      if (slot.tensors[other(turn)] !== null) this.#reclaim(slot, other(turn));
    }
    return true;
  }

  runSync(bytes: Uint8Array): Uint8Array {
    const { device } = this.#place;
    const bindings = this.#bindings[this.#turn];
    const recording = this.#recording;
    const { writtenAt, bytes: length } = this.#read;
    this.#counts();
    if (recording?.exchange) return recording.exchange(bindings, this.#scalars, this.#inputAt, bytes, writtenAt);
    this.#enqueue(device, bindings, bytes);
    return device.readSync!(bindings[writtenAt]!, 0, length);
  }

  run(bytes: Uint8Array): Promise<Uint8Array> {
    const { device } = this.#place;
    const bindings = this.#bindings[this.#turn];
    this.#counts();
    this.#enqueue(device, bindings, bytes);
    return device.read(bindings[this.#read.writtenAt]!, 0, this.#read.bytes);
  }

  /** What the last run wrote is the state from now on. */
  advance(): void {
    this.#turn = other(this.#turn);
  }

  /** The state as tensors, which stay ours: of now, or what the last run wrote. */
  state(written = false): Record<string, Tensor> {
    const turn = written ? other(this.#turn) : this.#turn;
    const made = Object.fromEntries(this.#kept);
    for (const [name, slot] of this.#slots) made[name] = slot.tensors[turn] ??= this.#hand(slot, turn);
    return made;
  }

  /** Frees everything but the state, which is handed over. A state that went with its device is a tensor that is lost. */
  release(): Record<string, Tensor> {
    const state = this.state();
    this.#recording?.dispose();
    const there = this.#place.generation === this.#generation;
    for (const slot of this.#slots.values()) {
      const spare = other(this.#turn);
      const { tensors, buffers } = slot;
      if (tensors[spare]) tensors[spare].dispose();
      else if (there) this.#place.release(buffers[spare]);
    }
    if (there) for (const buffer of this.#own) this.#place.release(buffer);
    return state;
  }

  #counts(): void {
    const { ledger } = this.#host;
    const launches = this.#executable.programs.length;
    ledger.launches += launches;
    ledger.waits++;
    ledger.storages.now++;
    this.#place.launches += launches;
    this.#place.waits++;
  }

  #enqueue(device: Device, bindings: readonly DeviceBuffer[], bytes: Uint8Array): void {
    device.write(bindings[this.#inputAt]!, bytes);
    if (this.#recording) {
      this.#recording.replay(bindings, this.#scalars);
      return;
    }
    this.#launches ??= [this.#launchesOf(0), this.#launchesOf(1)];
    for (const { program, buffers, scalars } of this.#launches[this.#turn]) device.launch(program, buffers, scalars);
  }

  #launchesOf(turn: Turn): BoundLaunch[] {
    const { plan, programs } = this.#executable;
    return plan.steps.map((s, i) => ({
      program: programs[i]!,
      buffers: s.buffers.map((b) => this.#bindings[turn][b]!),
      scalars: s.scalars.map((k) => this.#scalars[k]!),
    }));
  }

  /** A tensor for one set of a state: the bytes are its own from now on. */
  #hand(slot: Slot, turn: Turn): Tensor {
    const place = this.#place;
    const node = new Node('leaf', slot.dtype, slot.shape, [], noInts);
    const storage = new Storage(place, slot.buffers[turn], this.#host.ledger.storages);
    storage.by = this.#executable.by;
    settle(node, storage);
    const tensor = new Tensor(this.#host, node).keep();
    if (place.generation !== this.#generation) storage.dropCopy(place, true);
    return tensor;
  }

  /** The bytes of a tensor that was handed out are written again: the same ones if nobody else holds them, else new ones. */
  #reclaim(slot: Slot, turn: Turn): void {
    const place = this.#place;
    const tensor = slot.tensors[turn]!;
    const { node } = tensor;
    const storage = node.storage!;
    const alone = node.handles === 1 && node.uses === 0 && storage.owners === 1 && storage.lent === null;
    if (alone && storage.on(place) === slot.buffers[turn]) storage.dropCopy(place, true);
    else {
      slot.buffers[turn] = place.allocate(slot.bytes);
      this.#rebind(slot, turn);
    }
    slot.tensors[turn] = null;
    tensor.dispose();
  }

  /** Other arrays: whoever was given the old ones may have kept them. */
  #rebind(slot: Slot, turn: Turn): void {
    const buffer = slot.buffers[turn];
    const [reads, writes] = [[...this.#bindings[turn]], [...this.#bindings[other(turn)]]];
    for (const at of slot.readAt) reads[at] = buffer;
    writes[slot.writtenAt] = buffer;
    this.#bindings[turn] = reads;
    this.#bindings[other(turn)] = writes;
    this.#launches = null;
  }
}

/** Which buffer is bound where. */
interface Layout {
  readonly executable: Executable;
  readonly slots: ReadonlyMap<string, Slot>;
  readonly kept: ReadonlyMap<string, Tensor>;
  readonly constants: readonly Constant[];
  readonly inputAt: number;
  readonly bindings: [DeviceBuffer[], DeviceBuffer[]];
}

function layOut(executable: Executable, from: BoundFrom, allocate: (bytes: number) => DeviceBuffer): Layout | null {
  const { asked, inputs, given, state, results } = from;
  const { plan, place } = executable;
  const leaves = asked.leaves.map((leaf) => (typeof leaf === 'number' ? inputs[leaf]! : leaf));
  const written = new Map<string, number>();
  for (const [name, index] of Object.entries(results)) {
    const id = plan.outputs[index]!;
    // A result that is an input's own bytes, or another result's, or has none, is no buffer that could be written.
    if (id < plan.leaves || [...written.values()].includes(id)) return null;
    if (name in state) written.set(name, id);
  }
  if (!written.has(from.reads) || leaves.some((n) => n !== given && n.storage?.on(place) === undefined)) return null;
  const inputAt = leaves.indexOf(given);
  if (inputAt < 0 || leaves.lastIndexOf(given) !== inputAt) return null;
  const first: DeviceBuffer[] = leaves.map((n) =>
    n === given ? allocate(n.size * byteSize(n.dtype)) : n.storage!.on(place)!,
  );
  for (const { bytes } of plan.made) first.push(allocate(bytes));
  const second = [...first];
  const slots = new Map<string, Slot>();
  for (const [name, writtenAt] of written) {
    const tensor = state[name]!;
    const { node } = tensor;
    const buffer = node.storage?.on(place);
    const bytes = node.size * byteSize(node.dtype);
    if (!buffer || bytes !== plan.made[writtenAt - plan.leaves]!.bytes) return null;
    const readAt = leaves.flatMap((n, i) => (n === node ? [i] : []));
    const spare = first[writtenAt]!;
    for (const at of readAt) second[at] = spare;
    second[writtenAt] = buffer;
    slots.set(name, {
      dtype: node.dtype,
      shape: node.shape,
      bytes,
      readAt,
      writtenAt,
      buffers: [buffer, spare],
      tensors: [tensor, null],
    });
  }
  const kept = new Map(Object.entries(state).filter(([name]) => !slots.has(name)));
  const moving = new Set([...slots.values()].map((s) => s.tensors[0]!.node));
  const constants = leaves.flatMap((node) =>
    node === given || moving.has(node) ? [] : [{ node, buffer: node.storage!.on(place)! }],
  );
  return { executable, slots, kept, constants, inputAt, bindings: [first, second] };
}
