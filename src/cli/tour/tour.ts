// The tour: every open device does every piece of work, every result is checked.

import { createRuntime, type DeviceKind, type DeviceReport, ForgeError } from '../../index.ts';
import { type TourWork, works } from './works.ts';

export interface Row {
  readonly work: string;
  readonly device: string;
  /** Median time of one run, in ms. */
  readonly ms: number;
  readonly gbPerSecond: number;
  readonly gflopPerSecond: number;
  /** What was wrong with the result, or null. */
  readonly error: string | null;
}

export interface TourReport {
  readonly devices: readonly DeviceReport[];
  readonly rows: readonly Row[];
  readonly ok: boolean;
}

export interface TourOptions {
  readonly devices?: readonly DeviceKind[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before each piece of work. */
  readonly onProgress?: (done: number, total: number, what: string) => void;
}

/** Runs long enough for a steady median, short enough for a tour. */
const budgetMs = 250;

export async function runTour(options: TourOptions): Promise<TourReport> {
  await using probe = await createRuntime({ devices: options.devices });
  const reports = probe.devices();
  const open = reports.filter((r) => r.open).map((r) => r.id);
  const rows: Row[] = [];
  const total = open.length * works.length;
  for (const id of open) {
    for (const work of works) {
      options.signal?.throwIfAborted();
      options.onProgress?.(rows.length, total, `${work.name} on ${id}`);
      rows.push(await measure(work, id));
    }
  }
  return { devices: reports, rows, ok: rows.every((r) => r.error === null) };
}

async function measure(work: TourWork, id: string): Promise<Row> {
  const kind = id.split(':')[0] as DeviceKind;
  const failed = (error: string): Row => ({
    work: work.name,
    device: id,
    ms: Number.NaN,
    gbPerSecond: Number.NaN,
    gflopPerSecond: Number.NaN,
    error,
  });
  try {
    // A runtime of its own: nothing of one piece of work is left for the next.
    await using rt = await createRuntime({ devices: [kind] });
    const { run, check } = work.prepare(rt);
    const once = async (): Promise<number> => {
      const start = performance.now();
      using result = run();
      await rt.flush(result);
      return performance.now() - start;
    };
    {
      using first = run();
      const wrong = check((await first.data()) as ArrayLike<number>);
      if (wrong) return failed(wrong);
    }
    const times: number[] = [];
    for (let spent = 0; times.length < 3 || (spent < budgetMs && times.length < 1000); ) {
      const ms = await once();
      times.push(ms);
      spent += ms;
    }
    times.sort((a, b) => a - b);
    const ms = times[times.length >> 1]!;
    return {
      work: work.name,
      device: id,
      ms,
      gbPerSecond: work.bytes / ms / 1e6,
      gflopPerSecond: work.flops / ms / 1e6,
      error: null,
    };
  } catch (error) {
    if (error instanceof ForgeError) return failed(error.message);
    throw error;
  }
}
