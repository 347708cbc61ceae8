// Transforms of lengths with large prime factors, as convolutions of a power of two that a block does at once (`chirpOf`).

import type { Chirp } from '../../../../kernel/unit-roots.ts';
import type { Kit } from '../kit.ts';
import type { BlockTransform } from './block.ts';
import { type Complex, type ComplexMath, exchanged } from './complex.ts';
import { both, type Source } from './lines.ts';
import { loadPair, type Tables } from './tables.ts';

/** Frequencies of the first values of a row, held by `transform`, whose length is the convolution's. */
export function convolve(
  kit: Kit,
  m: ComplexMath,
  { chirp, spectrum }: Chirp,
  tables: Tables,
  transform: BlockTransform,
  source: Source,
): void {
  const table = (name: string, roots: Chirp['chirp']): string => kit.b.def('d', 'mov.u64', tables.of(name, roots));
  const [turns, kernel] = [table('chirp', chirp), table('spectrum', spectrum)];
  const last = chirp.length - 1;
  const turned = (v: Complex, position: string): Complex =>
    m.times(v, loadPair(kit, m, turns, kit.b.def('r', 'min.u32', position, last)));
  transform.run(chirped(kit, m, source, chirp.length, turned), 'along', 'along');
  // Backwards is forwards with exchanged parts.
  transform.change((v, _, position) => {
    const some = kit.b.def('r', 'min.u32', position, spectrum.length - 1);
    return exchanged(m.times(v, loadPair(kit, m, kernel, some)));
  });
  transform.again();
  transform.change((v, _, position) => turned(exchanged(v), position));
}

/** Values times the chirp, and zeros behind the last one. */
function chirped(
  kit: Kit,
  m: ComplexMath,
  source: Source,
  count: number,
  turned: (v: Complex, position: string) => Complex,
): Source {
  const { b } = kit;
  const zero = m.number(0);
  return {
    exists: source.exists,
    read: (transform, from, behind, inside) =>
      behind.map((far) => {
        if (far >= count) return { re: m.constant(0), im: m.constant(0) };
        const at = far === 0 ? from : b.def('r', 'add.u32', from, far);
        const counts = b.def('p', 'setp.lt.u32', at, count);
        const [value] = source.read(transform, from, [far], both(kit, inside, counts));
        const { re, im } = turned(value!, at);
        return { re: m.chosen(counts, re, zero), im: m.chosen(counts, im, zero) };
      }),
  };
}
