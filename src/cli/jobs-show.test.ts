// The bar of a job: as long as there is room for it, with a mark for what failed.

import { describe, expect, it } from 'vitest';
import type { DeadLetter, JobStatus } from '../batch/index.ts';
import { bar, page } from './jobs-show.ts';

const job = (done: number, dead: number, total: number | null, submitted = total ?? 0): JobStatus => ({
  id: 'x',
  op: 'y',
  needs: 'cpu',
  state: 'running',
  total,
  submitted,
  done,
  dead,
  duplicates: 0,
  retries: 0,
  createdAt: 0,
});

describe('a bar', () => {
  it.each<[JobStatus, number, string]>([
    [job(0, 0, 4), 8, '[--------]   0 %'],
    [job(2, 0, 4), 8, '[####----]  50 %'],
    [job(4, 0, 4), 8, '[########] 100 %'],
    [job(39, 1, 40), 8, '[#######x] 100 %'],
    [job(0, 4, 4), 8, '[xxxxxxxx] 100 %'],
    [job(0, 1, 1000), 8, '[--------]   0 %'],
    [job(0, 0, 0), 8, '[########] 100 %'],
    [job(0, 0, null), 8, '[--------]   0 %'],
    [job(5, 0, null, 10), 8, '[####----]  50 %'],
    [job(2, 0, 4), 3, ' 50 %'],
    [job(2, 0, 4), -20, ' 50 %'],
  ])('%#', (status, width, text) => {
    expect(bar(status, width)).toBe(text);
  });
});

it('a page tells why the first chunks failed, and how many more did', () => {
  const letter = (index: number): DeadLetter => ({
    index,
    chunkId: `${index}`,
    error: `no ${index}\n  fix: see the log`,
    code: null,
    trace: '',
    attempts: 3,
    worker: null,
  });
  const dead = Array.from({ length: 1000 }, (_, i) => letter(i));
  const lines = page({ ...job(0, 1000, 1000), state: 'failed' }, dead, []).split('\n');
  expect(lines.filter((l) => l.startsWith('chunk '))).toHaveLength(20);
  expect(lines).toContain('chunk 19 failed after 3 attempts: no 19');
  expect(lines).toContain('and 980 chunks more: --json tells of all.');
  expect(page({ ...job(0, 20, 20), state: 'failed' }, dead.slice(0, 20), [])).not.toContain('--json');
});
