// gpuforge explain [FILE|-|TEXT]

import { type Command, InvalidArgumentError } from 'commander';
import { offlineOption, offlinePorts } from './offline.ts';
import { collect } from './resolve.ts';

const examples = `
Examples:
  $ gpuforge explain "CUDA error: no kernel image is available for execution on the device"
  $ gpuforge explain train.log
  $ python train.py 2>&1 | gpuforge explain -
  $ gpuforge explain train.log --fix                         run the safe steps, after asking
  $ gpuforge explain train.log --for "GTX 1080 Ti" --driver 580    it happened on another machine

Exit status: 0 recognised, 1 not recognised, 2 the request is wrong.`;

export function register(program: Command): void {
  offlineOption(program.command('explain'))
    .argument('[text...]', 'an error text, a file, or - for standard input')
    .description('say what an error means on this machine and what to do')
    .option('--limit <n>', 'most explanations to print', count)
    .option('--fix', 'show the steps that are safe to run, and run them if you agree')
    .option('--yes', 'agree to --fix beforehand')
    .option('--no-machine', 'do not look at this machine')
    .option('--for <gpu>', 'it happened on a machine with this GPU; repeat for several', collect)
    .option('--driver <version>', 'and with this NVIDIA driver')
    .option('--os <name>', 'and with this system: linux, windows or macos')
    .option('--json', 'machine-readable output, schema gpuforge.explain/1')
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
    .action(async (words: readonly string[], flags) => {
      const [{ runExplain, standardInput }, { nodePorts }, { processOutput }, { confirmer }] = await Promise.all([
        import('../../forge/explain/command.ts'),
        import('../../forge/ports-node.ts'),
        import('../../forge/style.ts'),
        import('./confirm.ts'),
      ]);
      process.exitCode = await runExplain(
        nodePorts(offlinePorts(flags)),
        words,
        flags,
        processOutput(),
        standardInput(),
        undefined,
        confirmer(),
      );
    });
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('It must be a whole number above 0.');
}
