// Kernels that read an operand across, as transposes do, through squares in workgroup memory.
//
// A workgroup reads the operands of a square along their own lines, and then computes and stores along the output's. Both ways a
// thread takes four neighbours at a time where lines are whole numbers of four. Lines in workgroup memory are a word longer than
// the square, so that neither way of reading meets the same bank again and again. Places beyond an edge read what is at it, and are
// not stored.

import type { DType } from '../../../base/dtype.ts';
import { sizeOf, stridesOf } from '../../../base/shape.ts';
import { inBlocks } from '../../../kernel/blocks.ts';
import { type Crossing, crossingOf, lineOf } from '../../../kernel/crossing.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Pass, Traits } from '../plan.ts';
import { bindBuffers, type InPlace } from '../wgsl/buffers.ts';
import { ExpressionWriter, type Names, WgslScope } from '../wgsl/expressions.ts';
import { gridOf, unravel } from '../wgsl/grid.ts';
import { Lanes } from '../wgsl/lanes.ts';
import { Module } from '../wgsl/module.ts';
import { heldAs, isPacked, valueName, type Width } from '../wgsl/types.ts';

/** Never: small squares are as fast (a transpose of 8192² on an H200 takes 178 µs with them and 185 with large ones), and fit everywhere. */
const enoughLarge = Number.POSITIVE_INFINITY;

const bytesOf = (type: DType): number => (heldAs(type).value === 'f16' ? 2 : 4);

/** Null where the kernel reads nothing across, stores bytes at columns that share words, or shares work between stretches of a block. */
export function renderSquares(kernel: Kernel, traits: Traits, inPlace: InPlace): Pass | null {
  if (inBlocks(kernel)) return null;
  const crossing = crossingOf(kernel, { bytes: traits.workgroupBytes, enough: enoughLarge, held: bytesOf });
  if (!crossing) return null;
  const whole = kernel.space[crossing.along]! % 4 === 0;
  if (!whole && kernel.outputs.some((o) => isPacked(o.type))) return null;
  return new SquaresPass(kernel, crossing, traits, inPlace).render();
}

class SquaresPass {
  readonly #kernel: Kernel;
  readonly #crossing: Crossing;
  readonly #traits: Traits;
  readonly #module: Module;
  readonly #buffers: ReturnType<typeof bindBuffers>;
  readonly #names: Names;
  /** Neighbours that a thread reads at a time, and that it stores. */
  readonly #reads: Width;
  readonly #stores: Width;
  readonly #threads: number;

