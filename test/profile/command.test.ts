// `gpuforge profile`: programs that were not written for it, files, and exit statuses. Runs what is built.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProfile } from '../../src/cli/profile-show.ts';
import { exporters, type ProfileFile, readProfile } from '../../src/profile/index.ts';
import { callsOf, profileOf } from './support.ts';

const dist = join(import.meta.dirname, '../../dist');
const folder = mkdtempSync(join(tmpdir(), 'gpuforge-command-'));
const at = (name: string): string => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

const library = pathToFileURL(join(dist, 'index.js')).href;
const profileEntry = pathToFileURL(join(dist, 'profile.js')).href;

/** A program as anybody writes it; `end` is how it ends. */
function program(name: string, end: string): string {
  const file = at(`${name}.mjs`);
  writeFileSync(
    file,
    `import { createRuntime } from '${library}';
    import { getProfiler } from '${profileEntry}';
    const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
    const x = rt.ones([300, 300]).compute();
    for (let i = 0; i < 3; i++) await getProfiler({ runtimes: [rt] }).profile('step', async () => (await x.mul(i).sum().data())[0]);
    await x.add(1).data();
    console.log('working');
    ${end}`,
  );
  return file;
}

const cli = (...args: string[]): { status: number | null; out: string; err: string } => {
  const run = spawnSync(process.execPath, [join(dist, 'cli.js'), 'profile', ...args], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 100_000,
  });
  return { status: run.status, out: run.stdout, err: run.stderr };
};

const read = (name: string): ProfileFile => readProfile(readFileSync(at(name), 'utf8'));

describe('profile run', () => {
  it('measures a program that knows nothing of it, with the scopes it has, and passes on its output', () => {
    const { status, out, err } = cli('run', '--out', 'a.json', '--html', 'a.html', '--', 'node', program('plain', ''));
    expect(err).toContain('Written to a.json and a.html.');
    expect(status).toBe(0);
    expect(out).toBe('working\n');
    const { entries, kernels, machine } = read('a.json');
    expect(entries.map((e) => e.operation).sort()).toEqual(['plain.mjs', 'step', 'step', 'step']);
    const whole = entries.find((e) => e.operation === 'plain.mjs')!;
    expect(entries.every((e) => e === whole || e.parentId === whole.id)).toBe(true);
    // The last read is in no scope but that of the program.
    expect(kernels.some((k) => k.entry === whole.id)).toBe(true);
    expect(kernels.every((k) => k.ms !== null)).toBe(true);
    expect(machine.devices.map((d) => d.id)).toEqual(['cpu']);
    expect(readFileSync(at('a.html'), 'utf8')).toContain('<!doctype html>');
  });

  it('has the status of the program, and a profile after a throw, an exit and a closed runtime', () => {
    const cases = [
      ['throws', "throw new Error('broken');", 1, true],
      ['exits', 'process.exit(5);', 5, true],
      ['closes', 'await rt.close();', 0, false],
    ] as const;
    for (const [name, end, wanted, failed] of cases) {
      const { status, err } = cli('run', '--out', `${name}.json`, '--', 'node', program(name, end));
      expect(status, `${name}: ${err}`).toBe(wanted);
      const { entries, kernels } = read(`${name}.json`);
      expect(entries.filter((e) => e.operation === 'step').length).toBe(3);
      expect(entries.find((e) => e.operation === `${name}.mjs`)!.failed).toBe(failed);
      expect(kernels.length).toBeGreaterThan(3);
    }
  });

  it('is not disturbed by threads and processes that the program starts', () => {
    const child = program('inner', '');
    const file = program(
      'starts',
      `const { Worker } = await import('node:worker_threads');
      const { spawnSync } = await import('node:child_process');
      await new Promise((r) => new Worker('1 + 1', { eval: true }).once('exit', r));
      spawnSync(process.execPath, ['-e', '1 + 1']);
      spawnSync(process.execPath, [${JSON.stringify(child)}]);`,
    );
    expect(cli('run', '--out', 'starts.json', '--', 'node', file).status).toBe(0);
    const roots = (name: string) =>
      read(name)
        .entries.filter((e) => e.parentId === null)
        .map((e) => e.operation);
    expect(roots('starts.json')).toEqual(['starts.mjs']);
    expect(roots('starts.1.json')).toEqual(['inner.mjs']);
    expect(readdirSync(folder).filter((f) => f.startsWith('starts.') && f.endsWith('.json')).length).toBe(2);
  });

  it('says so if there was nothing to measure, and leaves an older profile alone', () => {
    writeFileSync(at('idle.mjs'), '1 + 1;');
    writeFileSync(at('older.json'), 'older');
    const { status, err } = cli('run', '--out', 'older.json', '--', 'node', 'idle.mjs');
    expect(status).toBe(0);
    expect(err).toMatch(/there is no profile: the program opened no runtime/);
    expect(readFileSync(at('older.json'), 'utf8')).toBe('older');
  });

  it('writes the profile of a program that is interrupted', async () => {
    const file = program('waits', 'setInterval(() => {}, 1000);');
    const child = spawn(
      process.execPath,
      [join(dist, 'cli.js'), 'profile', 'run', '--out', 'waits.json', '--', 'node', file],
      {
        cwd: folder,
        detached: true,
      },
    );
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    await new Promise<void>((resolve) => child.stdout.on('data', (d) => String(d).includes('working') && resolve()));
    // As a terminal does: to the whole group.
    process.kill(-child.pid!, 'SIGINT');
    expect(await ended).toBe(130);
    expect(read('waits.json').entries.filter((e) => e.operation === 'step').length).toBe(3);
  });

  it('says what is wrong with a command that cannot be started', () => {
    const { status, err } = cli('run', '--', 'no-such-program');
    expect(status).toBe(2);
    expect(err).toMatch(/no-such-program cannot be started/);
    expect(cli('run').status).toBe(2);
  });
});

