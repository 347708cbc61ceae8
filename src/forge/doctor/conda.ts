// The health of conda: its version, its base folder, its solver, whether it starts at all. Asked once, within two seconds.

import { plainLine } from '../text/plain.ts';
import { findProgram } from './programs.ts';
import { type Context, type Finding, finding, fix } from './types.ts';

const LIMIT_MS = 2000;

interface Info {
  readonly conda_version?: unknown;
  readonly root_prefix?: unknown;
  readonly root_writable?: unknown;
  /** "conda/25.1.0 … solver/libmamba conda-libmamba-solver/24.11.1" */
  readonly user_agent?: unknown;
}

export async function checkConda({ ports }: Context): Promise<readonly Finding[]> {
  // In a shell conda is a function; CONDA_EXE names the program behind it.
  const named = ports.env.CONDA_EXE;
  const conda = named && ports.files.exists(named) ? named : findProgram(ports, 'conda');
  if (conda === undefined) return [];
  const result = await ports.processes.run(conda, ['info', '--json'], { timeoutMs: LIMIT_MS });
  if (result.outcome === 'timeout')
    return [
      finding('CONDA-SLOW', 'tools', 'info', `conda did not answer within ${LIMIT_MS / 1000} s`, {
        evidence: [conda],
        fix: fix('On a network folder that is usual; else see what takes its time.', 'conda -vv info'),
      }),
    ];
  const info = result.outcome === 'exited' && result.status === 0 ? parsed(result.stdout) : undefined;
  if (info === undefined) {
    const said = plainLine(result.stderr.trim().split('\n').at(-1) ?? '');
    return [
      finding('CONDA-BROKEN', 'tools', 'warning', 'conda is there and does not work', {
        evidence: [conda, ...(said === '' ? [] : [said])],
        fix: fix(
          'Have what it says explained. Where its base folder is damaged, install it anew (Miniforge) beside the old one.',
          'conda info 2>&1 | gpuforge explain -',
        ),
      }),
    ];
  }
  const solver = /\bsolver\/(\w+)/.exec(String(info.user_agent ?? ''))?.[1];
  const words = [
    `conda ${plainLine(String(info.conda_version))}`,
    typeof info.root_prefix === 'string' ? `in ${plainLine(info.root_prefix)}` : '',
    solver === undefined ? '' : `solver ${solver}`,
    info.root_writable === false ? 'base not writable: make environments of your own (-n or -p)' : '',
  ];
  const found = [
    finding('CONDA-FOUND', 'tools', 'ok', words.filter((word) => word !== '').join(', '), { evidence: [conda] }),
  ];
  if (solver !== 'classic') return found;
  return [
    ...found,
    finding('CONDA-SOLVER', 'tools', 'info', 'conda solves with its classic solver, which takes minutes for CUDA', {
      fix: fix('Take the other one, which conda brings from 23.10 on.', 'conda config --set solver libmamba'),
    }),
  ];
}

function parsed(text: string): Info | undefined {
  try {
    const info = JSON.parse(text) as Info | null;
    return typeof info?.conda_version === 'string' ? info : undefined;
  } catch {
    return undefined;
  }
}
