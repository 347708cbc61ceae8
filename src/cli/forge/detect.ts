// gpuforge detect

import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Offline, offlineOption, offlinePorts } from './offline.ts';

interface Flags {
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly cache: boolean;
  readonly wake?: boolean;
  readonly tier?: 0 | 1 | 2;
  readonly gpu?: readonly string[];
  readonly driver?: string;
  readonly color?: boolean;
  readonly watch?: boolean;
  readonly interval?: number;
  readonly count?: number;
}

const examples = `
Examples:
  $ gpuforge detect                          what is here, and where each fact came from
  $ gpuforge detect --json | jq .machine.gpus
  $ gpuforge detect --tier 0                 files only: no driver is asked, nothing is started
  $ gpuforge detect --watch                  live use, memory, temperature and power
  $ gpuforge detect --gpu "RTX 4090" --driver 570   a machine that is not this one`;

export function register(program: Command): void {
  offlineOption(program.command('detect'))
    .description('show the GPUs of this machine, their drivers and how suitable they are')
    .option('--json', 'machine-readable output, schema gpuforge.detect/1')
    .option('-v, --verbose', 'also show what is not known and why, and every probe with its time')
    .option('--no-cache', 'neither read nor write the cache')
    .option('--wake', 'ask the driver even if that wakes a sleeping card')
    .addOption(
      new Option('--tier <n>', 'highest tier to use: 0 files, 1 driver library, 2 one process').argParser(tier),
    )
    .option('--gpu <name...>', 'take these GPUs instead of looking: a name, PCI id, sm_89 or gfx1100')
    .option('--driver <version>', 'take this NVIDIA driver version instead of looking')
    .option('--watch', 'live readings until q or Ctrl-C')
    .option('--interval <seconds>', 'time between readings of --watch', seconds)
    .option('--count <n>', 'end --watch after so many readings', count)
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
    .action(async ({ offline, ...flags }: Flags & Offline) => {
      const [{ runDetect }, { nodePorts }, { processOutput }] = await Promise.all([
        import('../../forge/detect/command.ts'),
        import('../../forge/ports-node.ts'),
        import('../../forge/style.ts'),
      ]);
      const { interval, ...rest } = flags;
      const options = interval === undefined ? rest : { ...rest, intervalMs: interval * 1000 };
      process.exitCode = await runDetect(
        nodePorts(offlinePorts({ offline })),
        options,
        processOutput({ screen: flags.watch === true }),
      );
    });
}

function tier(text: string): 0 | 1 | 2 {
  const value = Number(text);
  if (value === 0 || value === 1 || value === 2) return value;
  throw new InvalidArgumentError('It must be 0, 1 or 2.');
}

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0.05) return value;
  throw new InvalidArgumentError('It must be a number of seconds, 0.05 at least.');
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be a whole number above 0.');
}
