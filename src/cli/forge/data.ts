// gpuforge data

import { Argument, type Command } from 'commander';

const examples = `
Examples:
  $ gpuforge data                    the tables in use and when each was reviewed
  $ gpuforge data check              status 1 when they are too old
  $ gpuforge data --data tables.json validate tables of your own`;

export function register(program: Command): void {
  program
    .command('data')
    .description('show which compatibility tables are used, and whether they are too old')
    .addArgument(new Argument('[action]').choices(['version', 'check']).default('version'))
    .option('--data <file>', 'tables to use in place of the shipped ones')
    .option('--json', 'machine-readable output, schema gpuforge.data/1')
    .addHelpText('after', examples)
    .action(async (action: 'version' | 'check', flags) => {
      const [{ runData }, { nodePorts }, { processOutput }] = await Promise.all([
        import('../../forge/data/command.ts'),
        import('../../forge/ports-node.ts'),
        import('../../forge/style.ts'),
      ]);
      process.exitCode = await runData(nodePorts(), action, flags, processOutput());
    });
}
