// Fourier transforms of rows: by one block each where a row fits, else in two passes.
//
// A row of a·b values that is too long for a block, or one of so few rows that most of the device would be idle, is done as Bailey's four
// steps (FFTs in External or Hierarchical Memory, 1990): position b·j + k, frequency p + a·q. The first pass transforms the columns k and
// turns them by the root of k·p; the second transforms the rows p, and writes them across. Real rows of even length are complex ones of
// half of it; what is left to do for them (real.ts) is done before the block writes, or by a third launch.

import type { Fourier } from '../../../../kernel/kernel.ts';
import { type Chirp, chirpOf } from '../../../../kernel/unit-roots.ts';
import type { Target } from '../../ptx/target.ts';
import type { ModuleRecipe } from '../../recipe.ts';
import type { Argument } from '../../step.ts';
import { blocksFor, Kit, Layout } from '../kit.ts';
import { type Part, recipeOf } from '../recipe-of.ts';
import { BlockTransform } from './block.ts';
import { convolve } from './chirp.ts';
import { ComplexMath, exchanged, type FourierType } from './complex.ts';
import { both, type Format, type Lines, readLine, type Source, sourceOf } from './lines.ts';
import { type Block, columnsBlock, halvesOf, inOneBlock, rowsBlock } from './plan.ts';
import { type Frequencies, type RealSink, tangled, untangled, writeReal } from './real.ts';
import { loadPair, Tables } from './tables.ts';

/** Threads of a block that puts real frequencies together. */
const untanglers = 128;

export function fourierRecipe(r: Fourier, target: Target): ModuleRecipe {
  return new FourierKernels(r, target).recipe();
}

class FourierKernels {
  readonly #r: Fourier;
  readonly #target: Target;
  readonly #type: FourierType;
  readonly #tables: Tables;
  readonly #layout = new Layout();
  /** Real rows are transformed as complex ones of half the length. */
  readonly #halved: boolean;
  /** From frequencies to real values. */
  readonly #back: boolean;
  readonly #length: number;
  readonly #chirp: Chirp | null;

  constructor(r: Fourier, target: Target) {
    this.#r = r;
    this.#target = target;
    this.#type = r.type as FourierType;
    this.#tables = new Tables(this.#type);
    this.#halved = r.form !== 'complex' && r.length % 2 === 0;
    this.#back = r.form === 'hermitian';
    this.#length = this.#halved ? r.length / 2 : r.length;
    this.#chirp = chirpOf(this.#length);
  }