describe('profile show, view, compare and gate', () => {
  const said = { out: '', err: '' };
  const output = {
    write: (text: string) => void (said.out += text),
    warn: (text: string) => void (said.err += text),
    isTTY: false,
    columns: 80,
  };
  const go = (
    ...[what, files, flags = {}]: [Parameters<typeof runProfile>[0], string[], Parameters<typeof runProfile>[2]?]
  ) => {
    said.out = said.err = '';
    return runProfile(what, files.map(at), flags, output);
  };
  const save = async (name: string, profile: ProfileFile): Promise<void> =>
    writeFileSync(at(name), [...(await exporters.json(profile))].join(''));
  const times = (ms: number): number[] => Array.from({ length: 40 }, (_, i) => ms * (1 + 0.002 * (i % 5)));

  beforeAll(async () => {
    await save('old.json', profileOf({ entries: callsOf({ a: times(10), b: times(3) }) }));
    await save('same.json', profileOf({ entries: callsOf({ a: times(10.01), b: times(3) }) }));
    await save('slow.json', profileOf({ entries: callsOf({ a: times(12), b: times(3) }) }));
    await save('other.json', { ...profileOf({ entries: callsOf({ a: times(10) }) }), gpuforge: '9.9.9' });
    writeFileSync(at('bad.json'), '{"schema":');
  });

  it('show prints the report, and data on request', async () => {
    expect(await go('show', ['old.json'], { top: '1' })).toBe(0);
    expect(said.out).toMatch(/^Profile {2}2 operations, 80 calls/);
    expect(said.out).toMatch(/… and 1 more/);
    expect(await go('show', ['old.json'], { json: true })).toBe(0);
    expect(JSON.parse(said.out)).toMatchObject({
      schema: 'gpuforge.profile-summary/1',
      operations: { a: { callCount: 40 } },
    });
  });

  it('view writes the page', async () => {
    expect(await go('view', ['old.json'], { html: at('old.html'), open: false })).toBe(0);
    expect(said.out).toBe(`${at('old.html')}\n`);
    expect(readFileSync(at('old.html'), 'utf8')).toContain('"gpuforge.profile/1"');
    expect(await go('view', [], { html: at('empty.html'), open: false })).toBe(0);
    expect(readFileSync(at('empty.html'), 'utf8')).not.toContain('"gpuforge.profile/1",');
  });

  it('compare prints a row for each operation', async () => {
    expect(await go('compare', ['old.json', 'slow.json'])).toBe(0);
    expect(said.out).toMatch(/a .*regression/);
    expect(await go('compare', ['old.json', 'slow.json'], { json: true })).toBe(0);
    expect(JSON.parse(said.out)).toMatchObject({ schema: 'gpuforge.comparison/1', sameMachine: true });
  });

  it('gate ends with 0, 1, 2 or 3', async () => {
    const baseline = at('baseline.json');
    expect(await go('gate', ['old.json'], { baseline })).toBe(2);
    expect(said.err).toMatch(/there is no file .*baseline\.json[\s\S]*Make one with --update/);
    expect(await go('gate', ['old.json'], { baseline, update: true })).toBe(0);
    expect(await go('gate', ['same.json'], { baseline })).toBe(0);
    expect(said.out).toMatch(/No regression/);
    expect(await go('gate', ['slow.json'], { baseline })).toBe(1);
    expect(said.out).toMatch(/Regression: a\./);
    expect(await go('gate', ['other.json'], { baseline })).toBe(3);
    expect(said.out).toMatch(/no baseline for this machine/);
    expect(await go('gate', ['other.json'], { baseline, update: true })).toBe(0);
    expect(Object.keys(JSON.parse(readFileSync(baseline, 'utf8')).machines).length).toBe(2);
    expect(await go('gate', ['other.json'], { baseline })).toBe(0);
  });

  it('bad files and figures are refused with status 2', async () => {
    for (const [what, files] of [
      ['show', ['missing.json']],
      ['show', ['bad.json']],
      ['compare', ['old.json', 'bad.json']],
      ['gate', ['bad.json']],
      ['view', ['bad.json']],
    ] as const) {
      expect(await go(what, [...files]), what).toBe(2);
      expect(said.err).not.toBe('');
    }
    expect(await go('show', ['old.json'], { top: '-1' })).toBe(2);
    writeFileSync(at('bad-baseline.json'), '{}');
    expect(await go('gate', ['old.json'], { baseline: at('bad-baseline.json') })).toBe(2);
    expect(await go('view', ['old.json'], { html: at('missing/x.html'), open: false })).toBe(2);
    expect(existsSync(at('missing'))).toBe(false);
  });
});
