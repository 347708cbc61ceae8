// gpuforge profiles

import { Argument, type Command } from 'commander';
import { offlinePorts } from './offline.ts';
import { framework, machineOptions } from './resolve.ts';

const examples = `
Examples:
  $ gpuforge profiles                       every profile in a line
  $ gpuforge profiles show nlp              its packages
  $ gpuforge profiles recommend --for "RTX 4090" --os linux   how well each suits a machine`;

export function register(program: Command): void {
  machineOptions(
    program
      .command('profiles')
      .description('list the profiles, show one, or see which suits the machine')
      .addArgument(new Argument('[action]').choices(['list', 'show', 'recommend']).default('list'))
      .argument('[name]', 'the profile to show')
      .addOption(framework()),
  )
    .addHelpText('after', examples)
    .action(async (action: 'list' | 'show' | 'recommend', name: string | undefined, flags) => {
      const [{ runProfiles }, { nodePorts }, { processOutput }] = await Promise.all([
        import('../../forge/profiles/command.ts'),
        import('../../forge/ports-node.ts'),
        import('../../forge/style.ts'),
      ]);
      process.exitCode = await runProfiles(nodePorts(offlinePorts(flags)), action, name, flags, processOutput());
    });
}
