// What a batch will take before it runs: peak memory and time, with error bars.
//
// Memory is known from the plans: results stay, temporaries of an item (of a whole group, on devices that record) come and
// go. Time is known from what work of this kind took on this device; before anything was measured, from the device's probe.

import { CostModel } from '../batch/cost-model.ts';
import { groupsOf } from '../batch/fused.ts';
import { isWide } from '../batch/groups.ts';
import { type BatchOp, nameOf, ops } from '../batch/ops.ts';
import type { Tensor } from '../index.ts';
import { Bounded } from '../profile/bounded.ts';
import type { Timeline } from '../profile/timeline.ts';
import { type BatchOptions, defaultChunk } from './batch.ts';
import { probeElements } from './probe.ts';
import type { Station } from './station.ts';

export interface Estimate {
  /** Bytes that the call takes at its peak, on top of its inputs. */
  readonly peakBytes: number;
  readonly peakBytesError: number;
  readonly ms: number;
  readonly msError: number;
  readonly source: 'measured' | 'probe';
  /** Whether the peak fits into what the device has free now. */
  readonly fits: boolean;
}

/** What allocators may add to a buffer. */
const granularity = 256;

export class ResourcePredictor {
  readonly #models = new Bounded<CostModel>(256);
  readonly #timeline: Timeline;
  readonly #stop: () => void;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
    this.#stop = timeline.watch((span) => {
      if (span.kind !== 'compute' || span.failed) return;
      this.#models.of(`${span.device} ${span.name}`, () => new CostModel()).add(span.bytes, span.ms);
    });
  }

  /** `chunk`: how many tensors are computed at once. */
  batch(station: Station, tensors: readonly Tensor[], op: BatchOp, options: BatchOptions): Estimate {
    const chunk = typeof options.chunkSize === 'number' ? options.chunkSize : defaultChunk;
    const kinds = new Map<string, { first: Tensor; count: number }>();
    for (const t of tensors) {
      const key = `${t.dtype}[${t.shape.join()}]`;
      const known = kinds.get(key);
      if (known) known.count++;
      else kinds.set(key, { first: t, count: 1 });
    }
    let [results, temporaries, moved, launches] = [0, 0, 0, 0];
    for (const { first, count } of kinds.values()) {
      const item = this.#item(station, first, op);
      results += item.result * count;
      const together =
        typeof op === 'string' && station.device.record ? Math.max(...groupsOf(Math.min(count, chunk))) : 1;
      temporaries = Math.max(temporaries, item.temporary * together);
      moved += item.moved * count;
      launches += item.launches * count;
    }
    const peakBytes = results + temporaries;
    const time = this.#time(station, tensors, op, chunk, moved, launches);
    return {
      peakBytes,
      // Temporaries that do not live at the same time, and what allocators round up.
      peakBytesError: Math.ceil(temporaries / 2 + Math.min(granularity * tensors.length, 0.05 * peakBytes)),
      ...time,
      fits: peakBytes <= station.device.memory().free,
    };
  }

  dispose(): void {
    this.#stop();
  }

  /** One item's bytes, from its plan. */
  #item(
    station: Station,
    tensor: Tensor,
    op: BatchOp,
  ): { result: number; temporary: number; moved: number; launches: number } {
    const { runtime, id } = station;
    const wide = isWide(runtime, id);
    let figures = { result: 0, temporary: 0, moved: 0, launches: 0 };
    runtime.scope({ device: id }, () => {
      const out = typeof op === 'string' ? ops[op].run(tensor, wide) : op(tensor);
      const { temporaryBytes, kernels } = runtime.explain(out);
      figures = {
        result: out.nbytes,
        temporary: temporaryBytes,
        moved: kernels.reduce((n, k) => n + k.bytes, 0),
        launches: kernels.length,
      };
    });
    return figures;
  }

  #time(
    station: Station,
    tensors: readonly Tensor[],
    op: BatchOp,
    chunk: number,
    moved: number,
    launches: number,
  ): { ms: number; msError: number; source: 'measured' | 'probe' } {
    this.#timeline.tell();
    const bytes = tensors.reduce((n, t) => n + t.nbytes, 0);
    const chunks = Math.ceil(tensors.length / chunk);
    const known = this.#models.get(`${station.id} ${nameOf(op)}`)?.predict(chunks === 0 ? 0 : bytes / chunks);
    if (known) return { ms: known.ms * chunks, msError: known.ms * chunks * known.error, source: 'measured' };
    const { kernelMs, latencyMs } = station.probe;
    const ms = launches * Math.min(latencyMs, 0.05) + (moved * kernelMs) / (8 * probeElements);
    return { ms, msError: ms, source: 'probe' };
  }
}
