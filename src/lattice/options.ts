// The options of a lattice, checked.

import { shown } from '../base/arguments.ts';
import { isPlain } from '../base/kinds.ts';
import { argumentKinds, type DeviceId, type Runtime } from '../index.ts';
import { LatticeConfigError } from './errors.ts';
import { limits } from './grid.ts';
import type { Blocked } from './mask.ts';

export interface LatticeOptions {
  /** 1 to 10. Default 4. */
  readonly dimensions?: number | undefined;
  /** Vertices along each axis, 2 to 100. Default 10. */
  readonly size?: number | undefined;
  /** Memory of its own that catalytic methods borrow from, in MB of 2^20 bytes, 0.1 to 1024. Default 10. Allocated on first use. */
  readonly auxMemoryMb?: number | undefined;
  /** Vertices that cannot be entered: their indices, or one byte per vertex. */
  readonly blocked?: Blocked | undefined;
  /** Where device work runs. Default: a runtime of its own, opened on first use and closed by `dispose()`. */
  readonly runtime?: Runtime | undefined;
  /** Default 'auto'. */
  readonly device?: 'auto' | 'gpu' | 'cpu' | DeviceId | undefined;
  /** Whether 'auto' asks the router. Without it 'auto' is the first GPU. Default true. */
  readonly routing?: boolean | undefined;
  /** Shortest paths to remember. Default 10,000; 0 for none. */
  readonly pathCache?: number | undefined;
}

export interface ResolvedOptions {
  readonly dimensions: number;
  readonly size: number;
  readonly auxMemoryMb: number;
  readonly device: string;
  readonly routing: boolean;
  readonly pathCache: number;
}

const known = ['dimensions', 'size', 'auxMemoryMb', 'blocked', 'runtime', 'device', 'routing', 'pathCache'];

const auxiliary = { least: 0.1, most: 1024, standard: 10 };

export function resolveOptions(options: LatticeOptions): ResolvedOptions {
  if (typeof options !== 'object' || options === null || !(isPlain(options) || known.some((k) => k in options)))
    throw bad('the options are', shown(options), `Give an object with any of ${known.join(', ')}.`);
  const unknown = Object.keys(options).find((k) => !known.includes(k));
  if (unknown !== undefined) throw bad('there is no option', unknown, `Options are ${known.join(', ')}.`);
  const { auxMemoryMb = auxiliary.standard, device = 'auto', routing = true, pathCache = 10_000 } = options;
  if (!(typeof auxMemoryMb === 'number' && auxMemoryMb >= auxiliary.least && auxMemoryMb <= auxiliary.most))
    throw bad('auxMemoryMb is', auxMemoryMb, `Use a number from ${auxiliary.least} to ${auxiliary.most}.`);
  if (typeof device !== 'string' || device === '')
    throw bad('device is', device, "Use 'auto', 'gpu', 'cpu' or the id of a device.");
  const { runtime } = options;
  if (runtime !== undefined && !argumentKinds.runtime.is(runtime))
    throw bad('runtime is', runtime, 'Give what createRuntime() returned.');
  if (typeof routing !== 'boolean') throw bad('routing is', routing, 'Use true or false.');
  if (!Number.isSafeInteger(pathCache) || pathCache < 0)
    throw bad('pathCache is', pathCache, 'Use a whole number, 0 for no cache.');
  const { dimensions = limits.dimensions.standard, size = limits.size.standard } = options;
  return { dimensions, size, auxMemoryMb, device, routing, pathCache };
}

function bad(problem: string, value: unknown, fix: string): LatticeConfigError {
  return new LatticeConfigError({ where: 'Lattice', problem: `${problem} ${String(value)}`, fix });
}
