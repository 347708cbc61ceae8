// The tables of a GPU run, of the device and through the public API: ours, PyTorch eager and torch.compile beside it, the ratio, and the
// bound that each row has to keep.
//
// PyTorch runs as a process of its own after our measurements (two users of one GPU would disturb each other); where python3 has
// no torch its columns stay empty and the reason is printed.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Row {
  readonly name: string;
  readonly us: number;
  readonly low: number;
  readonly high: number;
  readonly note: string;
}

/** What tensors.mjs measured. */
export interface ApiRun {
  readonly date: string;
  readonly device: string;
  readonly cublas: boolean;
  readonly rows: readonly Row[];
}

export interface TorchRun {
  readonly version: string;
  readonly rows: ReadonlyMap<string, number>;
}

/** The work, under which names it was measured, and what it must keep. */
export interface Line {
  readonly work: string;
  readonly ours: string;
  readonly torch?: string;
  readonly compiled?: string;
  /** µs, or how it follows from PyTorch's time and the copy bandwidth in TB/s. */
  readonly bound?: number | ((torch: number | undefined, bandwidth: number) => number | undefined);
}

const sameAsTorch = (torch: number | undefined): number | undefined => torch && 1.05 * torch;

const sumOf64M = (_: number | undefined, bandwidth: number): number => (256 * 2 ** 20 * 1e-6) / (0.7 * bandwidth);

export const deviceLines: readonly Line[] = [
  { work: 'tiny op, issued', ours: 'tiny op (issue)', torch: 'tiny op (issue)', bound: 6 },
  {
    work: 'tanh((x*.99+.5)*x-.1), 4M f32, issued to done',
    ours: 'tanh((x*.99+.5)*x-.1), 4M f32 (done)',
    torch: 'tanh((x*.99+.5)*x-.1), 4M f32 (done)',
    compiled: 'tanh chain, torch.compile (done)',
    bound: 25,
  },
  {
    work: 'xor of 16M u32, in place',
    ours: 'xor of 16M u32, in place (device)',
    torch: 'xor of 16M u32, in place (device)',
    bound: 38,
  },
  {
    work: 'sum of 64M f32',
    ours: 'sum of 64M f32 (device)',
    torch: 'sum of 64M f32 (device)',
    bound: sumOf64M,
  },
  { work: 'argmax of 64M f32', ours: 'argmax of 64M f32 (device)', torch: 'argmax of 64M f32 (device)' },
  {
    work: 'field step 32³×64, per step',
    ours: 'field step, replayed (done, per step of 1000)',
    torch: 'field step 32x32x32x64 (device)',
    compiled: 'field step, torch.compile (device)',
    bound: 11,
  },
  {
    work: 'matmul 1024² f32',
    ours: 'matmul 1024² f32 exact (device)',
    torch: 'matmul 1024² f32 exact (device)',
    bound: sameAsTorch,
  },
  {
    work: 'matmul 4096² f32',
    ours: 'matmul 4096² f32 exact (device)',
    torch: 'matmul 4096² f32 exact (device)',
    bound: sameAsTorch,
  },
  { work: 'matmul 4096² f32 as tf32', ours: 'matmul 4096² f32 tf32 (device)', torch: 'matmul 4096² f32 tf32 (device)' },
  { work: 'matmul 4096² bf16', ours: 'matmul 4096² bf16 exact (device)', torch: 'matmul 4096² bf16 exact (device)' },
  {
    work: 'matmul 4096² bf16, own kernel',
    ours: 'own matmul 4096² bf16 (device)',
    torch: 'matmul 4096² bf16 exact (device)',
    bound: (torch) => torch && 2 * torch,
  },
  {
    work: 'ten 256² f32 products, one call',
    ours: 'matmul 10 x 256² f32 exact (device)',
    torch: 'matmul 10 x 256² f32 exact (device)',
    bound: 15,
  },
  {
    work: 'ten 256² f32 products, cuBLASLt',
    ours: 'cuBLASLt matmul 10 x 256² f32 (device)',
    torch: 'matmul 10 x 256² f32 exact (device)',
  },
  {
    work: 'tanh(x·w + b), 4096² bf16',
    ours: 'tanh(x·w + b), 4096² bf16 (device)',
    torch: 'tanh(x·w + b), 4096² bf16 (device)',
    compiled: 'tanh(x·w + b), torch.compile (device)',
  },
  {
    work: '10 MB up, +0, down, ordinary arrays',
    ours: '10 MB up, +0, down, ordinary arrays (done)',
    torch: '10 MB up, +0, down, ordinary arrays (done)',
    bound: 1500,
  },
  {
    work: '10 MB up, +0, down, pinned arrays',
    ours: '10 MB up, +0, down, pinned arrays (done)',
    torch: '10 MB up, +0, down, pinned arrays (done)',
    bound: 500,
  },
  { work: 'new process to first result, cubins cached', ours: 'new process to first result', bound: 900_000 },
  {
    work: 'sort of 16M f32 with positions',
    ours: 'sort of 16M f32 with positions (device)',
    torch: 'sort of 16M f32 with positions (device)',
  },
  {
    work: 'cumulative sum of 16M f32',
    ours: 'cumulative sum of 16M f32 (device)',
    torch: 'cumulative sum of 16M f32 (device)',
  },
];

