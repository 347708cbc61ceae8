// The command line as it is built: help, mistakes in a call, and what programs read of them.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const gpuforge = (...args: string[]) => spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8' });

it('prints help when it is called alone', () => {
  const { status, stdout, stderr } = gpuforge();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const command of ['tour', 'detect', 'doctor', 'resolve', 'studio'])
    expect(stdout).toMatch(new RegExp(`^ +${command}\\b`, 'm'));
});

it('suggests what a misspelt command, option or value could mean', () => {
  const command = gpuforge('detct');
  expect(command.status).toBe(2);
  expect(command.stderr).toMatch(/unknown command 'detct'\n\(Did you mean detect\?\)/);
  expect(gpuforge('stats', '--jsn').stderr).toMatch(/unknown option '--jsn'\n\(Did you mean --json\?\)/);
  expect(gpuforge('tour', '--device', 'gpu').stderr).toMatch(/Allowed choices are cuda, webgpu, cpu/);
});

it('tells a mistake in a call as JSON where JSON was asked for', () => {
  const { status, stdout, stderr } = gpuforge('detct', '--json');
  expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({
    schema: 'gpuforge.error/1',
    error: { code: 'USAGE', message: "unknown command 'detct'", fix: 'Did you mean detect?' },
  });
  expect(JSON.parse(gpuforge('stats', '--json', '--device', 'gpu').stdout).error.code).toBe('USAGE');
});

it('tells a failure as JSON where JSON was asked for, whatever the command', () => {
  const fails = [
    { args: ['profile', 'show', 'no-such-file'], code: 'NO_FILE' },
    { args: ['lattice', 'path', 'a', '5'], code: 'BAD_NUMBER' },
    { args: ['field', 'bench', '--cycles', 'many'], code: 'BAD_NUMBER' },
    { args: ['stats', '--watch', 'often'], code: 'BAD_NUMBER' },
    { args: ['studio', '--port', 'abc'], code: 'BAD_NUMBER' },
    { args: ['jobs', 'show'], code: 'NO_ID' },
    { args: ['explain'], code: 'FORGE_NO_TEXT' },
  ];
  for (const { args, code } of fails) {
    const { status, stdout, stderr } = gpuforge(...args, '--json');
    expect({ args, status, stderr }).toEqual({ args, status: 2, stderr: '' });
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string; fix: string } };
    expect(error.code).toMatch(code);
    expect(error.message).not.toContain(error.fix);
    expect(error.fix.length).toBeGreaterThan(5);
  }
});

it('tells a name without quotes from one that does not exist', () => {
  for (const command of [['resolve'], ['env', 'demo']])
    expect(gpuforge(...command, '--for', 'RTX', '4090').stderr).toContain(
      'A name with spaces stands in quotes: --for "RTX 4090"',
    );
  const detect = gpuforge('detect', '--gpu', 'RTX', '4090');
  expect(detect.stderr).toContain('A name with spaces stands in quotes: --gpu "RTX 4090"');
  expect(gpuforge('resolve', 'extra').stderr).not.toContain('quotes');
});

it('says which help to read', () => {
  expect(gpuforge('resolve', '--nothing').stderr).toContain('(gpuforge resolve --help shows how it is called)');
  expect(gpuforge('lattice', 'path').stderr).toContain('(gpuforge lattice path --help shows how it is called)');
  expect(gpuforge('jobs', 'lst').stderr).toMatch(/Allowed choices are list, show, cancel, retry, remove/);
  expect(gpuforge('explain-route', 'matmul', '10').stderr).toMatch(/Allowed choices are matrix_multiply/);
});

it.runIf(process.platform !== 'win32')('ends quietly when nobody reads, and in one line when the disk is full', () => {
  const shell = (rest: string) =>
    spawnSync(
      'sh',
      ['-c', `"$0" "$1" explain --no-machine "CUDA error: out of memory" ${rest}`, process.execPath, cli],
      {
        encoding: 'utf8',
      },
    );
  expect(shell('| true')).toMatchObject({ status: 0, stderr: '' });
  if (process.platform !== 'linux') return;
  const full = shell('> /dev/full');
  expect(full.status).toBe(2);
  expect(full.stderr).toBe('error: standard output cannot be written: ENOSPC\n');
});

it('completes the values of options', () => {
  const { stdout } = gpuforge('completion', 'bash');
  expect(stdout).toContain('"tour|--device") words="cuda webgpu cpu"');
  expect(stdout).toMatch(/--model"\) words="fused full"/);
});
