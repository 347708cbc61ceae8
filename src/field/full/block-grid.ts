// Where blocks of cells lie to each other: worked out once, as regions are looked for every few cycles.

export class BlockGrid {
  readonly count: number;
  /** Three coordinates of each block. */
  readonly #at: Int32Array;
  /** The blocks beside each, one list after the other, and where each list begins. */
  readonly #beside: Int32Array;
  readonly #begins: Int32Array;
  readonly #blocks: readonly [number, number, number];
  readonly #periodic: boolean;

  constructor(blocks: readonly [number, number, number], periodic: boolean) {
    this.#blocks = blocks;
    this.#periodic = periodic;
    const [, height, width] = blocks;
    this.count = blocks[0] * height * width;
    this.#at = new Int32Array(3 * this.count);
    this.#begins = new Int32Array(this.count + 1);
    const beside: number[] = [];
    for (let block = 0; block < this.count; block++) {
      const place = [Math.floor(block / (height * width)), Math.floor(block / width) % height, block % width];
      this.#at.set(place, 3 * block);
      beside.push(...this.#around(place).filter((other) => other !== block));
      this.#begins[block + 1] = beside.length;
    }
    this.#beside = Int32Array.from(beside);
  }

  /** The 27 blocks around a place, or fewer at a wall. */
  #around(place: readonly number[]): number[] {
    const sides = [-1, 0, 1];
    const [x, y, z] = place.map((p, axis) => {
      const n = this.#blocks[axis]!;
      const all = sides.map((d) => p + d);
      return this.#periodic ? all.map((v) => (v + n) % n) : all.filter((v) => v >= 0 && v < n);
    }) as [number[], number[], number[]];
    const [, height, width] = this.#blocks;
    return [...new Set(x.flatMap((a) => y.flatMap((b) => z.map((c) => (a * height + b) * width + c))))];
  }

  /** Whether no block beside it has more; of equal ones the first counts. */
  isPeak(block: number, values: Float32Array): boolean {
    const own = values[block]!;
    for (let i = this.#begins[block]!; i < this.#begins[block + 1]!; i++) {
      const other = this.#beside[i]!;
      if (values[other]! > own || (values[other] === own && other < block)) return false;
    }
    return true;
  }

  /** Blocks from one to another, along the axis on which they are furthest apart. */
  distance(a: number, b: number): number {
    let most = 0;
    for (let axis = 0; axis < 3; axis++) {
      const d = Math.abs(this.#at[3 * a + axis]! - this.#at[3 * b + axis]!);
      most = Math.max(most, this.#periodic ? Math.min(d, this.#blocks[axis]! - d) : d);
    }
    return most;
  }
}
