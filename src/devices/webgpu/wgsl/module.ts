// One shader module being written: its bindings, the functions that read and write them, its helpers and variables.
//
// Bindings are numbered in the order they are declared; the scalars and the veil, where they are read, come last as uniforms.
// A buffer is bound as an array of vectors as soon as anything reads or writes four aligned elements of it at once.

import type { DType } from '../../../base/dtype.ts';
import type { Binding, Pass, Traits } from '../plan.ts';
import { type HelperName, HelperSet } from './helpers.ts';
import { veilBinding } from './literals.ts';
import { heldAs, scratchWords, vectorOf, type Width } from './types.ts';

interface Bound {
  readonly name: string;
  readonly storage: string;
  readonly binding: Binding;
  /** Elements of its type, where they are known: bounds that compilers know cost less than those they must look up. */
  readonly elements: number | null;
  vector: boolean;
}

/** A typed view of a bound buffer. Index arguments are texts of type i32. */
export class BoundBuffer {
  readonly type: DType;
  readonly #bound: Bound;
  readonly #name: string;
  readonly #quarters: ReadonlyMap<string, string>;
  #reads = 0;

  constructor(name: string, type: DType, bound: Bound, quarters: ReadonlyMap<string, string>) {
    this.#quarters = quarters;
    this.#name = name;
    this.type = type;
    this.#bound = bound;
  }

  /** One element. */
  at(index: string): string {
    this.#reads |= 1;
    return `${this.#name}_at(${index})`;
  }

  /** Four elements, the first at `index`, a multiple of four. */
  four(index: string): string {
    this.#reads |= 2;
    if (!heldAs(this.type).packed) this.#bound.vector = true;
    return `${this.#name}_four(${this.#quarter(index)})`;
  }

  /** The word, or group of four, that an index lies in. */
  #quarter(index: string): string {
    return this.#quarters.get(index) ?? `u32(${index}) >> 2u`;
  }

  /** Stores one element (never of a packed type: nobody owns a part of a word), or four at a multiple of four. */
  store(index: string, value: string, width: Width): string {
    const { packed, value: type, storage } = heldAs(this.type);
    const words = type === 'bool' ? `vec4<u32>(${value})` : value;
    if (packed)
      return `${this.#bound.name}[${this.#quarter(index)}] = dot(${words}, vec4<u32>(1u, 256u, 65536u, 16777216u));`;
    const held = this.#bound.storage === storage ? value : `bitcast<${vectorOf(this.#bound.storage, width)}>(${value})`;
    if (width === 4) {
      this.#bound.vector = true;
      return `${this.#bound.name}[${this.#quarter(index)}] = ${held};`;
    }
    return this.#bound.vector
      ? `${this.#bound.name}[u32(${index}) >> 2u][u32(${index}) & 3u] = ${held};`
      : `${this.#bound.name}[u32(${index})] = ${held};`;
  }

  /** The reading functions that were asked for. */
  functions(): string {
    const { packed, value, storage } = heldAs(this.type);
    const { name, vector } = this.#bound;
    const as = (text: string, w: Width): string => {
      const typed = this.#bound.storage === storage ? text : `bitcast<${vectorOf(storage, w)}>(${text})`;
      return value === 'bool' ? `(${typed} != ${vectorOf('u32', w)}(0u))` : typed;
    };
    const lines: string[] = [];
    if (this.#reads & 1) {
      const word = `${name}[u32(i) >> 2u]`;
      const text = packed
        ? as(`((${word} >> ((u32(i) & 3u) * 8u)) & 255u)`, 1)
        : as(vector ? `${word}[u32(i) & 3u]` : `${name}[u32(i)]`, 1);
      lines.push(`fn ${this.#name}_at(i: i32) -> ${value} { return ${text}; }`);
    }
    if (this.#reads & 2) {
      const word = `${name}[i]`;
      const text = packed
        ? as(`((vec4<u32>(${word}) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u))`, 4)
        : as(word, 4);
      lines.push(`fn ${this.#name}_four(i: u32) -> vec4<${value}> { return ${text}; }`);
    }
    return lines.join('\n');
  }
}

