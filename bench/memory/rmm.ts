// Reads allocation logs as RMM's logging resource writes them: `Thread,Time,Action,Pointer,Size,Stream`, one event a line.
//
// A pointer is in use from its `allocate` to its `free`; the same number may come back later as another block. Failed
// allocations are left out, and so are frees of what was allocated before the log began; both are counted.

import { FormatError } from '../../src/errors.ts';
import type { TraceEvent } from '../../test/support/traces.ts';

export interface RmmLog {
  readonly trace: readonly TraceEvent[];
  readonly failures: number;
  readonly unknownFrees: number;
}

const columns = ['action', 'pointer', 'size'] as const;

export function readRmm(text: string): RmmLog {
  const lines = text.split(/\r?\n/);
  const header = (lines.shift() ?? '').split(',').map((c) => c.trim().toLowerCase());
  const [action, pointer, size] = columns.map((name) => {
    const at = header.indexOf(name);
    if (at < 0) throw bad(1, `there is no column '${name}'`);
    return at;
  }) as [number, number, number];
  const live = new Map<string, number>();
  const trace: TraceEvent[] = [];
  let [failures, unknownFrees, next] = [0, 0, 0];
  lines.forEach((line, i) => {
    if (line.trim() === '') return;
    const cells = line.split(',').map((c) => c.trim());
    const [what, where, bytes] = [cells[action], cells[pointer], Number(cells[size])];
    if (what === undefined || where === undefined) throw bad(i + 2, 'cells are missing');
    if (/fail/i.test(what)) {
      failures++;
    } else if (/^alloc/i.test(what)) {
      if (!Number.isSafeInteger(bytes) || bytes < 0) throw bad(i + 2, `'${cells[size]}' is no size`);
      if (live.has(where)) throw bad(i + 2, `${where} is allocated while it is in use`);
      live.set(where, next);
      trace.push({ kind: 'allocate', id: next++, bytes });
    } else if (/^(free|dealloc)/i.test(what)) {
      const id = live.get(where);
      if (id === undefined) unknownFrees++;
      else {
        live.delete(where);
        trace.push({ kind: 'release', id });
      }
    } else throw bad(i + 2, `'${what}' is no action`);
  });
  return { trace, failures, unknownFrees };
}

function bad(line: number, what: string): FormatError {
  return new FormatError({
    code: 'BAD_TRACE',
    message: `allocation log, line ${line}: ${what}`,
    fix: 'Give a log of RMM: Thread,Time,Action,Pointer,Size,Stream.',
    where: 'bench memory',
  });
}