  recipe(): ModuleRecipe {
    const { rows, name } = this.#r;
    const alone = this.#chirp !== null || inOneBlock(this.#length, rows, this.#target.processors, this.#bytes);
    const parts = alone ? [this.#whole()] : this.#passes();
    const declarations = this.#tables.declarations;
    return recipeOf(name, this.#target, parts, { borrowedBytes: this.#layout.bytes, declarations });
  }

  get #bytes(): number {
    return this.#type === 'f32' ? 4 : 8;
  }

  #kit(step: string): { kit: Kit; m: ComplexMath } {
    const kit = new Kit(`${this.#r.name}${step}`, this.#target);
    return { kit, m: new ComplexMath(kit, this.#type) };
  }

  /** What is given: pairs of neighbours where real rows are halved. */
  #input(kit: Kit): Format {
    const pointer = kit.pointer({ kind: 'buffer', index: 0 });
    if (this.#halved) return { kind: 'pairs', pointer };
    if (this.#r.form === 'real') return { kind: 'real', pointer };
    return { kind: 'parts', re: pointer, im: kit.pointer({ kind: 'buffer', index: 1 }) };
  }

  #output(kit: Kit): { readonly re: string; readonly im: string } {
    const inputs = this.#r.form === 'real' ? 1 : 2;
    const part = (i: number): string => kit.pointer({ kind: 'buffer', index: inputs + i });
    return { re: part(0), im: part(1) };
  }

  /** Real values in pairs. */
  #values(kit: Kit): Format {
    return { kind: 'pairs', pointer: kit.pointer({ kind: 'buffer', index: 2 }) };
  }

  /** What comes in backwards. */
  #frequencies(kit: Kit, m: ComplexMath, where: Pick<Frequencies, 'row' | 'first' | 'stride' | 'exists'>): Source {
    const [re, im] = [0, 1].map((index) => kit.pointer({ kind: 'buffer', index })) as [string, string];
    const { length } = this.#r;
    return tangled(kit, m, { re, im, length, root: this.#tables.any(kit, m, length), ...where });
  }

  /** The first element of a row, or of one with more of them. */
  #from(kit: Kit, row: string, more = 0): string {
    return kit.b.def('d', 'mul.wide.u32', row, this.#length + more);
  }

  #realSink(kit: Kit): RealSink {
    const { length, frequencies } = this.#r;
    return { ...this.#output(kit), length, frequencies };
  }

  /** One launch: a block does a row, or several short ones. */
  #whole(): Part {
    const { rows, length, frequencies } = this.#r;
    const { kit, m } = this.#kit('');
    const { b } = kit;
    const size = this.#chirp?.size ?? this.#length;
    const block = rowsBlock(size, rows, this.#target.processors, this.#bytes);
    const first = b.def('r', 'mul.lo.u32', kit.special('ctaid.x'), block.transforms);
    const rowOf = (g: string): string => b.def('r', 'add.u32', first, g);
    const exists = (g: string): string | null =>
      rows % block.transforms === 0 ? null : b.def('p', 'setp.lt.u32', rowOf(g), rows);
    const lines = (format: Format, apart: number): Lines => ({
      format,
      stride: 1,
      origin: (g) => b.def('d', 'mul.wide.u32', rowOf(g), apart),
      exists,
    });
    const transform = new BlockTransform(kit, m, block, this.#tables, this.#length);
    const row = (g: string): string => b.def('d', 'mul.wide.u32', rowOf(g), frequencies);
    const source = this.#back
      ? this.#frequencies(kit, m, { row, first: () => b.def('r', 'mov.u32', 0), stride: 1, exists })
      : sourceOf(kit, m, lines(this.#input(kit), this.#length));
    if (this.#chirp) convolve(kit, m, this.#chirp, this.#tables, transform, source);
    else transform.run(source, 'along', 'along');
    if (this.#back) transform.write(lines(this.#values(kit), this.#length), exchanged);
    else if (this.#halved) {
      const sink = this.#realSink(kit);
      const roots = b.def('d', 'mov.u64', this.#tables.ofQuarter(length));
      transform.opposites(({ transform: g, item, inside }, here, there) => {
        const last = Math.floor(this.#length / 2);
        const root = loadPair(kit, m, roots, inside ? b.def('r', 'min.u32', item, last) : item);
        const real = both(kit, inside, exists(g));
        writeReal(kit, m, sink, kit.wide(rowOf(g)), item, untangled(m, root, here, there), real);
      });
    } else transform.write(lines({ kind: 'parts', ...this.#output(kit) }, frequencies));
    return kit.finish([blocksFor(rows, block.transforms), 1, 1], block.threads);
  }

  #passes(): Part[] {
    const { rows } = this.#r;
    const [a, b] = halvesOf(this.#length);
    const bytes = rows * this.#length * 2 * this.#bytes;
    const between = this.#layout.add(bytes);
    const halves = this.#halved && !this.#back ? this.#layout.add(bytes) : null;
    const parts = [this.#columns(a, b, between), this.#across(a, b, between, halves)];
    return halves ? [...parts, this.#untangle(halves)] : parts;
  }

  /** Which row a block works on, and the first of its neighbours there; `count` of these in a row. */
  #tile(kit: Kit, block: Block, count: number): { row: string; neighbour: (g: string) => string; tiles: number } {
    const { b } = kit;
    const tiles = blocksFor(count, block.transforms);
    const cta = kit.special('ctaid.x');
    const first = b.def('r', 'mul.lo.u32', b.def('r', 'rem.u32', cta, tiles), block.transforms);
    return {
      row: b.def('r', 'div.u32', cta, tiles),
      neighbour: (g) => b.def('r', 'add.u32', first, g),
      tiles,
    };
  }

  #columns(a: number, b: number, between: Argument): Part {
    const { rows } = this.#r;
    const { kit, m } = this.#kit('_columns');
    const block = columnsBlock(a, b, rows, this.#target.processors, this.#bytes);
    const { row, neighbour, tiles } = this.#tile(kit, block, b);
    const exists = (g: string): string | null =>
      b % block.transforms === 0 ? null : kit.b.def('p', 'setp.lt.u32', neighbour(g), b);
    const origin = (g: string): string => kit.b.def('d', 'add.u64', this.#from(kit, row), kit.wide(neighbour(g)));
    const lines = (format: Format): Lines => ({ format, stride: b, origin, exists });
    const transform = new BlockTransform(kit, m, block, this.#tables);
    const source = this.#back
      ? this.#frequencies(kit, m, { row: () => this.#from(kit, row, 1), first: neighbour, stride: b, exists })
      : sourceOf(kit, m, lines(this.#input(kit)));
    transform.run(source, 'across', 'across');
    const root = this.#tables.any(kit, m, this.#length);
    transform.write(lines({ kind: 'pairs', pointer: kit.pointer(between) }), (value, g, position) => {
      const t = kit.b.def('r', 'mul.lo.u32', neighbour(g), position);
      return m.times(value, root(kit.b.def('r', 'min.u32', t, this.#length - 1)));
    });
    return kit.finish([rows * tiles, 1, 1], block.threads);
  }

  #across(a: number, b: number, between: Argument, halves: Argument | null): Part {
    const { rows } = this.#r;
    const { kit, m } = this.#kit('_across');
    const block = columnsBlock(b, a, rows, this.#target.processors, this.#bytes);
    const { row, neighbour, tiles } = this.#tile(kit, block, a);
    const exists = (g: string): string | null =>
      a % block.transforms === 0 ? null : kit.b.def('p', 'setp.lt.u32', neighbour(g), a);
    const transform = new BlockTransform(kit, m, block, this.#tables);
    const source: Lines = {
      format: { kind: 'pairs', pointer: kit.pointer(between) },
      stride: 1,
      origin: (g) => kit.b.def('d', 'mad.lo.u64', kit.wide(neighbour(g)), b, this.#from(kit, row)),
      exists,
    };
    transform.run(sourceOf(kit, m, source), 'along', 'across');
    const sink: Lines = {
      format: halves
        ? { kind: 'pairs', pointer: kit.pointer(halves) }
        : this.#back
          ? this.#values(kit)
          : { kind: 'parts', ...this.#output(kit) },
      stride: a,
      origin: (g) => kit.b.def('d', 'add.u64', this.#from(kit, row), kit.wide(neighbour(g))),
      exists,
    };
    transform.write(sink, this.#back ? exchanged : undefined);
    return kit.finish([rows * tiles, 1, 1], block.threads);
  }

  /** The frequencies of real rows, a thread for each pair of opposite ones. */
  #untangle(halves: Argument): Part {
    const { rows, length } = this.#r;
    const { kit, m } = this.#kit('_real');
    const { b } = kit;
    const half = this.#length;
    const each = Math.floor(half / 2) + 1;
    const tiles = blocksFor(each, untanglers);
    const cta = kit.special('ctaid.x');
    const row = kit.wide(b.def('r', 'div.u32', cta, tiles));
    const tile = b.def('r', 'rem.u32', cta, tiles);
    const k = b.def('r', 'mad.lo.u32', tile, untanglers, kit.special('tid.x'));
    kit.exitWhen(b.def('p', 'setp.ge.u32', k, each));
    const origin = b.def('d', 'mul.lo.u64', row, half);
    const lines: Lines = {
      format: { kind: 'pairs', pointer: kit.pointer(halves) },
      stride: 1,
      origin: () => origin,
      exists: () => null,
    };
    const at = (position: string) => readLine(kit, m, lines, '', position, [0], null)[0]!;
    const back = b.def('r', 'sub.u32', half, k);
    const opposite = b.def('r', 'selp.b32', 0, back, b.def('p', 'setp.eq.u32', k, 0));
    const root = this.#tables.any(kit, m, length)(k);
    const sink = this.#realSink(kit);
    writeReal(kit, m, sink, row, k, untangled(m, root, at(k), at(opposite)), null);
    return kit.finish([rows * tiles, 1, 1], untanglers);
  }
}
