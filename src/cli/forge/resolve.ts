// gpuforge resolve

import { type Command, Option } from 'commander';
import { offlineOption, offlinePorts } from './offline.ts';

const examples = `
Examples:
  $ gpuforge resolve                                        the build for this machine, with the proof
  $ gpuforge resolve --framework jax --python 3.13
  $ gpuforge resolve --for "RTX 4090" --driver 570 --os linux   a machine that is not this one
  $ gpuforge resolve --check "torch==2.14.1+cu130"          does this one run here?
  $ gpuforge resolve --compare torch==2.14.1+cu126 torch==2.14.1+cu130
  $ gpuforge resolve --for-instance g5.xlarge --framework jax
  $ gpuforge resolve --all --json                           every build that runs here

Exit status: 0 a build fits, 1 none does, 2 the request is wrong.`;

export function register(program: Command): void {
  machineOptions(
    program
      .command('resolve')
      .description('find the framework build that runs on this GPU, driver, system and Python, and prove it')
      .addOption(framework())
      .option('--python <version>', 'for this Python, such as 3.12')
      .option('--cpu-only', 'the CPU build, whatever GPU is there')
      .option('--all', 'list every build that fits, best first')
      .option('--compare <builds...>', 'show two builds side by side, and the first check at which they differ')
      .option('--check <build>', 'judge one build: "torch==2.14.1+cu130", "2.11" or "cu128"'),
  )
    .addHelpText('after', examples)
    .action(async (flags) => {
      const [{ runResolve }, { nodePorts }, { processOutput }] = await Promise.all([
        import('../../forge/resolve/command.ts'),
        import('../../forge/ports-node.ts'),
        import('../../forge/style.ts'),
      ]);
      process.exitCode = await runResolve(nodePorts(offlinePorts(flags)), flags, processOutput());
    });
}

export const framework = (): Option =>
  new Option('--framework <name>', 'pytorch, tensorflow or jax (default: the configured one, else pytorch)');

/** The options of every command that works for a machine: which one, with which tables, and how to print. */
export function machineOptions(command: Command): Command {
  return offlineOption(command)
    .option(
      '--for <gpu>',
      'for a machine with this GPU instead of this one: "RTX 4090", sm_89, gfx1100; repeat for several',
      collect,
    )
    .option('--gpu <gpu>', 'the same as --for', collect)
    .option('--for-instance <type>', 'for a cloud instance: g5.xlarge, a3-highgpu-8g, Standard_NC40ads_H100_v5')
    .option('--driver <version>', 'with this NVIDIA driver: 570 or 570.124.06')
    .addOption(new Option('--os <name>', 'with this system: linux, windows or macos'))
    .addOption(new Option('--arch <name>', 'with this processor: x64 or arm64'))
    .option('--data <file>', 'tables to use in place of the shipped ones')
    .option('--json', 'machine-readable output')
    .option('-v, --verbose', 'also show what was rejected and why, and the time each step took')
    .option('--no-cache', 'neither read nor write the detection cache')
    .option('--no-color', 'no colours');
}

/** An option that may be given several times. A variadic one would swallow the name that follows it. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}
