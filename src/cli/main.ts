#!/usr/bin/env node
// The command line. Every command loads its own code when it runs, so that starting costs nearly nothing.

import { version } from '../base/version.ts';

async function main(): Promise<void> {
  const [first] = process.argv.slice(2);
  // Before anything is loaded: this is what scripts ask for.
  if (first === '--version' || first === '-V') {
    process.stdout.write(`${version}\n`);
    return;
  }
  const { Command } = await import('commander');
  const program = new Command('gpuforge')
    .description('GPU computing for TypeScript: what this machine can do, and a tour of it.')
    .version(version)
    .showHelpAfterError('(gpuforge --help lists the commands)')
    .enablePositionalOptions()
    .exitOverride();
  const { commands } = await import('./commands.ts');
  for (const register of commands) register(program);
  // The default command would take an unknown word for its argument.
  if (first && !first.startsWith('-') && first !== 'help' && !program.commands.some((c) => c.name() === first)) {
    program.error(`unknown command '${first}'`);
  }
  await program.parseAsync();
}

main().catch((error: unknown) => {
  // Commander has printed its own message; help and version end well, a call it does not understand is status 2.
  if (error instanceof Error && 'exitCode' in error && error.constructor.name.startsWith('Commander')) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
    return;
  }
  const { message } = error instanceof Error ? error : { message: String(error) };
  process.stderr.write(`gpuforge: ${message}\n`);
  process.exitCode = 1;
});
