// verify.py: the check that every environment brings.

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folder, plan, useFolder } from '../../../test/forge/env-plans.ts';
import { machines } from '../../../test/forge/fixtures/targets.ts';
import { explain } from '../explain/explain.ts';
import type { Machine } from '../machine.ts';
import { render } from './writers.ts';

useFolder();

describe('verify.py', () => {
  const python = ['python3', 'python'].find((name) => spawnSync(name, ['--version']).status === 0);
  // A module named torch that stands in the way of the real one, so that the script meets the fault on any machine.
  const check = (torch: string, on: Machine = machines['rtx4090-570']!) => {
    mkdirSync(join(folder, 'lib'), { recursive: true });
    writeFileSync(join(folder, 'lib', 'torch.py'), torch);
    const [file] = render(plan(on, 'learning'), ['verify']);
    const script = join(folder, 'verify.py');
    writeFileSync(script, file!.content);
    const run = spawnSync(python!, [script], {
      encoding: 'utf8',
      env: { ...process.env, PYTHONPATH: join(folder, 'lib') },
    });
    return { status: run.status, out: run.stdout, err: run.stderr };
  };

  it.skipIf(python === undefined)(
    'ends with 2 when the framework cannot be loaded, in words that explain understands',
    () => {
      const { status, out } = check(
        "raise OSError('libcudart.so.13: cannot open shared object file: No such file or directory')",
      );
      expect(status).toBe(2);
      expect(out).toMatch(/^FAIL {2}import torch: OSError/);
      expect(explain(out)[0]!.code).toBe('cuda-lib-missing');
    },
  );

  it.skipIf(python === undefined)('ends with 1 when the framework sees no device', () => {
    const stub =
      "__version__ = '2.14.1+cu126'\nclass version: cuda = '12.6'\nclass cuda:\n    is_available = staticmethod(lambda: False)\n";
    const { status, out, err } = check(stub);
    expect(err).toBe('');
    expect(status).toBe(1);
    expect(out).toMatch(
      /torch 2\.14\.1\+cu126, built for CUDA\/ROCm 12\.6, expected 2\.14\.1 cu126\nFAIL {2}torch sees no GPU/,
    );
  });

  const real = python !== undefined && spawnSync(python, ['-c', 'import torch']).status === 0;
  it('runs a real kernel where torch is installed', ({ skip }) => {
    if (!real) skip('torch is not installed in this Python: the kernel was not run');
    const [file] = render(plan(machines['no-gpu']!, 'learning'), ['verify']);
    writeFileSync(join(folder, 'verify.py'), file!.content);
    const run = spawnSync(python!, [join(folder, 'verify.py')], { encoding: 'utf8' });
    expect(run.stdout).toMatch(/ok {4}cpu .* error \d/);
    expect(run.status).toBe(0);
  });
});
