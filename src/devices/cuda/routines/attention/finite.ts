// Whether values that no query sees are finite: a weight of 0 times an infinite value, or NaN, is NaN, so those are not passed over.

import type { Attention } from '../../../../kernel/kernel.ts';
import type { Target } from '../../ptx/target.ts';
import type { Argument } from '../../step.ts';
import { Kit } from '../kit.ts';

const threads = 256;
/** Blocks, and flags, of each batch. */
const flags = 8;

export const flagBytes = (r: Attention): number => r.batchV * flags * 4;

/** A kernel that sets a flag for each part of V with something in it that is not finite. */
export function flagKernel(r: Attention, to: Argument, target: Target) {
  const kit = new Kit(`${r.name}_finite`, target);
  const { b } = kit;
  const wide = r.type === 'f32';
  const v = kit.pointer({ kind: 'buffer', index: 2 });
  const out = kit.pointer(to);
  const [block, tid] = [kit.special('ctaid.x'), kit.special('tid.x')];
  // Vectors of 16 bytes: heads are multiples of 8.
  const perVector = wide ? 4 : 8;
  const vectors = (r.keys * r.width) / perVector;
  const batch = b.def('r', 'div.u32', block, flags);
  const part = b.def('r', 'sub.u32', block, b.def('r', 'mul.lo.u32', batch, flags));
  const from = b.def('d', 'mad.wide.u32', batch, vectors, '0');
  const base = b.def('d', 'mad.lo.u64', from, 16, v);
  const [exponent, half] = wide
    ? ['0x7f800000', '']
    : r.type === 'f16'
      ? ['0x7c00', '0x7c000000']
      : ['0x7f80', '0x7f800000'];
  const bad = b.def('r', 'mov.u32', 0);
  const at = b.def('r', 'mad.lo.u32', part, threads, tid);
  kit.while(
    () => b.def('p', 'setp.lt.u32', at, vectors),
    () => {
      const four = Array.from({ length: 4 }, () => kit.entry.reg('r'));
      b.emit(`ld.global.nc.v4.b32 {${four.join(', ')}}, [${b.def('d', 'mad.wide.u32', at, 16, base)}]`);
      for (const word of four) {
        for (const bits of half === '' ? [exponent] : [exponent, half]) {
          const full = b.def('p', 'setp.eq.u32', b.def('r', 'and.b32', word, bits), bits);
          b.emit(`@${full} mov.u32 ${bad}, 1`);
        }
      }
      b.set(at, 'add.u32', at, flags * threads);
    },
  );
  const any = b.def('p', 'setp.ne.u32', bad, 0);
  const found = kit.entry.reg('p');
  b.emit(`bar.red.or.pred ${found}, 0, ${any}`);
  const first = b.def('p', 'setp.eq.u32', tid, 0);
  b.emit(
    `@${first} st.global.u32 [${b.def('d', 'mad.wide.u32', block, 4, out)}], ${b.def('r', 'selp.b32', 1, 0, found)}`,
  );
  return kit.finish([r.batchV * flags, 1, 1], threads);
}

/** A predicate: every value of a batch is finite. */
export function allFinite(kit: Kit, r: Attention, from: Argument, batch: string): string {
  const { b } = kit;
  const base = kit.pointer(from);
  const at = r.batchV === 1 ? base : b.def('d', 'mad.lo.u64', batch, flags * 4, base);
  const words = Array.from({ length: flags }, () => kit.entry.reg('r'));
  for (let i = 0; i < flags; i += 4) b.emit(`ld.global.v4.u32 {${words.slice(i, i + 4).join(', ')}}, [${at}+${4 * i}]`);
  return b.def(
    'p',
    'setp.eq.u32',
    words.reduce((x, y) => b.def('r', 'or.b32', x, y)),
    0,
  );
}
