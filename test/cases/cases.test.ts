// The case suite on every device of this machine: the same numbers from all of them, and the numbers are NumPy's.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Runtime } from '../../src/index.ts';
import { everyNth } from '../support/extent.ts';
import { absent, openRuntime, targets } from './devices.ts';
import { caseFiles, readCases } from './files.ts';
import type { Case } from './format.ts';
import { runCases } from './run.ts';

const files = caseFiles();
const byOp = (cases: readonly Case[]): Map<string, Case[]> => {
  const groups = new Map<string, Case[]>();
  for (const c of cases) {
    const list = groups.get(c.op);
    if (list) list.push(c);
    else groups.set(c.op, [c]);
  }
  return groups;
};
const suites = files.map((file) => ({ file, groups: [...byOp(readCases(file))] }));

describe.each(targets)('cases on $name', (target) => {
  let rt: Runtime;
  let passed = 0;
  const skipped = new Map<string, number>();
  beforeAll(async () => {
    rt = await openRuntime(target);
  });
  afterAll(async () => {
    await rt.close();
    const gaps = [...skipped].map(([reason, n]) => `; ${n} skipped: ${reason}`).join('');
    console.log(`${target.name}: ${passed} cases passed${gaps}`);
  });

  describe.each(suites)('$file', ({ groups }) => {
    it.each(groups)('%s', { timeout: 120_000 }, async (_op, list) => {
      const cases = everyNth(list, target.nth);
      const result = await runCases(rt, cases, { ...target, dtypes: target.dtypes(rt) });
      passed += result.passed;
      for (const [reason, n] of result.skipped) skipped.set(reason, (skipped.get(reason) ?? 0) + n);
      const shown = result.failures.slice(0, 6);
      expect(shown, `${result.failures.length} of ${cases.length} cases`).toEqual([]);
    });
  });
});

describe('devices', () => {
  it('that are missing are named with the reason', () => {
    for (const { name, reason } of absent) console.log(`${name} is not here: ${reason}`);
    expect(absent.every((a) => a.reason.length > 0)).toBe(true);
    expect(targets.length).toBeGreaterThan(0);
  });
});
