// Memory over time in at most 10,000 points. When there are more, the lowest and the highest of each stretch of
// time stay, so that no peak disappears.

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
function thinned(points: readonly MemoryPoint[], count: number): MemoryPoint[] {
  const byDevice = new Map<string, MemoryPoint[]>();
  for (const p of points) {
    const list = byDevice.get(p.device);
    if (list) list.push(p);
    else byDevice.set(p.device, [p]);
  }
  const kept: MemoryPoint[] = [];
  for (const list of byDevice.values()) {
    // Stretches of equal time: what is thinned again and again does not become coarser than the rest.
    const stretches = Math.max(1, Math.floor(((count / 2) * list.length) / points.length));
    const [from, last] = [list[0]!.t, list.at(-1)!];
    const each = (last.t - from) / stretches || 1;
    for (let i = 0; i < list.length; ) {
      const stretch = Math.floor((list[i]!.t - from) / each);
      let end = i + 1;
      while (end < list.length && Math.floor((list[end]!.t - from) / each) === stretch) end++;
      kept.push(...extremes(list.slice(i, end)));
      i = end;
    }
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
