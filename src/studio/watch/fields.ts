// Fields while somebody looks: what went in and came out last, how late the motors were, how well sensors are predicted. Loaded with
// the first field.

import { Newest } from '../../base/newest.ts';
import { quantilesOf } from '../../base/quantiles.ts';
import { type Field, type FieldEvents, type FieldSettings, latencyHistogram, settingViews } from '../../field/index.ts';
import type { FieldSample, FieldSlice, FieldView } from '../types.ts';

/** Ticks that the histogram is of. */
const mostTicks = 1000;
const rateMs = 5000;

/** The time of a cycle in ms, since 1970; and how long it took. */
interface Done {
  readonly time: number;
  readonly ms: number;
}

export class FieldWatch {
  readonly name: string;
  readonly #field: Field;
  readonly #cycles = new Newest<Done>(mostTicks);
  #latencies = new Newest<number>(mostTicks);
  #loop: { readonly hz: number; ticks: number; missed: number } | null = null;
  #last: FieldEvents['cycle'] | null = null;
  #stops: readonly (() => void)[] = [];
  #slicing: Promise<unknown> = Promise.resolve();

  constructor(name: string, field: Field) {
    this.name = name;
    this.#field = field;
  }

  start(): void {
    if (this.#stops.length > 0) return;
    this.#stops = [
      this.#field.on('cycle', (cycle) => {
        this.#last = cycle;
        this.#cycles.push({ time: Date.now(), ms: cycle.state.cycleTimeMs });
      }),
      this.#field.on('tick', ({ hz, latencyMs, missed }) => {
        // A loop at another rate has another deadline.
        if (this.#loop?.hz !== hz) this.#begin(hz);
        this.#latencies.push(latencyMs);
        this.#loop!.ticks++;
        this.#loop!.missed += missed;
      }),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.#cycles.clear();
    this.#loop = null;
    this.#last = null;
  }

  view(now: number): FieldView {
    const { options, device, cycle, disposed } = this.#field;
    const { edges, model, sensorDim, motorDim } = options.shape;
    return {
      name: this.name,
      device,
      model,
      disposed,
      cells: edges,
      channels: this.#last?.state.tensorShape[3] ?? channelsOf(options.shape.layout),
      bytes: this.#field.bytes,
      sensorDim,
      motorDim,
      cycle,
      cyclesPerSecond: this.#rate(now),
      cycleMs: quantilesOf(this.#cycles.list().map((c) => c.ms)),
      sensors: this.#last ? [...this.#last.sensors] : null,
      motors: this.#last ? [...this.#last.motors] : null,
      state: this.#last?.state ?? null,
      settings: settingViews(options.settings, model),
      loop: this.#loop && {
        ...this.#loop,
        latency: quantilesOf(this.#latencies.list())!,
        histogram: latencyHistogram(this.#latencies.list(), 1000 / this.#loop.hz),
      },
    };
  }

  sample({ cyclesPerSecond, cycleMs, loop, state }: FieldView): FieldSample {
    return {
      name: this.name,
      cyclesPerSecond,
      latencyMs: loop?.latency.p50 ?? cycleMs?.p50 ?? null,
      confidence: state?.predictionConfidence ?? null,
      skill: state?.predictionSkill ?? null,
    };
  }

  /** Values to look at. One after the other: a page that asks for many does not fill the device's queue. */
  slice(axis: number, index: number, channel: number): Promise<FieldSlice> {
    const next = this.#slicing.then(async (): Promise<FieldSlice> => {
      const values = await this.#field.slice(axis as 0 | 1 | 2, index, channel);
      const [height, width] = this.#field.options.shape.edges.filter((_, i) => i !== axis) as [number, number];
      const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
      return { cycle: this.#field.cycle, height, width, values: bytes.toString('base64') };
    });
    this.#slicing = next.catch(() => {});
    return next;
  }

  /** From the field's next cycle on. What makes no sense is refused by the field. */
  configure(changes: Partial<FieldSettings>): Promise<FieldSettings> {
    return this.#field.configure(changes);
  }

  /** Hears of every change, whoever made it, in words. */
  onSettings(told: (text: string) => void): () => void {
    return this.#field.on('settings', ({ cycle, changed }) => {
      const list = Object.entries(changed).map(([name, value]) => `${name} ${String(value)}`);
      told(`${this.name}: ${list.join(', ')} from cycle ${cycle} on`);
    });
  }

  #begin(hz: number): void {
    this.#loop = { hz, ticks: 0, missed: 0 };
    this.#latencies = new Newest(mostTicks);
  }

  /** Over the last seconds; null if no cycle has ended since a page was opened. */
  #rate(now: number): number | null {
    const list = this.#cycles.list();
    const first = list.findIndex((c) => c.time > now - rateMs);
    if (list.length === 0) return null;
    if (first < 0) return 0;
    // A full ring holds less than the whole time.
    const span = first === 0 ? Math.max(1, now - list[0]!.time) : rateMs;
    return (1000 * (list.length - first)) / span;
  }
}

const channelsOf = (layout: Field['options']['shape']['layout']): number =>
  Object.values(layout).reduce((sum: number, n) => sum + Number(n), 0);
