import { describe, expect, it } from 'vitest';
import { machine as recorded } from '../../../test/forge/fixtures/machines.ts';
import { machine } from '../../../test/forge/fixtures/targets.ts';
import { worldOf } from '../../../test/forge/fixtures/world.ts';
import { checkConda } from './conda.ts';

const AT = '/opt/conda/bin/conda';

type Answer = 'hangs' | { readonly status: number; readonly stdout: string; readonly stderr?: string };

async function said(answer: Answer | undefined, env: Record<string, string> = { CONDA_EXE: AT }): Promise<string> {
  const base = recorded('noGpu');
  const files = answer === undefined ? {} : { [AT]: 'script' };
  const tools = answer === undefined ? {} : { [AT]: answer };
  const world = worldOf({ ...base, tools, files: { ...base.files, ...files } }, { env });
  const findings = await checkConda({ world, ports: world.ports, machine: machine(), options: {} });
  return findings.map(({ code, status, summary }) => `${code} ${status} ${summary}`).join('\n');
}

const info = (more: object): Answer => ({
  status: 0,
  stdout: JSON.stringify({ conda_version: '25.1.0', root_prefix: '/opt/conda', root_writable: true, ...more }),
});

describe('conda', () => {
  it('is no subject where there is none', async () => {
    expect(await said(undefined)).toBe('');
  });

  it('tells version, base and solver', async () => {
    const agent = 'conda/25.1.0 requests/2.32 solver/libmamba conda-libmamba-solver/24.11.1';
    expect(await said(info({ user_agent: agent }))).toBe('CONDA-FOUND ok conda 25.1.0, in /opt/conda, solver libmamba');
    expect(await said(info({}), { PATH: '/opt/conda/bin' })).toContain('conda 25.1.0, in /opt/conda');
  });

  it.each([
    [info({ user_agent: 'conda/4.14.0 solver/classic' }), /CONDA-SOLVER info .*classic solver/],
    [info({ root_writable: false }), /base not writable/],
    ['hangs', /^CONDA-SLOW info conda did not answer within 2 s$/],
    [{ status: 1, stdout: '', stderr: 'ImportError: cannot import name x' }, /^CONDA-BROKEN warning/],
    [{ status: 0, stdout: 'WARNING: not JSON' }, /^CONDA-BROKEN warning/],
    [{ status: 0, stdout: 'null' }, /^CONDA-BROKEN warning/],
    [info({ root_prefix: '/opt/\u001b]0;x\u0007conda' }), /in \/opt\/conda/],
  ] as const)('%# is judged by its answer', async (answer, expected) => {
    expect(await said(answer as Answer)).toMatch(expected);
  });
});