  constructor(kernel: Kernel, crossing: Crossing, traits: Traits, inPlace: InPlace) {
    const { space } = kernel;
    this.#kernel = kernel;
    this.#crossing = crossing;
    this.#traits = traits;
    this.#threads = Math.min(256, traits.maxInvocations);
    const lines = new Lanes({ axis: crossing.across, space, accumulators: false });
    const vectors = crossing.loads.every((l) => lines.stride(l.index) === 1 && lines.aligned(l.index));
    this.#reads = vectors && space[crossing.across]! % 4 === 0 ? 4 : 1;
    this.#stores = space[crossing.along]! % 4 === 0 ? 4 : 1;
    this.#module = new Module(traits, kernel.scalars);
    const elements = sizeOf(space);
    const outputs = kernel.outputs.map((o) => ({ param: { type: o.type, elements }, vector: this.#stores === 4 }));
    this.#buffers = bindBuffers(this.#module, kernel.inputs, outputs, inPlace);
    this.#names = {
      axis: (axis, width) => (width === 4 ? `q${axis}` : `p${axis}`),
      acc: () => {
        throw new Error(`webgpu: ${kernel.name} reads an accumulator without a reduction`);
      },
      input: this.#buffers.input,
    };
  }

  render(): Pass {
    const { space, name } = this.#kernel;
    const { across, along, edge } = this.#crossing;
    const [besides, above] = [Math.ceil(space[along]! / edge), Math.ceil(space[across]! / edge)];
    const others = space.map((d, axis) => (axis === along || axis === across ? 1 : d));
    const groups = besides * above * sizeOf(others);
    const grid = gridOf(groups, this.#traits);
    const read = this.#read();
    const store = this.#store();
    // All loads are under way before the first is waited for.
    const steps = Math.ceil((edge * edge) / (this.#threads * this.#reads));
    const body = [
      `let group = ${grid.group};`,
      `if (group >= ${groups}u) { return; }`,
      `let left = (group % ${besides}u) * ${edge}u;`,
      `let top = (group / ${besides}u % ${above}u) * ${edge}u;`,
      `let rest = group / ${besides * above}u;`,
      ...unravel('rest', others, (d) => `p${d}`),
      ...Array.from({ length: steps }, (_, step) => read.declare(step)).flat(),
      ...this.#eachLine(this.#reads, read.load),
      ...this.#eachLine(this.#reads, read.put),
      'workgroupBarrier();',
      ...this.#eachLine(this.#stores, () => store),
    ].join('\n');
    return this.#module.pass(`${name}_squares`, [this.#threads, 1, 1], grid.workgroups, body);
  }

  /** What every thread does with each of its lines of the square, one after the other; `x` is its first place in a line. */
  #eachLine(width: Width, body: (step: number) => readonly string[]): string[] {
    const { edge } = this.#crossing;
    const each = edge / width;
    const apart = this.#threads / each;
    return Array.from({ length: Math.ceil(edge / apart) }, (_, step) => [
      '{',
      `let x = (lid % ${each}u) * ${width}u;`,
      `let line = lid / ${each}u + ${step * apart}u;`,
      ...body(step),
      '}',
    ]).flat();
  }

  #pitch(type: DType): number {
    return lineOf(this.#crossing.edge, bytesOf(type));
  }

  /** Along the operands' lines, into variables of each step, and from there into workgroup memory. */
  #read(): Record<'declare' | 'load' | 'put', (step: number) => string[]> {
    const { space } = this.#kernel;
    const { across, along, loads, edge } = this.#crossing;
    const width = this.#reads;
    const lanes = width === 4 ? new Lanes({ axis: across, space, accumulators: false }) : null;
    const writer = new ExpressionWriter(this.#module, lanes, this.#names, loads);
    const scope = new WgslScope();
    const values = loads.map((l) => writer.wide(l, scope, width));
    loads.forEach((l, k) => {
      this.#module.global(`var<workgroup> square${k}: array<${heldAs(l.type).value}, ${edge * this.#pitch(l.type)}>;`);
    });
    const cell = (k: number, i: number): string => `square${k}[line * ${this.#pitch(loads[k]!.type)}u + x + ${i}u]`;
    return {
      declare: (step) => loads.map((l, k) => `var read${k}_${step} = ${valueName(l.type, width)}();`),
      load: (step) => [
        `let p${along} = min(i32(left + line), ${space[along]! - 1});`,
        `let p${across} = min(i32(top + x), ${space[across]! - width});`,
        ...fours(across, width),
        ...scope.lines,
        ...values.map((v, k) => `read${k}_${step} = ${v};`),
      ],
      put: (step) =>
        loads.flatMap((_, k) =>
          width === 1
            ? [`${cell(k, 0)} = read${k}_${step};`]
            : [0, 1, 2, 3].map((i) => `${cell(k, i)} = read${k}_${step}[${i}];`),
        ),
    };
  }

  /** Along the output's lines, out of it. */
  #store(): string[] {
    const { space, outputs } = this.#kernel;
    const { across, along, loads } = this.#crossing;
    const width = this.#stores;
    const lanes = width === 4 ? new Lanes({ axis: along, space, accumulators: false }) : null;
    const roots = outputs.map((o) => o.value);
    const writer = new ExpressionWriter(this.#module, lanes, this.#names, roots);
    const scope = new WgslScope();
    const taken = loads.map((l, k) => {
      scope.keep(l, false, `cell${k}`);
      const cell = (i: number): string => `square${k}[(x + ${i}u) * ${this.#pitch(l.type)}u + line]`;
      const text = width === 1 ? cell(0) : `vec4<${heldAs(l.type).value}>(${[0, 1, 2, 3].map(cell).join(', ')})`;
      return `let cell${k} = ${text};`;
    });
    const values = roots.map((value) => writer.wide(value, scope, width));
    const strides = stridesOf(space);
    const at = space.flatMap((d, axis) => (d === 1 ? [] : [`p${axis} * ${strides[axis]}`])).join(' + ');
    return [
      `let p${along} = i32(left + x);`,
      `let p${across} = i32(top + line);`,
      `if (p${along} < ${space[along]} && p${across} < ${space[across]}) {`,
      `let at = ${at};`,
      ...fours(along, width),
      ...taken,
      ...scope.lines,
      ...values.map((v, k) => this.#buffers.outputs[k]!.store('at', v, width)),
      '}',
    ];
  }
}

const fours = (axis: number, width: Width): string[] =>
  width === 4 ? [`let q${axis} = vec4<i32>(p${axis}) + vec4<i32>(0i, 1i, 2i, 3i);`] : [];
