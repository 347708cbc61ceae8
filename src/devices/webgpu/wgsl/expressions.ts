// Expressions to WGSL statements.
//
// Every value becomes one `let`, computed once where all it depends on is known: a scope is a list of statements, and an
// inner scope hands outwards what does not change inside it. With lanes, a value that four lanes share stays scalar and
// the rest are vectors of four; positions are also known at lane 0, which is all an aligned load needs.

import { bounds } from '../../../kernel/bounds.ts';
import type { Alu, Const, Expr, Load } from '../../../kernel/expr.ts';
import { castText } from './casts.ts';
import { Hazards } from './hazards.ts';
import type { HelperName } from './helpers.ts';
import type { Lanes } from './lanes.ts';
import { literal, veil, veiledConstant } from './literals.ts';
import type { BoundBuffer, Module } from './module.ts';
import { rows } from './ops.ts';
import { heldAs, valueName, vectorOf, type Width } from './types.ts';

export interface Names {
  /** The position on an axis, as i32: at lane 0, or of all four lanes. */
  readonly axis: (axis: number, width: Width) => string;
  readonly acc: (slot: number) => string;
  readonly input: (slot: number) => BoundBuffer;
}

/** Statements of one block. `hoists` tells what belongs to the block around it. */
export class WgslScope {
  readonly lines: string[] = [];
  readonly parent: WgslScope | null;
  readonly hoists: (e: Expr) => boolean;
  readonly #values = new Map<Expr, string>();
  readonly #firstLanes = new Map<Expr, string>();

  constructor(parent: WgslScope | null = null, hoists: (e: Expr) => boolean = () => false) {
    this.parent = parent;
    this.hoists = hoists;
  }

  find(e: Expr, firstLane: boolean): string | undefined {
    return (firstLane ? this.#firstLanes : this.#values).get(e) ?? this.parent?.find(e, firstLane);
  }

  keep(e: Expr, firstLane: boolean, text: string): void {
    (firstLane ? this.#firstLanes : this.#values).set(e, text);
  }
}

export class ExpressionWriter {
  readonly #module: Module;
  readonly #lanes: Lanes | null;
  readonly #names: Names;
  readonly #hazards: Hazards;
  readonly #constants = new Map<string, string>();
  #next = 0;

  /** `roots`: everything that will be written. */
  constructor(module: Module, lanes: Lanes | null, names: Names, roots: readonly Expr[]) {
    this.#hazards = new Hazards(roots);
    this.#module = module;
    this.#lanes = lanes;
    this.#names = names;
  }

  width(e: Expr): Width {
    return this.#lanes === null || this.#lanes.uniform(e) ? 1 : 4;
  }

  /** The value at its own width. */
  value(e: Expr, scope: WgslScope): string {
    return this.#place(e, scope, false);
  }

  /** The value as wide as asked. */
  wide(e: Expr, scope: WgslScope, width: Width): string {
    const text = this.value(e, scope);
    return width === 4 && this.width(e) === 1 ? `${valueName(e.type, 4)}(${text})` : text;
  }

  /** A position at lane 0, as i32. */
  #first(e: Expr, scope: WgslScope): string {
    return this.#place(e, scope, this.width(e) === 4);
  }

  #place(e: Expr, scope: WgslScope, firstLane: boolean): string {
    const known = scope.find(e, firstLane);
    if (known !== undefined) return known;
    if (scope.parent && scope.hoists(e)) return this.#place(e, scope.parent, firstLane);
    const plain = this.#text(e, scope, firstLane);
    const text = this.#hazards.veils(e) ? veil(plain, firstLane ? 1 : this.width(e)) : plain;
    const kept = e.kind === 'const' || e.kind === 'axis' || e.kind === 'acc' ? text : this.#bind(text, scope);
    scope.keep(e, firstLane, kept);
    return kept;
  }