/** The same works written with tensors, and how PyTorch does each. */
export const apiLines: readonly Line[] = [
  { work: 'tiny elementwise op, issued, eager', ours: 'tiny op, eager, issued', torch: 'tiny op (issue)', bound: 6 },
  {
    work: 'field step 32³×64 with tensor ops, compiled',
    ours: 'field step 32³×64, compiled, per step of 1000',
    torch: 'field step 32x32x32x64 (device)',
    compiled: 'field step, torch.compile (device)',
    bound: 11,
  },
  {
    work: 'tanh((x*.99+.5)*x-.1), 4M f32, issued to done',
    ours: 'tanh chain, 4M f32, issued to done',
    torch: 'tanh((x*.99+.5)*x-.1), 4M f32 (done)',
    compiled: 'tanh chain, torch.compile (done)',
    bound: 25,
  },
  {
    work: 'xor of 16M u32',
    ours: 'xor of 16M u32, per call of 50',
    torch: 'xor of 16M u32, in place (device)',
    bound: 38,
  },
  {
    work: 'sum of 64M f32',
    ours: 'sum of 64M f32, per call of 20',
    torch: 'sum of 64M f32 (device)',
    bound: sumOf64M,
  },
  {
    work: 'matmul 1024² f32',
    ours: 'matmul 1024² f32, per call of 100',
    torch: 'matmul 1024² f32 exact (device)',
    bound: sameAsTorch,
  },
  {
    work: 'matmul 4096² f32',
    ours: 'matmul 4096² f32, per call of 10',
    torch: 'matmul 4096² f32 exact (device)',
    bound: sameAsTorch,
  },
  {
    work: 'matmul 4096² bf16',
    ours: 'matmul 4096² bf16, per call of 10',
    torch: 'matmul 4096² bf16 exact (device)',
  },
  {
    work: 'ten 256² matmuls, one call',
    ours: 'matmul 10 x 256² f32, per call of 100',
    torch: 'matmul 10 x 256² f32 exact (device)',
    bound: 15,
  },
  {
    work: 'ten 256² matmuls, issued to done',
    ours: 'matmul 10 x 256² f32, issued to done',
    torch: 'matmul 10 x 256² f32 exact (done)',
  },
  {
    work: '10 MB up, +0, down, ordinary arrays',
    ours: '10 MB up, +0, down, ordinary arrays',
    torch: '10 MB up, +0, down, ordinary arrays (done)',
    bound: 1500,
  },
  {
    work: '10 MB up, +0, down, rt.pinned arrays',
    ours: '10 MB up, +0, down, rt.pinned arrays',
    torch: '10 MB up, +0, down, pinned arrays (done)',
    bound: 500,
  },
];

