// gpuforge verify

import type { Command } from 'commander';
import type { VerifyFlags } from '../../forge/env/verify-run.ts';
import { type Offline, offlineOption, offlinePorts } from './offline.ts';

const examples = `
Examples:
  $ gpuforge verify                          run verify.py of this folder with its own Python
  $ gpuforge verify --env demo
  $ gpuforge verify --python /opt/venv/bin/python --json

Exit status: 0 every device computed right, 1 one is missing or wrong, 2 the framework cannot be imported.`;

export function register(program: Command): void {
  offlineOption(program.command('verify'))
    .description('run the check of an environment, and explain what fails')
    .option('--python <path>', 'the interpreter to use')
    .option('--env <folder>', 'the folder with verify.py (default: this one)')
    .option('--json', 'machine-readable output, schema gpuforge.verify/1')
    .addHelpText('after', examples)
    .action(async (flags: VerifyFlags & Offline) => {
      const [{ runVerify }, { nodePorts }, { processOutput }] = await Promise.all([
        import('../../forge/env/verify-run.ts'),
        import('../../forge/ports-node.ts'),
        import('../../forge/style.ts'),
      ]);
      process.exitCode = await runVerify(nodePorts(offlinePorts(flags)), flags, processOutput());
    });
}
