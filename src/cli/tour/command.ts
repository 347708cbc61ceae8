// `gpuforge tour`, and what `gpuforge` alone does.

import type { Command } from 'commander';

interface Flags {
  readonly json?: boolean;
  readonly device?: readonly string[];
}

export function register(program: Command): void {
  program
    .command('tour', { isDefault: true })
    .description('list the devices, run real work on each, check every result')
    .option('--json', 'print the same as data')
    .option('--device <kind...>', 'only these kinds: cuda, webgpu, cpu')
    .addHelpText('after', '\nExamples:\n  gpuforge\n  gpuforge tour --device cpu\n  gpuforge tour --json > tour.json\n')
    .action(async (flags: Flags) => {
      const { tour } = await import('./show.ts');
      process.exitCode = await tour(flags);
    });
}
