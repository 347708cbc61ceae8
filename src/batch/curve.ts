// The best size of a batch, measured: sizes 1, 2, 4 … up to the maximum, each for a while, after a warm-up.
//
// The best is the smallest size within 3 % of the highest rate: larger batches that gain nothing only cost memory. Curves are
// remembered per device, in the folder where routing keeps its measurements; in browsers for as long as the page lives.

import { makeFolder } from '../base/folder.ts';
import { importNode, isNode } from '../base/platform.ts';
import { routingFolder } from '../governor/routing/index.ts';
import type { Clock } from '../profile/clock.ts';
import { median } from '../profile/statistics.ts';

export interface SizePoint {
  readonly size: number;
  readonly itemsPerSecond: number;
  /** Half the distance between the fastest and the slowest batch, relative to the median. */
  readonly spread: number;
}

export interface SizeCurve {
  readonly best: number;
  readonly curve: readonly SizePoint[];
  readonly device: string;
}

const leastMs = 30;
const leastBatches = 3;
/** Sizes within this of the highest rate are as good. */
const asGood = 0.97;
/** No search goes on after so many sizes that were slower than the best: rates do not rise again. */
const patience = 2;

/** Measures sizes up to `maximum`; `run` computes a batch of so many items and resolves when the device is done. */
export async function measureCurve(
  clock: Clock,
  device: string,
  maximum: number,
  run: (size: number) => unknown,
): Promise<SizeCurve> {
  const curve: SizePoint[] = [];
  let [highest, worse] = [0, 0];
  for (
    let size = 1;
    size <= maximum && worse < patience;
    size = size < maximum && 2 * size > maximum ? maximum : 2 * size
  ) {
    await run(size);
    const times: number[] = [];
    const start = clock.now();
    while (times.length < leastBatches || clock.now() - start < leastMs) {
      const from = clock.now();
      await run(size);
      times.push(Math.max(1e-6, clock.now() - from));
    }
    const middle = median(times);
    const itemsPerSecond = (1000 * size) / middle;
    const spread = (Math.max(...times) - Math.min(...times)) / (2 * middle);
    curve.push({ size, itemsPerSecond, spread });
    worse = itemsPerSecond * asGood > highest ? 0 : worse + 1;
    highest = Math.max(highest, itemsPerSecond);
  }
  const best = curve.find((p) => p.itemsPerSecond >= asGood * highest)!.size;
  return { best, curve, device };
}

/** The largest size that was measured may be the best only because nobody went on: that says nothing about larger ones. */
const tells = ({ best, curve }: SizeCurve, maximum: number): boolean =>
  maximum <= (curve.at(-1)?.size ?? 0) || curve.some((p) => p.size > best);

const remembered = new Map<string, SizeCurve>();

/** Curves by device and operation. What cannot be read or written is measured again. */
export class CurveStore {
  readonly #folder: string | null;

  /** `folder`: null keeps them in memory alone. */
  constructor(folder: string | null) {
    this.#folder = folder;
  }

  /** A curve that says which size up to the maximum is best; null if none does. */
  async get(key: string, maximum: number): Promise<SizeCurve | null> {
    const curve = await this.#any(key);
    return curve && tells(curve, maximum) ? curve : null;
  }

  async #any(key: string): Promise<SizeCurve | null> {
    const known = remembered.get(key);
    if (known || this.#folder === null) return known ?? null;
    try {
      const { readFile } = (await importNode('fs/promises')) as typeof import('node:fs/promises');
      const all = JSON.parse(await readFile(this.#file(), 'utf8')) as Record<string, SizeCurve>;
      const curve = Object.hasOwn(all, key) ? all[key]! : null;
      return curve && Number.isSafeInteger(curve.best) && curve.best >= 1 ? curve : null;
    } catch {
      return null;
    }
  }

  async set(key: string, curve: SizeCurve): Promise<void> {
    remembered.set(key, curve);
    if (this.#folder === null) return;
    try {
      const fs = (await importNode('fs')) as typeof import('node:fs');
      const { readFile, rename, writeFile } = fs.promises;
      makeFolder(fs, this.#folder);
      const text = await readFile(this.#file(), 'utf8').catch(() => '{}');
      const all = { ...(JSON.parse(text) as object), [key]: curve };
      const temporary = `${this.#file()}.${process.pid}`;
      await writeFile(temporary, JSON.stringify(all));
      await rename(temporary, this.#file());
    } catch {
      // A read-only folder costs the next process a measurement, and nothing else.
    }
  }

  #file(): string {
    return `${this.#folder}/batch-sizes.json`;
  }
}

/** The folder of routing's measurements; null in browsers. */
export async function curveFolder(): Promise<string | null> {
  if (!isNode()) return null;
  const { homedir } = (await importNode('os')) as typeof import('node:os');
  return routingFolder(process.env, homedir());
}
