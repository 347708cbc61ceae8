// Roots of unity as constants of a module: pairs of numbers, rounded from f64, that kernels read like any other memory.

import { rootOf } from '../../../../kernel/unit-roots.ts';
import { f32Literal, f64Literal } from '../../ptx/types.ts';
import type { Kit } from '../kit.ts';
import type { Complex, ComplexMath, FourierType } from './complex.ts';
import type { Stage } from './plan.ts';

/** Roots of a whole circle are two products: this many fine steps to a coarse one. */
const fine = 1024;

/** A table in a kernel: its address. */
export class Tables {
  readonly #type: FourierType;
  readonly #declared = new Map<string, string>();

  constructor(type: FourierType) {
    this.#type = type;
  }

  /** What a module has to declare. */
  get declarations(): readonly string[] {
    return [...this.#declared.values()];
  }

  /** The name of a table of so many roots; the same name for the same roots. */
  #table(name: string, count: number, root: (i: number) => readonly [number, number]): string {
    if (!this.#declared.has(name)) {
      const literal = this.#type === 'f32' ? f32Literal : f64Literal;
      const numbers: string[] = [];
      for (let i = 0; i < count; i++) for (const part of root(i)) numbers.push(literal(part));
      this.#declared.set(name, `.global .align 16 .${this.#type} ${name}[${2 * count}] = {${numbers.join(', ')}};`);
    }
    return name;
  }

  /** Roots that are known already. */
  of(name: string, roots: readonly (readonly [number, number])[]): string {
    return this.#table(name, roots.length, (i) => roots[i]!);
  }

  /** Behind a stage: root(r·m)^(p·k) at (k - 1)·m + p, so that neighbouring p read side by side. */
  ofStage({ radix, m }: Stage): string {
    return this.#table(`roots_${radix}_${m}`, (radix - 1) * m, (i) =>
      rootOf((i % m) * (Math.floor(i / m) + 1), radix * m),
    );
  }

  /** root(n)^i up to a quarter of the circle. */
  ofQuarter(n: number): string {
    return this.#table(`roots_quarter_${n}`, Math.floor(n / 4) + 1, (i) => rootOf(i, n));
  }

  /** root(n)^t for any t below n, a register: a coarse step times a fine one. */
  any(kit: Kit, m: ComplexMath, n: number): (t: string) => Complex {
    const { b } = kit;
    const near = b.def(
      'd',
      'mov.u64',
      this.#table(`roots_fine_${n}`, Math.min(fine, n), (i) => rootOf(i, n)),
    );
    const far = b.def(
      'd',
      'mov.u64',
      this.#table(`roots_coarse_${n}`, Math.ceil(n / fine), (i) => rootOf(i * fine, n)),
    );
    return (t) => {
      const low = loadPair(kit, m, near, b.def('r', 'rem.u32', t, fine));
      return m.times(loadPair(kit, m, far, b.def('r', 'div.u32', t, fine)), low);
    };
  }
}

/** Pair `index` of a table (or of interleaved values) at an address; `more` pairs further on. */
export function loadPair(kit: Kit, m: ComplexMath, address: string, index: string, more = 0): Complex {
  const pair = { re: m.register(), im: m.register() };
  const at = kit.b.def('d', 'mad.lo.u64', kit.wide(index), 2 * m.bytes, address);
  kit.b.emit(`ld.global.nc.v2.${m.type} {${pair.re}, ${pair.im}}, [${at}+${more * 2 * m.bytes}]`);
  return pair;
}
