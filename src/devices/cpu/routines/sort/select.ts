// Some of each row as if it were sorted, without sorting it: the largest ten, the two in the middle.
//
// A sample of the row, sorted, tells between which two keys the wanted ones should lie; one pass over the row counts what lies below and
// picks out what lies between, of which few are left to sort. If the sample was misleading the pass is repeated with that bound taken
// away, so what is found never depends on it. Of the elements that equal the upper bound the first ones are enough: equal elements keep
// their order. Rows are worked on by one thread each.

import { byteSize } from '../../../../base/dtype.ts';
import type { TopK } from '../../../../kernel/kernel.ts';
import { WasmCode, type WasmEngine } from '../../engine.ts';
import type { CpuProgram } from '../../program.ts';
import { moduleText } from '../../wasm/text.ts';
import { CodeProgram } from '../code-program.ts';
import { aligned } from '../emit.ts';
import { keys } from './keys.ts';
import { localBytes } from './local.ts';
import { bucketBytes } from './pairs.ts';
import { renderSelect } from './select-row.ts';

const maxGroups = 64;
/** Scratch that all groups together may take, as long as there are as many as threads. */
const mostScratch = 64 << 20;
/** Samples by the length of the row; shorter rows have none, and all of their elements are sorted. */
const sampled = [
  { from: 1 << 16, samples: 2048 },
  { from: 1 << 12, samples: 256 },
  { from: 1 << 8, samples: 64 },
] as const;
/** How far, in standard deviations, a bound is from where a sample of its size has it on average. */
const caution = 3.5;

/** What the code is made for, beside the routine. */
export interface SelectPlan {
  readonly routine: TopK;
  readonly groups: number;
  readonly groupRows: number;
  readonly samples: number;
  /** Which of the sorted samples are the bounds; null where a row has none. */
  readonly lower: number | null;
  readonly upper: number | null;
  /** Where the parts of a group's scratch begin, and where it ends. */
  readonly at: Readonly<Record<ScratchPart, number>>;
  readonly bytes: number;
}

const scratchParts = ['keys', 'positions', 'otherKeys', 'otherPositions', 'buckets', 'local'] as const;
type ScratchPart = (typeof scratchParts)[number];

function planOf(r: TopK, threads: number): SelectPlan {
  const samples = sampled.find(({ from }) => r.columns >= from)?.samples ?? 0;
  const keyBytes = keys[r.type].word === 'i64' ? 8 : 4;
  // What is picked out is written four at a time.
  const room = r.columns + 4;
  const sizes: Readonly<Record<ScratchPart, number>> = {
    keys: room * keyBytes,
    positions: room * 4,
    otherKeys: room * keyBytes,
    otherPositions: room * 4,
    buckets: bucketBytes(keys[r.type].word),
    local: localBytes + 3 * 8 * samples,
  };
  const at: Partial<Record<ScratchPart, number>> = {};
  let bytes = 0;
  for (const part of scratchParts) {
    at[part] = bytes;
    bytes += aligned(sizes[part]);
  }
  const most = Math.min(maxGroups, Math.max(threads, Math.floor(mostScratch / bytes)));
  const groupRows = Math.ceil(r.rows / most);
  const groups = Math.ceil(r.rows / groupRows);
  return { routine: r, groups, groupRows, samples, ...boundsOf(r, samples), at: at as SelectPlan['at'], bytes };
}

function boundsOf(r: TopK, samples: number): Pick<SelectPlan, 'lower' | 'upper'> {
  /** How many of the samples come before a rank, on average, and how far off that may be. */
  const among = (rank: number): { mean: number; off: number } => {
    const share = rank / r.columns;
    return { mean: share * samples, off: caution * Math.sqrt(samples * share * (1 - share)) + 2 };
  };
  const [low, high] = [among(r.first), among(r.first + r.count)];
  const [lower, upper] = [Math.floor(low.mean - low.off), Math.ceil(high.mean + high.off)];
  return { lower: lower < 0 ? null : lower, upper: upper >= samples ? null : upper };
}

export function prepareSelect(r: TopK, engine: WasmEngine): CpuProgram {
  const plan = planOf(r, engine.threads);
  const bytes = renderSelect(plan, engine.memory.shared);
  const [elements, kept] = [r.rows * r.columns, r.rows * r.count];
  return new CodeProgram(
    {
      code: new WasmCode(r.name, bytes, () => moduleText(bytes)),
      needs: [elements * byteSize(r.type), kept * byteSize(r.type), kept * 4],
      inputs: 1,
      items: plan.groups,
      grain: 1,
      nanoseconds: elements + kept * 20,
      scratchBytes: plan.groups * plan.bytes,
    },
    engine,
  );
}
