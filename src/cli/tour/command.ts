// `gpuforge tour`: what `npm start` does.

import type { Command } from 'commander';
import { kindOption } from '../device-option.ts';

interface Flags {
  readonly json?: boolean;
  readonly device?: readonly string[];
}

export function register(program: Command): void {
  program
    .command('tour')
    .description('list the devices, run real work on each, check every result')
    .option('--json', 'print the same as data')
    .addOption(kindOption())
    .addHelpText(
      'after',
      '\nExamples:\n  gpuforge tour\n  gpuforge tour --device cpu\n  gpuforge tour --json > tour.json\n',
    )
    .action(async (flags: Flags) => {
      const { tour } = await import('./show.ts');
      process.exitCode = await tour(flags);
    });
}
