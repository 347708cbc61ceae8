// `gpuforge stats`: how full the devices are, how busy, and how old the router's knowledge of them is.

import type { Command } from 'commander';
import { kindOption } from './device-option.ts';

interface Flags {
  readonly json?: boolean;
  readonly watch?: string | boolean;
  readonly device?: readonly string[];
}

const examples = `
Examples:
  gpuforge stats                    once
  gpuforge stats --watch            again every second, until interrupted
  gpuforge stats --watch 5 --json   a line of JSON every five seconds
`;

export function register(program: Command): void {
  program
    .command('stats')
    .description('show memory, pressure and telemetry of every device')
    .option('--json', 'machine-readable output, schema gpuforge.stats/1')
    .option('--watch [seconds]', 'repeat every second, or every so many')
    .addOption(kindOption())
    .addHelpText('after', examples)
    .action(async (flags: Flags) => {
      const [{ stats }, { processOutput }] = await Promise.all([
        import('./stats-show.ts'),
        import('../forge/style.ts'),
      ]);
      const stop = new AbortController();
      const interrupt = (): void => stop.abort();
      process.once('SIGINT', interrupt);
      process.once('SIGTERM', interrupt);
      try {
        process.exitCode = await stats(flags, processOutput({ screen: true }), stop.signal);
      } finally {
        process.removeListener('SIGINT', interrupt);
        process.removeListener('SIGTERM', interrupt);
      }
    });
}
