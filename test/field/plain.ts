// The cycle of model `fused` once more, in plain JavaScript numbers and loops, written from its description alone. Noise comes from
// outside: it is what the devices draw.

export interface PlainField {
  readonly edges: readonly [number, number, number];
  readonly channels: number;
  readonly content: number;
  readonly temporal: number;
  readonly dynamics: number;
  readonly sensorDim: number;
  readonly boundary: 'periodic' | 'reflecting';
  values: Float64Array;
}

export interface PlainSettings {
  readonly keep: number;
  readonly diffusion: number;
  readonly blur: 'mean' | 'separable';
  readonly gain: number;
}

type Cell = readonly [number, number, number];

const cellsOf = (f: PlainField): number => f.edges[0] * f.edges[1] * f.edges[2];

/** The coordinate beside another one. */
function beside(f: PlainField, x: number, axis: number): number {
  const n = f.edges[axis]!;
  return f.boundary === 'periodic' ? (x + n) % n : Math.min(n - 1, Math.max(0, x));
}

const at = (f: PlainField, [x, y, z]: Cell): number => (x * f.edges[1] + y) * f.edges[2] + z;

function* allCells(f: PlainField): Generator<Cell> {
  for (let x = 0; x < f.edges[0]; x++)
    for (let y = 0; y < f.edges[1]; y++) for (let z = 0; z < f.edges[2]; z++) yield [x, y, z];
}

/** Weighted values of the 27 cells around. */
function around(f: PlainField, cell: Cell, weight: (d: Cell) => number, value: (cell: number) => number): number {
  let sum = 0;
  for (let i = -1; i <= 1; i++)
    for (let j = -1; j <= 1; j++)
      for (let k = -1; k <= 1; k++) {
        const other: Cell = [beside(f, cell[0] + i, 0), beside(f, cell[1] + j, 1), beside(f, cell[2] + k, 2)];
        sum += weight([i, j, k]) * value(at(f, other));
      }
  return sum;
}

export function activity(f: PlainField, cell: number): number {
  let sum = 0;
  for (let c = 0; c < f.channels; c++) sum += Math.abs(f.values[cell * f.channels + c]!);
  return sum / f.channels;
}

/** The emptiest cell: the lowest mean activity of 27 cells, the first of equal ones. */
export function emptiest(f: PlainField): Cell {
  let best: Cell = [0, 0, 0];
  let least = Number.POSITIVE_INFINITY;
  for (const cell of allCells(f)) {
    const mean = around(
      f,
      cell,
      () => 1 / 27,
      (i) => activity(f, i),
    );
    if (mean < least) [best, least] = [cell, mean];
  }
  return best;
}

export function imprint(f: PlainField, place: Cell, sensors: ArrayLike<number>, reward: number): void {
  const strength = 0.5 * (0.5 + 0.5 * Math.min(1, Math.abs(reward)));
  for (const cell of allCells(f)) {
    const distance = [0, 1, 2].map((a) => {
      const d = Math.abs(cell[a]! - place[a]!);
      return f.boundary === 'periodic' ? Math.min(d, f.edges[a]! - d) : d;
    });
    if (distance.some((d) => d > 2)) continue;
    const factor = strength * 0.8 ** distance.reduce((x, y) => x + y);
    for (let c = 0; c < f.content; c++) f.values[at(f, cell) * f.channels + c]! += factor * sensors[c % f.sensorDim]!;
  }
}

export function evolve(f: PlainField, s: PlainSettings, noise: ArrayLike<number> | null): void {
  const kept = f.values.map((v, i) => (i % f.channels < f.channels - f.dynamics ? v * s.keep : v));
  const weight = (d: Cell): number => (s.blur === 'mean' ? 1 / 27 : d.reduce((w, x) => w * (x === 0 ? 0.5 : 0.25), 1));
  const next = new Float64Array(f.values.length);
  for (const cell of allCells(f))
    for (let c = 0; c < f.channels; c++) {
      const i = at(f, cell) * f.channels + c;
      const blurred = around(f, cell, weight, (other) => kept[other * f.channels + c]!);
      next[i] = (1 - s.diffusion) * kept[i]! + s.diffusion * blurred + (noise ? noise[i]! : 0);
    }
  f.values = next;
}

/** Sobel by its 27 weights; ghost cells of bounded grids by straight lines. */
export function sobel(f: PlainField, value: (x: number, y: number, z: number) => number, cell: Cell): number[] {
  const ghost = (x: number, y: number, z: number): number => {
    const p = [x, y, z];
    for (let a = 0; a < 3; a++) {
      const n = f.edges[a]!;
      if (p[a]! >= 0 && p[a]! < n) continue;
      if (f.boundary === 'periodic') {
        p[a] = (p[a]! + n) % n;
        continue;
      }
      const [edge, inner] = p[a]! < 0 ? [0, 1] : [n - 1, n - 2];
      const with_ = (v: number): [number, number, number] => p.map((q, i) => (i === a ? v : q)) as never;
      return 2 * ghost(...with_(edge)) - ghost(...with_(inner));
    }
    return value(p[0]!, p[1]!, p[2]!);
  };
  const sums = [0, 0, 0];
  for (let i = -1; i <= 1; i++)
    for (let j = -1; j <= 1; j++)
      for (let k = -1; k <= 1; k++) {
        const d = [i, j, k];
        const v = ghost(cell[0] + i, cell[1] + j, cell[2] + k);
        for (let a = 0; a < 3; a++) {
          const others = d.filter((_, b) => b !== a);
          sums[a]! += (v * d[a]! * others.reduce((w, x) => w * (x === 0 ? 2 : 1), 1)) / 32;
        }
      }
  return sums;
}

export function gradientMotors(f: PlainField, gain: number): number[] {
  const mean = (cell: number, of: (v: number) => number): number => {
    let sum = 0;
    for (let c = 0; c < f.content; c++) sum += of(f.values[cell * f.channels + c]!);
    return sum / f.content;
  };
  const sums = [0, 0, 0];
  let weights = 0;
  for (const cell of allCells(f)) {
    const weight = mean(at(f, cell), Math.abs);
    const g = sobel(f, (x, y, z) => mean(at(f, [x, y, z]), (v) => v), cell);
    weights += weight;
    g.forEach((v, a) => {
      sums[a]! += weight * v;
    });
  }
  return sums.map((v) => Math.tanh((gain * v) / weights));
}

export function slabMotors(f: PlainField, gain: number): number[] {
  const sums = [0, 0, 0];
  let pattern = 0;
  for (const cell of allCells(f)) {
    for (let c = 0; c < f.channels; c++) {
      const v = f.values[at(f, cell) * f.channels + c]!;
      if (c >= f.content && c < f.content + f.temporal) pattern += Math.abs(v);
      if (c >= f.content) continue;
      for (let a = 0; a < 3; a++) {
        const scale = f.edges[a]! / (cellsOf(f) * f.content);
        if (cell[a] === f.edges[a]! - 1) sums[a]! += v * scale;
        if (cell[a] === 0) sums[a]! -= v * scale;
      }
    }
  }
  const [g0, g1, g2] = sums as [number, number, number];
  return [gain * g0, gain * g1, pattern / (cellsOf(f) * f.temporal), (gain / 10) * g2].map(Math.tanh);
}
