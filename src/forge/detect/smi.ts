// NVIDIA, tier 2: one nvidia-smi, for machines without a foreign-function interface.
//
// Accepts any number of lines, `[N/A]` and `[Not Supported]`; drivers before 510 refuse the whole query because of
// `compute_cap`, so it is asked again without. What cannot be parsed is left out, and garbage is a failure, not a GPU.

import type { NvmlDevice, ProcessPort, RunResult } from '../ports.ts';

const FIELDS = [
  'index',
  'uuid',
  'pci.bus_id',
  'name',
  'driver_version',
  'compute_cap',
  'memory.total',
  'memory.free',
  'mig.mode.current',
] as const;
type Field = (typeof FIELDS)[number];

const OLD_FIELDS: readonly Field[] = FIELDS.filter((field) => field !== 'compute_cap' && field !== 'mig.mode.current');

export type SmiAnswer =
  | { readonly outcome: 'ok'; readonly driver: string | null; readonly devices: readonly NvmlDevice[] }
  | { readonly outcome: 'failed' | 'timeout' | 'not-found'; readonly detail: string };

export async function querySmi(processes: ProcessPort, program: string, timeoutMs: number): Promise<SmiAnswer> {
  let fields: readonly Field[] = FIELDS;
  let result = await ask(processes, program, fields, timeoutMs);
  if (result.outcome === 'exited' && /not a valid field/i.test(result.stdout + result.stderr)) {
    fields = OLD_FIELDS;
    result = await ask(processes, program, fields, timeoutMs);
  }
  if (result.outcome === 'timeout') return { outcome: 'timeout', detail: `no answer within ${timeoutMs} ms; ended` };
  if (result.outcome === 'not-found') return { outcome: 'not-found', detail: `${program} is not installed` };
  if (result.outcome === 'failed' || result.status !== 0) {
    const said = firstLine(result.stdout) || firstLine(result.stderr) || 'nothing';
    return { outcome: 'failed', detail: `exit status ${result.status ?? 'none'}, said: ${said}` };
  }
  return parseSmi(result.stdout, fields);
}

function ask(processes: ProcessPort, program: string, fields: readonly Field[], timeoutMs: number): Promise<RunResult> {
  return processes.run(program, [`--query-gpu=${fields.join(',')}`, '--format=csv,noheader,nounits'], { timeoutMs });
}

export function parseSmi(text: string, fields: readonly Field[] = FIELDS): SmiAnswer {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.some((line) => /no devices were found/i.test(line))) return { outcome: 'ok', driver: null, devices: [] };
  const devices: NvmlDevice[] = [];
  let driver: string | null = null;
  for (const line of lines) {
    const cells = line.split(',').map((cell) => cell.trim());
    const cell = (field: Field): string | null => present(cells[fields.indexOf(field)]);
    const index = cell('index');
    if (cells.length !== fields.length || index === null || !/^\d+$/.test(index)) continue;
    driver ??= cell('driver_version');
    const mig = cell('mig.mode.current');
    devices.push({
      index: Number(index),
      name: cell('name'),
      uuid: cell('uuid'),
      busId: cell('pci.bus_id'),
      computeCapability: cell('compute_cap'),
      memoryTotal: mebibytes(cell('memory.total')) || null,
      memoryFree: mebibytes(cell('memory.free')),
      migEnabled: mig === null ? null : mig === 'Enabled',
      mig: [],
      units: null,
    });
  }
  if (devices.length > 0) return { outcome: 'ok', driver, devices };
  return { outcome: 'failed', detail: `the answer could not be read: ${firstLine(text) || 'empty'}` };
}

function present(cell: string | undefined): string | null {
  return cell === undefined || cell === '' || /^\[.*\]$/.test(cell) || cell === 'N/A' ? null : cell;
}

function mebibytes(cell: string | null): number | null {
  return cell !== null && /^\d+$/.test(cell) ? Number(cell) * 1024 * 1024 : null;
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.slice(0, 160) ?? '';
}
