// What `gpuforge lattice` computes and prints.

import { columns, type Output } from '../forge/style.ts';
import { ForgeError } from '../index.ts';
import { Lattice } from '../lattice/index.ts';
import { tellFailure } from './failure.ts';
import { numberOf } from './number.ts';

export interface LatticeFlags {
  readonly dimensions?: string;
  readonly size?: string;
  readonly blocked?: string;
  readonly device?: string;
  readonly json?: boolean;
}

/** What a command found: for JSON, and as lines. */
interface Shown {
  readonly data: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Exit status: 0, or 2 for input that makes no sense. */
export async function runLattice(
  what: string,
  flags: LatticeFlags,
  output: Output,
  ends: readonly string[] = [],
): Promise<number> {
  try {
    const { data, text } = await commands[what]!(flags, ends);
    output.write(
      flags.json ? `${JSON.stringify({ schema: 'gpuforge.lattice/1', command: what, ...data }, null, 2)}\n` : text,
    );
    return 0;
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    tellFailure(error, output, flags.json);
    return 2;
  }
}

function open({ dimensions = '4', size = '10', blocked, device = 'auto' }: LatticeFlags): Lattice {
  return new Lattice({
    dimensions: numberOf('--dimensions', dimensions),
    size: numberOf('--size', size),
    device,
    blocked: blocked ? blocked.split(',').map((v) => numberOf('a vertex of --blocked', v)) : undefined,
  });
}

const commands: Readonly<Record<string, (flags: LatticeFlags, ends: readonly string[]) => Promise<Shown>>> = {
  build: async (flags) => {
    await using lattice = open(flags);
    const start = performance.now();
    const { offsets, neighbors } = await lattice.build();
    const ms = performance.now() - start;
    const data = {
      vertices: offsets.size - 1,
      entries: neighbors.size,
      bytes: 4 * (offsets.size + neighbors.size),
      device: lattice.device,
      ms,
    };
    return { data, text: table({ ...data, ms: `${ms.toFixed(1)} (with opening the devices)` }) };
  },
  path: async (flags, [from, to]) => {
    await using lattice = open(flags);
    const found = await lattice.shortestPath(numberOf('the start', from!), numberOf('the end', to!));
    const shown = found.path.length > 40 ? [...found.path.slice(0, 20), '…', ...found.path.slice(-20)] : found.path;
    return { data: { ...found }, text: `${shown.join(' → ')}\n${found.length} steps, ${found.ms.toFixed(3)} ms\n` };
  },
  analyse: async (flags) => {
    await using lattice = open(flags);
    const data = { ...(await lattice.analyze()) };
    return { data, text: table(data) };
  },
  demo: async (flags) => {
    const size = 12;
    const walls = [...column(size, 3, 0, 9), ...column(size, 7, 2, 11)];
    await using lattice = new Lattice({ dimensions: 2, size, blocked: walls, device: flags.device ?? 'auto' });
    const distances = await lattice.distancesFrom(0);
    const { path, length } = await lattice.shortestPath(0, size ** 2 - 1);
    const walks = await lattice.countWalks(0, size ** 2 - 1, length, { memory: 'borrow' });
    const loan = lattice.stats().borrowed!;
    const data = {
      size,
      walls,
      distances: [...distances],
      path,
      length,
      shortestPaths: String(walks),
      borrowedBytes: loan.bytes,
      cleanBytes: loan.cleanBytes,
    };
    const text = [
      `Distances from the top left corner around two walls; the shortest path (${length} steps) in brackets.`,
      '',
      picture(size, distances, path),
      `Shortest paths, counted in ${loan.bytes} bytes of borrowed memory that is what it was: ${walks} (modulo 2^64).`,
      `Memory of its own: ${loan.cleanBytes} bytes. The plain method needs two arrays, and about a quarter of the time.`,
      '',
    ];
    return { data, text: text.join('\n') };
  },
};

/** The vertices of a column, from one row to another. */
const column = (size: number, at: number, from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => (from + i) * size + at);

export function picture(size: number, distances: Int32Array, path: readonly number[]): string {
  const on = new Set(path);
  const cell = (v: number): string => {
    const d = distances[v]!;
    const text = d < 0 ? '██' : String(d).padStart(2);
    return on.has(v) ? `[${text}]` : ` ${text} `;
  };
  const row = (y: number): string => Array.from({ length: size }, (_, x) => cell(y * size + x)).join('');
  return `${Array.from({ length: size }, (_, y) => row(y)).join('\n')}\n`;
}

const table = (data: Readonly<Record<string, unknown>>): string =>
  columns(Object.entries(data).map(([k, v]) => [k, String(v)]));
