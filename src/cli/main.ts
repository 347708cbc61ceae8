#!/usr/bin/env node
// The command line. Every command loads its own code when it runs, so that starting costs nearly nothing.
//
// Exit status: 0 done, 1 failed, 2 a call that is not understood. With --json a failure is one JSON object on standard output too.

import type { Command } from 'commander';
import { endQuietly } from '../base/end-quietly.ts';
import { isOldNode } from '../base/platform.ts';
import { version } from '../base/version.ts';
import { forTerminal } from '../forge/text/plain.ts';
import { failureJson, tellFailure } from './failure.ts';
import { fitted, helpWidth } from './help.ts';

const args = process.argv.slice(2);
const json = args.includes('--json');

async function main(): Promise<void> {
  endQuietly();
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
    .configureOutput({
      writeOut: (text) => void process.stdout.write(fitted(text, helpWidth())),
      // What is refused is quoted, and may hold escape sequences.
      writeErr: (text) => void (json || process.stderr.write(forTerminal(`${text}${aboutQuotes(text)}`, 'nothing'))),
    })
    .enablePositionalOptions()
    .exitOverride();
  const { registerCommands } = await import('./commands.ts');
  await registerCommands(program, args[0]);
  sayWhereToLook(program, 'gpuforge');
  if (args.length === 0) program.outputHelp();
  else await program.parseAsync();
}

/** `--for RTX 4090` without quotes is one name and one word too many. */
const aboutQuotes = (text: string): string =>
  /too many arguments/.test(text) && args.some((arg) => arg === '--for' || arg === '--gpu')
    ? 'A name with spaces stands in quotes: --for "RTX 4090".\n'
    : '';

/** A mistake in a call of a command ends with the command that tells more about it. */
function sayWhereToLook(command: Command, name: string): void {
  for (const child of command.commands) {
    const path = `${name} ${child.name()}`;
    child.showHelpAfterError(`(${path} --help shows how it is called)`);
    sayWhereToLook(child, path);
  }
}

const output = {
  write: (text: string) => void process.stdout.write(forTerminal(text, 'nothing')),
  warn: (text: string) => void process.stderr.write(forTerminal(text, 'nothing')),
};

main().catch((error: unknown) => {
  // Commander has printed its own message; help and version end well.
  if (error instanceof Error && 'exitCode' in error && error.constructor.name.startsWith('Commander')) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
    const [first, ...more] = error.message.replace(/^error: /, '').split('\n');
    if (json && error.exitCode !== 0)
      output.write(failureJson('USAGE', first!, more.join(' ').replace(/^\((.*)\)$/, '$1')));
    return;
  }
  process.exitCode = 1;
  tellFailure(error, output, json);
});
