#!/usr/bin/env node
// The command line. Every command loads its own code when it runs, so that starting costs nearly nothing.
//
// Exit status: 0 done, 1 failed, 2 a call that is not understood. With --json a failure is one JSON object on standard output too.

import { isOldNode } from '../base/platform.ts';
import { version } from '../base/version.ts';

const args = process.argv.slice(2);
const json = args.includes('--json');

async function main(): Promise<void> {
  if (isOldNode()) throw (await import('../runtime/old-node.ts')).oldNode();
  // Before anything is loaded: this is what scripts ask for.
  if (args[0] === '--version' || args[0] === '-V') {
    process.stdout.write(`${version}\n`);
    return;
  }
  const { Command } = await import('commander');
  const program = new Command('gpuforge')
    .description('GPU computing for TypeScript: what this machine can do, and what is wrong where it cannot.')
    .version(version)
    .showHelpAfterError('(gpuforge --help lists the commands)')
    .configureOutput(json ? { writeErr: () => {} } : {})
    .enablePositionalOptions()
    .exitOverride();
  const { commands } = await import('./commands.ts');
  for (const register of commands) register(program);
  if (args.length === 0) program.outputHelp();
  else await program.parseAsync();
}

/** What a failure is to a program that reads --json. */
function tell(code: string, message: string, fix?: string): void {
  const error = { code, message, ...(fix === undefined ? {} : { fix }) };
  process.stdout.write(`${JSON.stringify({ schema: 'gpuforge.error/1', error }, null, 2)}\n`);
}

main().catch((error: unknown) => {
  const { message } = error instanceof Error ? error : { message: String(error) };
  // Commander has printed its own message; help and version end well.
  if (error instanceof Error && 'exitCode' in error && error.constructor.name.startsWith('Commander')) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
    const [first, ...more] = message.replace(/^error: /, '').split('\n');
    if (json && error.exitCode !== 0) tell('USAGE', first!, more.join(' ').replace(/^\((.*)\)$/, '$1') || undefined);
    return;
  }
  process.exitCode = 1;
  const { code, fix } = error as { code?: unknown; fix?: unknown };
  if (json) tell(typeof code === 'string' ? code : 'FAILED', message, typeof fix === 'string' ? fix : undefined);
  else process.stderr.write(`gpuforge: ${message}\n`);
});
