// Memory over time in at most 10,000 points. When there are more, neighbours are merged in pairs of pairs: the lowest and the
// highest of each four stay, so that no peak disappears.

export interface MemoryPoint {
  readonly t: number;
  readonly device: string;
  readonly live: number;
  readonly reserved: number;
  /** Bytes of other processes; null where the device does not tell. */
  readonly others: number | null;
}

export const mostPoints = 10_000;

export class MemoryCurve {
  #points: MemoryPoint[] = [];

  add(point: MemoryPoint): void {
    this.#points.push(point);
    if (this.#points.length >= 2 * mostPoints) this.#points = thinned(this.#points, mostPoints / 2);
  }

  list(): MemoryPoint[] {
    return this.#points.length > mostPoints ? thinned(this.#points, mostPoints / 2) : [...this.#points];
  }

  clear(): void {
    this.#points = [];
  }
}

/** About `count` points, per device the lowest and the highest of each stretch, and always the last. */
export function thinned(points: readonly MemoryPoint[], count: number): MemoryPoint[] {
  const byDevice = new Map<string, MemoryPoint[]>();
  for (const p of points) {
    const list = byDevice.get(p.device);
    if (list) list.push(p);
    else byDevice.set(p.device, [p]);
  }
  const kept: MemoryPoint[] = [];
  for (const list of byDevice.values()) {
    const stretches = Math.max(1, Math.floor(((count / 2) * list.length) / points.length));
    const each = list.length / stretches;
    for (let i = 0; i < stretches; i++)
      kept.push(...extremes(list.slice(Math.floor(i * each), Math.floor((i + 1) * each))));
    const last = list.at(-1)!;
    if (kept.at(-1) !== last) kept.push(last);
  }
  return kept.sort((a, b) => a.t - b.t);
}

function extremes(list: readonly MemoryPoint[]): MemoryPoint[] {
  if (list.length <= 2) return [...list];
  let [low, high] = [list[0]!, list[0]!];
  for (const p of list) {
    if (p.live < low.live) low = p;
    if (p.live > high.live) high = p;
  }
  return low === high ? [low] : low.t <= high.t ? [low, high] : [high, low];
}