  #bind(text: string, scope: WgslScope): string {
    if (/^[a-z_][a-z0-9_]*$/.test(text)) return text;
    const name = `v${this.#next++}`;
    scope.lines.push(`let ${name} = ${text};`);
    return name;
  }

  #text(e: Expr, scope: WgslScope, firstLane: boolean): string {
    const width = firstLane ? 1 : this.width(e);
    const use = (name: Parameters<Module['use']>[0]): string => this.#module.use(name, width);
    // What lanes share can come of positions they do not share: all lanes of a group are below 64, or none is.
    const operand = (s: Expr): string => (width === 1 ? this.#first(s, scope) : this.wide(s, scope, width));
    switch (e.kind) {
      case 'const':
        return literal(e.type, e.value);
      case 'scalar':
        return this.#module.scalar(e.slot);
      case 'axis':
        return this.#names.axis(e.axis, width);
      case 'acc':
        return this.#names.acc(e.slot);
      case 'load':
        return this.#load(e, scope, width);
      case 'cast':
        return castText(operand(e.src[0]), e.src[0].type, e.type, e.bits, width, use);
      case 'alu': {
        const type = e.src[e.src.length - 1]!.type;
        const quick = this.#indexDivision(e, operand, width);
        if (quick) return quick;
        const bounded = this.#bounded(e, operand, use);
        if (bounded) return bounded;
        const row = rows[type]?.[e.op];
        if (!row) throw new Error(`webgpu: ${e.op} of ${type} is not native and was not decomposed`);
        const [a, b, c] = e.src.map((s, i) => {
          if (this.#hazards.veilsOperand(e, i)) {
            return s.kind === 'const' ? this.#veiledConstant(s, scope, width) : veil(operand(s), width);
          }
          return e.op === 'where' && i === 0 && width === 4 ? this.value(s, scope) : operand(s);
        });
        // Two constants side by side would be a constant expression, which WGSL evaluates and may refuse.
        const first = e.src.every((s) => s.kind === 'const') ? this.#letOf(a!, scope) : a!;
        const byte = `${vectorOf('u32', width)}(255u)`;
        return row({ use, byte, exactDivision: this.#module.exactDivision }, first, b ?? '', c ?? '');
      }
      default:
        return e satisfies never;
    }
  }

  /** Made once, in the outermost block. */
  #veiledConstant(e: Const, scope: WgslScope, width: Width): string {
    let outermost = scope;
    while (outermost.parent) outermost = outermost.parent;
    const text = veiledConstant(Number(e.value));
    let name = this.#constants.get(text);
    if (!name) this.#constants.set(text, (name = this.#letOf(text, outermost)));
    return width === 4 ? `vec4<f32>(${name})` : name;
  }

  /** max(x, c) and min(x, c). */
  #bounded(e: Alu, operand: (s: Expr) => string, use: (name: HelperName) => string): string | null {
    if (e.type !== 'f32' || (e.op !== 'max' && e.op !== 'min')) return null;
    const at = e.src.findIndex((s) => s.kind === 'const' && !Number.isNaN(s.value) && s.value !== 0);
    if (at < 0) return null;
    const [x, c] = [operand(e.src[1 - at]!), operand(e.src[at]!)];
    if (this.#module.keepsNaN) return `select(${x}, ${c}, ${x} ${e.op === 'max' ? '<' : '>'} ${c})`;
    return `${use(e.op === 'max' ? 'at_least_f32' : 'at_most_f32')}(${x}, ${c})`;
  }

  #letOf(text: string, scope: WgslScope): string {
    const name = `v${this.#next++}`;
    scope.lines.push(`let ${name} = ${text};`);
    return name;
  }

  /** Positions divided by a constant: both are non-negative, so unsigned division by a literal is right and fast. */
  #indexDivision(e: Expr & { kind: 'alu' }, operand: (s: Expr) => string, width: Width): string | null {
    if (e.type !== 'index' || (e.op !== 'idiv' && e.op !== 'imod')) return null;
    const [a, b] = e.src as [Expr, Expr];
    if (b.kind !== 'const' || Number(b.value) <= 0 || bounds(a).min < 0) return null;
    const [U, I] = [vectorOf('u32', width), vectorOf('i32', width)];
    return `${I}(${U}(${operand(a)}) ${e.op === 'idiv' ? '/' : '%'} ${U}(${b.value}u))`;
  }

  #load(e: Load, scope: WgslScope, width: Width): string {
    const { gate } = e;
    if (!gate) return this.#element(e, scope, width);
    const zero = `${valueName(e.type, width)}(${zeroOf(e)})`;
    const open = this.value(gate, scope);
    // Lanes with closed gates read some element of the buffer: access is always within bounds in WebGPU.
    if (this.width(gate) === 4) return `select(${zero}, ${this.#element(e, scope, width)}, ${open})`;
    const name = `v${this.#next++}`;
    const inside = new WgslScope(scope);
    const text = this.#element(e, inside, width);
    scope.lines.push(`var ${name} = ${zero};`, `if (${open}) {`, ...inside.lines, `${name} = ${text};`, '}');
    return name;
  }

  #element(e: Load, scope: WgslScope, width: Width): string {
    const storage = this.#names.input(e.slot);
    const lanes = this.#lanes;
    if (width === 1 || lanes === null) return storage.at(this.value(e.index, scope));
    const vector = valueName(e.type, 4);
    const stride = lanes.stride(e.index);
    if (stride === 0) return `${vector}(${storage.at(this.value(e.index, scope))})`;
    if (stride === null) {
      const at = this.value(e.index, scope);
      return `${vector}(${['x', 'y', 'z', 'w'].map((l) => storage.at(`${at}.${l}`)).join(', ')})`;
    }
    const first = this.#first(e.index, scope);
    if (stride === 1 && lanes.aligned(e.index)) return storage.four(first);
    const each = [0, 1, 2, 3].map((l) => storage.at(l === 0 ? first : `${first} + ${l * stride}`));
    return `${vector}(${each.join(', ')})`;
  }
}

const zeroOf = (e: Load): string =>
  ({ f32: '0.0f', f16: '0.0', i32: '0i', u32: '0u', bool: 'false' })[heldAs(e.type).value];