/** Runs the PyTorch side; null, with a line that says why, where it cannot run. */
export function runTorch(): TorchRun | null {
  if (spawnSync('python3', ['-c', 'import torch']).status !== 0) {
    console.log('python3 has no torch here: PyTorch was not measured');
    return null;
  }
  const here = dirname(fileURLToPath(import.meta.url));
  const places = [join(process.cwd(), 'bench/gpu'), join(here, '../../bench/gpu'), here];
  const folder = places.find((p) => existsSync(join(p, 'torch_side.py')));
  if (!folder) {
    console.log(`torch_side.py was not found in ${places.join(', ')}: PyTorch was not measured`);
    return null;
  }
  const { stdout, stderr, status } = spawnSync('python3', [join(folder, 'torch_side.py')], { encoding: 'utf8' });
  if (stderr) console.log(stderr.trim());
  const found = new Map<string, number>();
  let version = '';
  for (const line of stdout.split('\n').filter((l) => l.startsWith('{'))) {
    const item = JSON.parse(line) as { torch?: string; name?: string; us?: number };
    if (item.torch) version = item.torch;
    if (item.name !== undefined) found.set(item.name, item.us!);
  }
  if (status !== 0) console.log(`the PyTorch side ended with ${status}: its table may be incomplete`);
  return { version, rows: found };
}

export interface TableLine {
  readonly work: string;
  readonly ours: number;
  readonly torch?: number;
  readonly compiled?: number;
  readonly bound?: number;
  readonly kept?: boolean;
}

export function makeTable(
  lines: readonly Line[],
  rows: readonly Row[],
  torch: TorchRun | null,
  bandwidth: number,
): TableLine[] {
  const ours = new Map(rows.map((r) => [r.name, r.us]));
  return lines.flatMap((l) => {
    const us = ours.get(l.ours);
    if (us === undefined) return [];
    const eager = l.torch === undefined ? undefined : torch?.rows.get(l.torch);
    const compiled = l.compiled === undefined ? undefined : torch?.rows.get(l.compiled);
    const bound = typeof l.bound === 'function' ? l.bound(eager, bandwidth) : l.bound;
    return [
      {
        work: l.work,
        ours: us,
        ...(eager === undefined ? {} : { torch: eager }),
        ...(compiled === undefined ? {} : { compiled }),
        ...(bound === undefined ? {} : { bound, kept: us <= bound }),
      },
    ];
  });
}

export function printTable(table: readonly TableLine[], torch: TorchRun | null): void {
  const us = (v: number | undefined): string => (v === undefined ? '' : v.toFixed(v < 1000 ? 1 : 0));
  const head = [
    'work (µs)',
    'gpuforge',
    `PyTorch ${torch?.version ?? ''}`.trim(),
    'torch.compile',
    'ratio',
    'bound',
    '',
  ];
  const body = table.map((l) => {
    const best = Math.min(l.torch ?? Number.POSITIVE_INFINITY, l.compiled ?? Number.POSITIVE_INFINITY);
    const ratio = Number.isFinite(best) ? `${(l.ours / best).toFixed(2)} ×` : '';
    return [
      l.work,
      us(l.ours),
      us(l.torch),
      us(l.compiled),
      ratio,
      us(l.bound),
      l.kept === undefined ? '' : l.kept ? 'kept' : 'NOT KEPT',
    ];
  });
  const widths = head.map((h, i) => Math.max(h.length, ...body.map((r) => r[i]!.length)));
  const line = (r: readonly string[]): string =>
    `| ${r.map((c, i) => (i === 0 ? c.padEnd(widths[i]!) : c.padStart(widths[i]!))).join(' | ')} |`;
  console.log(line(head));
  console.log(`|${widths.map((w) => '-'.repeat(w + 2)).join('|')}|`);
  for (const r of body) console.log(line(r));
}
