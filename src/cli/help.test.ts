import { Command } from 'commander';
import { expect, it } from 'vitest';
import { registerCommands } from './commands.ts';
import { fitted } from './help.ts';

/** A command and all below it. */
const family = (c: Command): Command[] => [c, ...c.commands.flatMap(family)];

it('help of every command fits 80 columns, but for commands to be copied', async () => {
  let text = '';
  const program = new Command('gpuforge').enablePositionalOptions().configureOutput({
    writeOut: (t) => {
      text += fitted(t, 80);
    },
    getOutHelpWidth: () => 80,
  });
  await registerCommands(program);
  const all = family(program);
  expect(all.length).toBeGreaterThan(30);
  for (const command of all) {
    text = '';
    command.outputHelp();
    const long = text.split('\n').filter((line) => line.length > 80 && !/^ *(\$ )?gpuforge \S/.test(line));
    expect({ command: command.name(), long }).toEqual({ command: command.name(), long: [] });
    expect(text).toContain('Usage:');
  }
});

it('what a command does moves below it where a paragraph is too wide, and only there', () => {
  const beside = 'Examples:\n  $ gpuforge a   does one thing\n  $ gpuforge bb  does another';
  expect(fitted(beside, 80)).toBe(beside);
  expect(fitted(`${beside}\n\nExit status: 0 done, 1 failed.`, 30)).toBe(
    [
      'Examples:',
      '  $ gpuforge a',
      '      does one thing',
      '  $ gpuforge bb',
      '      does another',
      '',
      'Exit status: 0 done, 1 failed.',
    ].join('\n'),
  );
  expect(fitted('  words that go on and on', 12)).toBe('  words that\n  go on and\n  on');
  expect(fitted('  $ gpuforge explain "a long text"', 12)).toBe('  $ gpuforge explain "a long text"');
});
