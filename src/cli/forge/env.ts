// gpuforge env NAME

import type { Command } from 'commander';
import { offlinePorts } from './offline.ts';
import { framework, machineOptions } from './resolve.ts';

const examples = `
Examples:
  $ gpuforge env demo                                  files for this machine, profile by hardware
  $ gpuforge env demo --profile nlp --framework jax
  $ gpuforge env demo --format uv,verify --output .    only these files, into this folder
  $ gpuforge env demo --dry-run                        show what would be written
  $ gpuforge env demo --for "RTX 5090" --driver 580 --os linux
  $ gpuforge env demo --install                        and install it, after asking
  $ gpuforge env demo --wheelhouse wheels              every wheel, for a machine without network
  $ gpuforge env --profiles                            how well each profile suits this machine

Formats: uv, requirements, conda, pixi, docker, devcontainer, verify (these by default), apptainer, cloud-init.
Exit status: 0 written, 1 no build fits, 2 the request is wrong or nothing could be written.`;

export function register(program: Command): void {
  machineOptions(
    program
      .command('env')
      .argument('[name]', 'name of the environment: small letters, digits, dot, dash, underscore')
      .description('write the files of a GPU environment: uv, pip, conda-forge, pixi, containers and a check')
      .option(
        '--profile <name>',
        'learning, research, computer_vision, nlp, deep_learning, production, lightweight, reinforcement_learning or your own',
      )
      .addOption(framework())
      .option('--python <version>', 'for this Python, such as 3.12')
      .option('--cpu-only', 'for the CPU, whatever GPU is there')
      .option('--minimal', 'the framework and numpy only')
      .option('--format <list>', 'files to write, with commas')
      .option('--output <folder>', 'where to write (default: a folder of the name)')
      .option('--dry-run', 'show what would be written, and the difference to what is there')
      .option('--force', 'replace files that differ')
      .option('--install', 'install it, after saying how large it is and asking')
      .option('--yes', 'agree to --install beforehand')
      .option('--allow-root', 'let --install work as root')
      .option('--lock', 'also write uv.lock and pixi.lock, by uv and pixi')
      .option('--wheelhouse <folder>', 'also download every wheel with its hash, for installing offline')
      .option('--profiles', 'list the profiles with their scores; writes nothing'),
  )
    .addHelpText('after', examples)
    .action(async (name: string | undefined, flags) => {
      const [{ runEnv }, { nodePorts }, { processOutput }, { nodeInstallPort }, { confirmer }] = await Promise.all([
        import('../../forge/env/command.ts'),
        import('../../forge/ports-node.ts'),
        import('../../forge/style.ts'),
        import('../../forge/env/install-node.ts'),
        import('./confirm.ts'),
      ]);
      const ports = nodePorts(offlinePorts(flags));
      const confirm = confirmer();
      const tools = { tools: nodeInstallPort(ports), ...(confirm ? { confirm } : {}) };
      process.exitCode = await runEnv(ports, name, flags, processOutput(), tools);
    });
}
