// `gpuforge studio` and `gpuforge studio attach`: the page of the machine, or of programs that run.

import type { Command } from 'commander';
import type { StudioFlags } from './studio-show.ts';

const examples = `
Examples:
  $ gpuforge studio                            this machine: devices, memory, forge
  $ gpuforge studio --no-open --port 8080      print the link, open no browser
  $ gpuforge studio --profile p.json q.json    profiles: open, compare, what to improve first
  $ gpuforge studio attach 4711                a program that was started with GPUFORGE_STUDIO=1
  $ gpuforge studio attach                     all such programs
  $ gpuforge studio --host 0.0.0.0 --token-file ~/.studio-token

The link works once. Press Enter for another one, Ctrl-C to end.
Exit status: 0 ended by you, 1 it could not be started, 2 the request is wrong.`;

export function register(program: Command): void {
  const studio = options(
    program.command('studio').description('serve a local page that shows devices, memory, work and failures'),
  )
    .option('--profile <files...>', 'profiles to show, as gpuforge profile run writes them')
    .addHelpText('after', examples)
    .action(async (flags: StudioFlags) => run(null, flags));
  options(
    studio
      .command('attach')
      .argument('[pids...]', 'process ids; default: every program that can be looked at')
      .description('look at programs that were started with GPUFORGE_STUDIO=1'),
  ).action(async (pids: readonly string[], own: StudioFlags) => {
    const before: StudioFlags = studio.opts();
    await run(pids, { ...before, ...own, open: before.open !== false && own.open !== false });
  });
}

function options(command: Command): Command {
  return command
    .option('--port <n>', 'port; default: any that is free')
    .option('--host <address>', 'another address than the loopback one; needs --token-file')
    .option('--token-file <file>', 'a file with a secret of 32 characters or more, for programs that ask')
    .option('--no-open', 'open no browser')
    .option('--json', 'print the link as a line of JSON');
}

async function run(pids: readonly string[] | null, flags: StudioFlags): Promise<void> {
  const [{ runStudio }, { processOutput }] = await Promise.all([
    import('./studio-show.ts'),
    import('../forge/style.ts'),
  ]);
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  try {
    process.exitCode = await runStudio(pids, flags, processOutput(), stop.signal);
  } finally {
    process.removeListener('SIGINT', interrupt);
    process.removeListener('SIGTERM', interrupt);
  }
}
