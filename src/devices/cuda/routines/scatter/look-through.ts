// Few updates: every output element looks through them in order.

import type { Scatter } from '../../../../kernel/kernel.ts';
import type { Target } from '../../ptx/target.ts';
import { blocksFor, Kit } from '../kit.ts';
import type { Part } from '../recipe-of.ts';
import { combined, loaded, placeAt, split3, sumType, threads, totalOf } from './parts.ts';

export function lookThrough(s: Scatter, target: Target): Part {
  const kit = new Kit(s.name, target);
  const { b } = kit;
  const base = kit.pointer({ kind: 'buffer', index: 0 });
  const at = kit.pointer({ kind: 'buffer', index: 1 });
  const updates = kit.pointer({ kind: 'buffer', index: 2 });
  const output = kit.pointer({ kind: 'buffer', index: 3 });
  const i = kit.globalThread(threads);
  kit.exitWhen(b.def('p', 'setp.ge.u64', i, totalOf(s)));
  const [o, l, n] = split3(kit, i, s.length, s.inner);
  const wanted = b.def('r', 'cvt.u32.u64', l);
  const sum = kit.variable(sumType(s), loaded(kit, s, base, i));
  const j = b.def('d', 'mov.u64', 0);
  kit.while(
    () => b.def('p', 'setp.lt.u64', j, s.count),
    () => {
      const u = b.def('d', 'mad.lo.u64', b.def('d', 'mad.lo.u64', o, s.count, j), s.inner, n);
      const place = placeAt(kit, s, at, s.perElement ? u : j);
      const hit = b.def('p', 'setp.eq.u32', place, wanted);
      kit.when(hit, () =>
        kit.assign(sumType(s), sum, combined(kit, s, sum, loaded(kit, s, updates, s.uniform ? '0' : u))),
      );
      b.set(j, 'add.u64', j, 1);
    },
  );
  kit.store(s.type, output, i, kit.cast(sumType(s), s.type, sum));
  return kit.finish([blocksFor(totalOf(s), threads), 1, 1], threads);
}
