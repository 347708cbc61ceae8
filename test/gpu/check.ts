// Running cases on a device and comparing with the reference.

import { type DType, dtypeInfo, isFloat } from '../../src/base/dtype.ts';
import type { Device } from '../../src/devices/device.ts';
import { elementsOf } from '../../src/devices/reference/elements.ts';
import { type Elements, interpret } from '../../src/devices/reference/interpret.ts';
import { runRoutine } from '../../src/devices/reference/routines.ts';
import type { Matmul } from '../../src/kernel/kernel.ts';
import type { Case } from './corpus.ts';
import { difference, fill } from './data.ts';
import type { RoutineCase } from './routines.ts';

export class Report {
  passed = 0;
  readonly failures: string[] = [];
  readonly groups = new Map<string, { passed: number; failed: number }>();
  #group = '';

  group(name: string): void {
    this.#group = name;
    if (!this.groups.has(name)) this.groups.set(name, { passed: 0, failed: 0 });
  }

  result(name: string, complaint: string | undefined): void {
    const g = this.groups.get(this.#group)!;
    if (complaint === undefined) {
      this.passed++;
      g.passed++;
      return;
    }
    g.failed++;
    this.failures.push(`${this.#group} / ${name}: ${complaint}`);
    console.log(`FAIL ${this.#group} / ${name}: ${complaint}`);
  }

  async test(name: string, body: () => void | Promise<void>): Promise<void> {
    try {
      await body();
      this.result(name, undefined);
    } catch (error) {
      this.result(name, error instanceof Error ? `${error.message}`.slice(0, 3000) : String(error));
    }
  }

  print(): void {
    for (const [name, { passed, failed }] of this.groups) {
      console.log(`${name.padEnd(44)} ${String(passed).padStart(6)} passed ${String(failed).padStart(4)} failed`);
    }
    console.log(`${this.passed} passed, ${this.failures.length} failed`);
  }
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

const poison = 0xa5;

/** Results of the reference, kept because several devices are compared with the same. */
const known = new Map<string, readonly Uint8Array[]>();

function once(key: string, make: () => readonly Uint8Array[]): readonly Uint8Array[] {
  let found = known.get(key);
  if (!found) known.set(key, (found = make()));
  return found;
}

/** The product in doubles, for float types: what the reference computes, with its operands converted once. */
function floatProduct(r: Matmul, [a, b, c]: readonly Elements[]): void {
  const x = Float64Array.from({ length: r.batchA * r.m * r.k }, (_, i) => a!.get(i) as number);
  const y = Float64Array.from({ length: r.batchB * r.k * r.n }, (_, i) => b!.get(i) as number);
  for (let batch = 0; batch < r.batch; batch++) {
    const [atA, atB] = [(r.batchA === 1 ? 0 : batch) * r.m * r.k, (r.batchB === 1 ? 0 : batch) * r.k * r.n];
    const [stepA, stepB] = [r.transposeA ? r.m : 1, r.transposeB ? 1 : r.n];
    for (let i = 0; i < r.m; i++) {
      for (let j = 0; j < r.n; j++) {
        let sum = 0;
        let [p, q] = [atA + (r.transposeA ? i : i * r.k), atB + (r.transposeB ? j * r.k : j)];
        for (let k = 0; k < r.k; k++, p += stepA, q += stepB) sum += x[p]! * y[q]!;
        c!.set((batch * r.m + i) * r.n + j, sum);
      }
    }
  }
}

export function runKernelCase(device: Device, c: Case, seed: number): string | undefined {
  const { kernel } = c;
  const inputs = kernel.inputs.map((p, i) => fill(p.type, p.elements, seed + i, c.mild, c.positions?.get(i)));
  const elements = kernel.space.reduce((n, d) => n * d, 1);
  const outputs = once(`${kernel.name} ${seed}`, () => {
    const made = kernel.outputs.map((o) => new Uint8Array(new ArrayBuffer(elements * dtypeInfo[o.type].bytes)));
    const views = inputs.map((bytes, i) => elementsOf(bytes, kernel.inputs[i]!.type));
    interpret(
      kernel,
      views,
      made.map((bytes, i) => elementsOf(bytes, kernel.outputs[i]!.type)),
      c.scalars,
    );
    return made;
  });
  const program = device.prepare(c.lowered ?? kernel);
  const buffers = inputs.map((bytes) => {
    const b = device.allocate(bytes.length);
    device.write(b, bytes);
    return b;
  });
  const results = outputs.map((bytes, i) => {
    // An output over an input it may overwrite.
    if (i === 0 && kernel.inPlace.length > 0) return buffers[kernel.inPlace[0]!]!;
    const b = device.allocate(bytes.length);
    device.write(b, new Uint8Array(bytes.length).fill(poison));
    return b;
  });
  device.launch(program, [...buffers, ...results], c.scalars);
  let complaint: string | undefined;
  outputs.forEach((want, i) => {
    complaint ??= difference(kernel.outputs[i]!.type, device.readSync!(results[i]!), want, c.tolerance);
  });
  for (const b of new Set([...buffers, ...results])) device.release(b);
  return complaint;
}

/** The bytes of every buffer, and what the reference makes of them. */
export function routineData(
  c: RoutineCase,
  seed: number,
): { bytes: readonly Uint8Array[]; wanted: readonly Uint8Array[] } {
  const inputCount = c.buffers.length - c.outputs;
  const bytes = c.buffers.map((p, i) =>
    i < inputCount
      ? fill(p.type, p.elements, seed + i, c.mild, c.positions?.get(i))
      : new Uint8Array(new ArrayBuffer(p.elements * dtypeInfo[p.type].bytes)),
  );
  for (const [buffer, element] of c.infinite ?? [])
    elementsOf(bytes[buffer]!, c.buffers[buffer]!.type).set(element, Number.POSITIVE_INFINITY);
  for (const [buffer, by] of c.moved ?? []) {
    const view = elementsOf(bytes[buffer]!, c.buffers[buffer]!.type);
    for (let i = 0; i < c.buffers[buffer]!.elements; i++) view.set(i, Number(view.get(i)) + by);
  }
  const wanted = once(`${c.routine.name} ${seed}`, () => {
    const views = bytes.map((b, i) => elementsOf(b, c.buffers[i]!.type));
    const scratch = (type: DType, n: number): Elements => elementsOf(new Uint8Array(n * dtypeInfo[type].bytes), type);
    const plain = c.routine.op === 'matmul' && !c.routine.epilogue && isFloat(c.routine.type);
    if (plain) floatProduct(c.routine as Matmul, views);
    else runRoutine(c.routine, views, c.scalars ?? [], scratch);
    return bytes.slice(inputCount);
  });
  return { bytes: bytes.slice(0, inputCount), wanted };
}

export function runRoutineCase(device: Device, c: RoutineCase, seed: number): string | undefined {
  const { bytes, wanted } = routineData(c, seed);
  const program = device.prepare(c.routine);
  const buffers = [...bytes, ...wanted].map((b, i) => {
    const made = device.allocate(b.length);
    device.write(made, i < bytes.length ? b : new Uint8Array(b.length).fill(poison));
    return made;
  });
  device.launch(program, buffers, c.scalars ?? []);
  // What a scan keeps from run to run must not disturb the next one.
  if (c.routine.op === 'scan') device.launch(program, buffers, c.scalars ?? []);
  let complaint: string | undefined;
  wanted.forEach((want, i) => {
    const at = bytes.length + i;
    complaint ??= difference(c.buffers[at]!.type, device.readSync!(buffers[at]!), want, c.tolerance);
  });
  for (const b of buffers) device.release(b);
  return complaint;
}
