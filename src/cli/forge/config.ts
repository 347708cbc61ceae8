// gpuforge config list | get | set | unset | path

import type { Command } from 'commander';

const examples = `
Examples:
  $ gpuforge config list
  $ gpuforge config set env.framework jax
  $ gpuforge config set mirrors.pypi https://pypi.example.org/simple
  $ gpuforge config get cache.lifeHours
  $ gpuforge config unset env.framework

A flag wins over an environment variable, a variable over the file, and the file over the default.`;

interface Flags {
  readonly json?: boolean;
  readonly color?: boolean;
}

export function register(program: Command): void {
  const config = program.command('config').description('show and change the settings').addHelpText('after', examples);
  const load = () =>
    Promise.all([
      import('../../forge/config/command.ts'),
      import('../../forge/ports-node.ts'),
      import('../../forge/style.ts'),
    ]);
  const printed = (command: Command): Command =>
    command.option('--json', 'machine-readable output, schema gpuforge.config/1').option('--no-color', 'no colours');

  printed(config.command('list').description('every setting, its value and where it comes from')).action(
    async (flags: Flags) => {
      const [{ runConfigList }, { nodePorts }, { processOutput }] = await load();
      process.exitCode = await runConfigList(nodePorts(), flags, processOutput());
    },
  );
  printed(config.command('get <key>').description('the value of one setting')).action(
    async (key: string, flags: Flags) => {
      const [{ runConfigGet }, { nodePorts }, { processOutput }] = await load();
      process.exitCode = await runConfigGet(nodePorts(), key, flags, processOutput());
    },
  );
  printed(config.command('set <key> <value>').description('change one setting; lists are given with commas')).action(
    async (key: string, value: string, flags: Flags) => {
      const [{ runConfigSet }, { nodePorts }, { processOutput }] = await load();
      process.exitCode = await runConfigSet(nodePorts(), key, value, flags, processOutput());
    },
  );
  printed(config.command('unset <key>').description('back to the default')).action(
    async (key: string, flags: Flags) => {
      const [{ runConfigSet }, { nodePorts }, { processOutput }] = await load();
      process.exitCode = await runConfigSet(nodePorts(), key, undefined, flags, processOutput());
    },
  );
  printed(config.command('path').description('where the file is')).action(async (flags: Flags) => {
    const [{ runConfigPath }, { nodePorts }, { processOutput }] = await load();
    process.exitCode = runConfigPath(nodePorts(), flags, processOutput());
  });
}
