// gpuforge data

import { Argument, type Command } from 'commander';
import type { DataAction } from '../../forge/data/command.ts';
import { offlineOption, offlinePorts } from './offline.ts';

const examples = `
Examples:
  $ gpuforge data                    the tables in use and when each was reviewed
  $ gpuforge data check              compare with PyTorch and NVIDIA; status 1 when old or different
  $ gpuforge data update             take the differences over, into the cache folder
  $ gpuforge data --data tables.json  validate tables of your own`;

export function register(program: Command): void {
  offlineOption(program.command('data'))
    .description('show, compare and update the compatibility tables')
    .addArgument(new Argument('[action]').choices(['version', 'check', 'update']).default('version'))
    .option('--data <file>', 'tables to use in place of the shipped ones')
    .option('--json', 'machine-readable output, schema gpuforge.data/1')
    .addHelpText('after', examples)
    .action(async (action: DataAction, flags) => {
      const [{ runData }, { nodePorts }, { processOutput }] = await Promise.all([
        import('../../forge/data/command.ts'),
        import('../../forge/ports-node.ts'),
        import('../../forge/style.ts'),
      ]);
      process.exitCode = await runData(nodePorts(offlinePorts(flags)), action, flags, processOutput());
    });
}
