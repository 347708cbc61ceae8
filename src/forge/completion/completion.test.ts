import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { register as completion } from '../../cli/forge/completion.ts';
import { register as config } from '../../cli/forge/config.ts';
import { register as env } from '../../cli/forge/env.ts';
import { register as explain } from '../../cli/forge/explain.ts';
import { register as resolve } from '../../cli/forge/resolve.ts';
import { type Shell, shells } from './shells.ts';
import { treeOf, walk } from './tree.ts';

function program(): Command {
  const root = new Command('gpuforge').description('test');
  for (const register of [resolve, env, explain, config, completion]) register(root);
  return root;
}

const tree = treeOf(program());
const has = (tool: string): boolean => spawnSync(tool, ['--version']).status === 0;

describe('the tree of commands', () => {
  it('holds every command, also nested ones, and every option', () => {
    expect(walk(tree).map(({ path }) => path.join(' '))).toEqual([
      '',
      'resolve',
      'env',
      'explain',
      'config',
      'config list',
      'config get',
      'config set',
      'config unset',
      'config path',
      'completion',
    ]);
    const options = tree.commands.find((command) => command.name === 'env')!.options.flatMap((option) => option.flags);
    expect(options).toEqual(expect.arrayContaining(['--dry-run', '--force', '--no-cache', '-v', '--help']));
  });
});

describe('scripts', () => {
  it.each(Object.keys(shells) as Shell[])('%s names every command and long option', (shell) => {
    const script = shells[shell](tree);
    for (const { path, node } of walk(tree).slice(1)) {
      expect(script).toContain(path.at(-1));
      for (const flag of node.options.flatMap((option) => option.flags))
        expect(script, `${path} ${flag}`).toContain(shell === 'fish' ? flag.replace(/^-+/, '') : flag);
    }
  });

  const complete = (...words: string[]): readonly string[] => {
    const script = `${shells.bash(tree)}\nCOMP_WORDS=(gpuforge ${words.map((word) => `'${word}'`).join(' ')})\nCOMP_CWORD=${words.length}\n_gpuforge\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
    const run = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    expect(run.stderr).toBe('');
    return run.stdout.trim().split('\n');
  };

  it.skipIf(!has('bash'))('bash completes commands, nested commands, options and choices', () => {
    expect(complete('re')).toEqual(['resolve']);
    expect(complete('env', '--dr')).toEqual(expect.arrayContaining(['--dry-run', '--driver']));
    expect(complete('config', 's')).toEqual(['set']);
    expect(complete('config', 'set', '--j')).toEqual(['--json']);
    expect(complete('completion', 'z')).toEqual(['zsh']);
    expect(complete('resolve', '--framework', 'jax', '--cp')).toEqual(['--cpu-only']);
  });

  for (const [tool, args] of [
    ['zsh', ['-n']],
    ['fish', ['--no-execute']],
  ] as const) {
    it(`${tool} accepts its script`, ({ skip }) => {
      if (!has(tool)) skip(`${tool} is not installed: its script was not checked by it`);
      const folder = mkdtempSync(join(tmpdir(), 'gpuforge-completion-'));
      try {
        const script = join(folder, `script.${tool}`);
        writeFileSync(script, shells[tool](tree));
        const run = spawnSync(tool, [...args, script], { encoding: 'utf8' });
        expect(run.stderr).toBe('');
        expect(run.status).toBe(0);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
});

describe('fish', () => {
  it('completes commands, options and choices', ({ skip }) => {
    if (!has('fish')) skip('fish is not installed: its script was not run');
    const folder = mkdtempSync(join(tmpdir(), 'gpuforge-completion-'));
    try {
      writeFileSync(join(folder, 'c.fish'), shells.fish(tree));
      const complete = (line: string) =>
        spawnSync('fish', ['-c', `source ${folder}/c.fish; complete -C'${line}'`], { encoding: 'utf8' })
          .stdout.split('\n')
          .map((row) => row.split('\t')[0]);
      expect(complete('gpuforge res')).toContain('resolve');
      expect(complete('gpuforge env --dr')).toEqual(expect.arrayContaining(['--dry-run', '--driver']));
      expect(complete('gpuforge config s')).toContain('set');
      expect(complete('gpuforge completion z')).toContain('zsh');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('--help', () => {
  it.each(['resolve', 'env', 'explain', 'config', 'completion'])('%s shows examples', (name) => {
    const command = program().commands.find((child) => child.name() === name)!;
    let text = '';
    command.configureOutput({ writeOut: (part) => void (text += part) });
    command.outputHelp();
    expect(text).toMatch(/Usage: gpuforge/);
    expect(text).toMatch(/Examples:\n {2}[$>] /);
  });
});