export class Module {
  readonly #helpers = new HelperSet();
  readonly #bound: Bound[] = [];
  readonly #views: BoundBuffer[] = [];
  readonly #globals: string[] = [];
  readonly #scalars: readonly DType[];
  /** Names of indices that are multiples of four, and what they are four times of, where the shader has that at hand. */
  readonly quarters = new Map<string, string>();
  /** `/` and sqrt round correctly on this adapter. */
  readonly exactDivision: boolean;
  readonly keepsNaN: boolean;
  #usesScalars = false;

  constructor(traits: Traits, scalars: readonly DType[] = []) {
    this.exactDivision = traits.exactDivision;
    this.keepsNaN = traits.keepsNaN;
    this.#scalars = scalars;
  }

  readonly use = (name: HelperName, width: Width = 1): string => this.#helpers.use(name, width);

  /** A buffer of elements. */
  buffer(name: string, type: DType, binding: Binding, vector = false, elements: number | null = null): BoundBuffer {
    const { storage, packed } = heldAs(type);
    const held = elements === null ? null : packed ? Math.ceil(elements / 4) : elements;
    const bound = this.#bind(name, storage, binding, vector && !packed, held);
    return this.#view(name, type, bound);
  }

  /** Another typed view of a buffer already bound, for an input that is overwritten in place. */
  alias(name: string, type: DType, of: string): BoundBuffer {
    return this.#view(name, type, this.#bound.find((b) => b.name === of)!);
  }

  /** A buffer of plain u32 words (or another WGSL element type), indexed by the shader itself as `name[i]`. */
  words(name: string, binding: Binding, storage = 'u32'): string {
    this.#bind(name, storage, binding, false, null);
    return name;
  }

  /** A value given at the launch, as text. */
  scalar(slot: number): string {
    this.#usesScalars = true;
    const type = this.#scalars[slot]!;
    const { value } = heldAs(type);
    return scratchWords[value].from(`scalars[${slot >> 2}][${slot & 3}]`, 1);
  }

  global(line: string): void {
    this.#globals.push(line);
  }

  pass(
    name: string,
    workgroup: readonly [number, number, number],
    workgroups: readonly [number, number, number],
    body: string,
  ): Pass {
    const views = this.#views.map((v) => v.functions()).filter(Boolean);
    const uniform = this.#usesScalars
      ? [
          `@group(0) @binding(${this.#bound.length}) var<uniform> scalars: array<vec4<u32>, ${Math.ceil(this.#scalars.length / 4)}>;`,
        ]
      : [];
    const parts = [
      ...this.#globals,
      ...[this.#helpers.text()].filter(Boolean),
      ...views,
      `@compute @workgroup_size(${workgroup.join(', ')})`,
      'fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32) {',
      body,
      '}',
      '',
    ].join('\n');
    const usesVeil = /\bveil\b/.test(parts);
    const veil = usesVeil ? [veilBinding(this.#bound.length + uniform.length)] : [];
    const text = [...this.#bound.map(declaration), ...uniform, ...veil, parts].join('\n');
    const enables = [
      ...(/\bf16\b/.test(text) ? ['enable f16;\n'] : []),
      ...(/\bsubgroupShuffle\w+\b/.test(text) ? ['enable subgroups;\n'] : []),
    ].join('');
    const source = enables + text;
    const bindings = this.#bound.map((b) => b.binding);
    return { name, source, entry: 'main', bindings, usesScalars: this.#usesScalars, usesVeil, workgroups };
  }

  #bind(name: string, storage: string, binding: Binding, vector: boolean, elements: number | null): Bound {
    const bound = { name, storage, binding, vector, elements };
    this.#bound.push(bound);
    return bound;
  }

  #view(name: string, type: DType, bound: Bound): BoundBuffer {
    const view = new BoundBuffer(name, type, bound, this.quarters);
    this.#views.push(view);
    return view;
  }
}

function declaration(b: Bound, i: number): string {
  const access = b.binding.access === 'read' ? 'read' : 'read_write';
  const element = b.vector ? `vec4<${b.storage}>` : b.storage;
  const count = b.elements === null ? '' : `, ${Math.max(1, Math.ceil(b.elements / (b.vector ? 4 : 1)))}`;
  return `@group(0) @binding(${i}) var<storage, ${access}> ${b.name}: array<${element}${count}>;`;
}
