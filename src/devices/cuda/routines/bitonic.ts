// Sorting pairs of key and place in shared memory by one block: a bitonic network, stable because places break ties.

import type { Kit } from './kit.ts';

export interface SharedPairs {
  readonly tid: string;
  readonly threads: number;
  /** How many: a power of two, at least 2. */
  readonly size: number;
  /** Where the keys lie, unsigned numbers of 8 bytes or 4, and where the places of 4 bytes. */
  readonly keys: string;
  readonly places: string;
  readonly wide: boolean;
}

/** Emits a body for each of n numbers, which the threads share. */
export function eachOf(kit: Kit, tid: string, threads: number, n: number, body: (i: string) => void): void {
  const { b } = kit;
  const i = b.def('r', 'mov.u32', tid);
  kit.while(
    () => b.def('p', 'setp.lt.u32', i, n),
    () => {
      body(i);
      b.set(i, 'add.u32', i, threads);
    },
  );
}

/** The pairs must be there before it; it ends with a wait for all threads. */
export function sortPairs(kit: Kit, { tid, threads, size, keys, places, wide }: SharedPairs): void {
  const { b } = kit;
  const [kind, suffix, u] = wide ? (['d', 'b64', 'u64'] as const) : (['r', 'b32', 'u32'] as const);
  const keyAt = (i: string): string => b.def('r', 'mad.lo.u32', i, wide ? 8 : 4, keys);
  const placeAt = (i: string): string => b.def('r', 'mad.lo.u32', i, 4, places);
  const length = b.def('r', 'mov.u32', 2);
  kit.while(
    () => b.def('p', 'setp.le.u32', length, size),
    () => {
      const distance = b.def('r', 'shr.u32', length, 1);
      kit.while(
        () => b.def('p', 'setp.gt.u32', distance, 0),
        () => {
          eachOf(kit, tid, threads, size / 2, (t) => {
            // Pair t: i has the bit `distance` clear, j has it set.
            const low = b.def('r', 'and.b32', t, b.def('r', 'sub.u32', distance, 1));
            const i = b.def('r', 'sub.u32', b.def('r', 'shl.b32', t, 1), low);
            const j = b.def('r', 'add.u32', i, distance);
            const [ki, kj, pi, pj] = [keyAt(i), keyAt(j), placeAt(i), placeAt(j)];
            const a = b.def(kind, `ld.shared.${suffix}`, `[${ki}]`);
            const c = b.def(kind, `ld.shared.${suffix}`, `[${kj}]`);
            const pa = b.def('r', 'ld.shared.u32', `[${pi}]`);
            const pc = b.def('r', 'ld.shared.u32', `[${pj}]`);
            const greater = b.def('p', `setp.gt.${u}`, a, c);
            const tie = b.def('p', 'and.pred', b.def('p', `setp.eq.${u}`, a, c), b.def('p', 'setp.gt.u32', pa, pc));
            const inOrder = b.def('p', 'not.pred', b.def('p', 'or.pred', greater, tie));
            // Stretches of `length` alternate in direction, except in the last round.
            const up = b.def('p', 'setp.eq.u32', b.def('r', 'and.b32', i, length), 0);
            const swap = b.def('p', 'xor.pred', up, inOrder);
            kit.when(swap, () => {
              b.emit(`st.shared.${suffix} [${ki}], ${c}`);
              b.emit(`st.shared.${suffix} [${kj}], ${a}`);
              b.emit(`st.shared.u32 [${pi}], ${pc}`);
              b.emit(`st.shared.u32 [${pj}], ${pa}`);
            });
          });
          kit.sync();
          b.set(distance, 'shr.u32', distance, 1);
        },
      );
      b.set(length, 'shl.b32', length, 1);
    },
  );
}
