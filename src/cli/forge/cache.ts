// gpuforge cache show | clear

import type { Command } from 'commander';

const examples = `
Examples:
  $ gpuforge cache show
  $ gpuforge cache clear`;

export function register(program: Command): void {
  const cache = program.command('cache').description('the cache of detection results').addHelpText('after', examples);
  for (const [name, description] of [
    ['show', 'list what is cached'],
    ['clear', 'remove every cached detection'],
  ] as const) {
    cache
      .command(name)
      .description(description)
      .option('--json', 'machine-readable output, schema gpuforge.cache/1')
      .action(async (flags: { readonly json?: boolean }) => {
        const [{ runCacheShow, runCacheClear }, { nodePorts }, { processOutput }] = await Promise.all([
          import('../../forge/detect/command.ts'),
          import('../../forge/ports-node.ts'),
          import('../../forge/style.ts'),
        ]);
        const run = name === 'show' ? runCacheShow : runCacheClear;
        process.exitCode = run(nodePorts(), flags, processOutput());
      });
  }
}
