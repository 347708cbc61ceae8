// gpuforge calibrate

import { type Command, InvalidArgumentError } from 'commander';

export interface CalibrateFlags {
  readonly json?: boolean;
  readonly force?: boolean;
  readonly budget?: number;
  readonly color?: boolean;
}

const examples = `
Examples:
  $ gpuforge calibrate            measure what is not known yet, show what is
  $ gpuforge calibrate --force    measure every device again
  $ gpuforge calibrate --json`;

export function register(program: Command): void {
  program
    .command('calibrate')
    .description('measure what the devices of this machine take for launches, transfers and kernels')
    .option('--force', 'measure again, whatever is known')
    .option('--budget <ms>', 'time for all devices together (default 550)', milliseconds)
    .option('--json', 'machine-readable output, schema gpuforge.calibrate/1')
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
    .action(async (flags: CalibrateFlags) => {
      const [{ runCalibrate }, { processOutput }] = await Promise.all([
        import('./routing-show.ts'),
        import('../forge/style.ts'),
      ]);
      process.exitCode = await runCalibrate(flags, processOutput({ screen: true }));
    });
}

function milliseconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= 50) return value;
  throw new InvalidArgumentError('It must be a number of milliseconds, 50 at least.');
}
