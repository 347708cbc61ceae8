// The sums of neighbours, handed out among the threads of a group through shared memory.
//
// Every thread writes its part of all sums of one kind, and reads all parts of one sum, or of a part of it. Exchanging them from thread to
// thread takes four instructions for two parts: choose what to keep, choose what to give, give, add. This takes two and a quarter: write,
// read a fourth, add.

import { emitAlu } from '../alu.ts';
import { combineOf, shuffle, stateKinds } from '../combine.ts';
import type { PtxScope } from '../scope.ts';
import { type Builder, type States, slotsOf } from './builder.ts';

/** Fewer neighbours are exchanged directly. */
const fewest = 8;
const vector = 4;
const wordBytes = 4;

/** Whether the sums are single words, and there is at least a thread for each neighbour. */
export function handsOut({ near, plan, bits }: Pick<Builder, 'near' | 'plan' | 'bits'>): boolean {
  const words = near.origin.accumulators.every((a) => {
    const kinds = stateKinds(a, bits);
    return kinds.length === 1 && (kinds[0] === 'f' || kinds[0] === 'r');
  });
  return words && near.count >= fewest && near.count <= plan.group && plan.group <= 32;
}

/** All sums of one neighbour for each thread, or for `sharing` threads; `number` says of which. */
export interface HandedOut {
  readonly states: States;
  readonly number: string;
  readonly sharing: number;
}

/** `states` are those of all neighbours, one after the other. */
export function handOut(b: Builder, scope: PtxScope, states: States): HandedOut {
  const { entry, near, plan, tid } = b;
  const { body } = entry;
  const { accumulators } = near.origin;
  const { group } = plan;
  const { count } = near;
  const sharing = group / count;
  // A row for each neighbour, a word for each thread; a little longer, so that threads that read different rows meet in few banks.
  const rowBytes = (group + vector) * wordBytes;
  const groupBytes = count * rowBytes;
  const base = body.def('r', 'mov.u32', entry.sharedArray((plan.threads / group) * groupBytes));
  const member = body.def('r', 'and.b32', tid, group - 1);
  const own = body.def('r', 'mad.lo.u32', body.def('r', 'shr.u32', tid, Math.log2(group)), groupBytes, base);
  const written = body.def('r', 'mad.lo.u32', member, wordBytes, own);
  const number = sharing === 1 ? member : body.def('r', 'shr.u32', member, Math.log2(sharing));
  const row = body.def('r', 'mad.lo.u32', number, rowBytes, own);
  const part = body.def('r', 'and.b32', member, sharing - 1);
  const read = sharing === 1 ? row : body.def('r', 'mad.lo.u32', part, count * wordBytes, row);
  const made = accumulators.map((a, i) => {
    const { kind } = slotsOf(b)[i]!;
    const type = kind === 'f' ? 'f32' : 'b32';
    // What was read last time must have been read by all.
    if (i > 0) body.emit('bar.warp.sync 0xffffffff');
    for (let u = 0; u < count; u++)
      body.emit(`st.shared.${type} [${written}+${u * rowBytes}], ${states[u * accumulators.length + i]![0]!}`);
    body.emit('bar.warp.sync 0xffffffff');
    let open: string[] = [];
    for (let k = 0; k < count; k += vector) {
      const registers = Array.from({ length: vector }, () => entry.reg(kind));
      body.emit(`ld.shared.v${vector}.${type} {${registers.join(', ')}}, [${read}+${k * wordBytes}]`);
      open.push(...registers);
    }
    const combine = (x: string, y: string): string => emitAlu(scope.context, combineOf(a.op), a.type, [x, y]);
    while (open.length > 1) open = open.slice(0, open.length / 2).map((v, k) => combine(v, open[k + open.length / 2]!));
    let sum = open[0]!;
    for (let distance = sharing / 2; distance >= 1; distance /= 2)
      sum = combine(sum, shuffle(body, kind, sum, distance));
    return [sum];
  });
  return { states: made, number, sharing };
}
