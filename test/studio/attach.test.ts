// `gpuforge studio` and `gpuforge studio attach`, as they are installed: a program that was started with GPUFORGE_STUDIO=1 is looked at from
// another process, and goes on as if nothing were there when that process is killed.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ensureFolder, socketFolder } from '../../src/studio/attach/folder.ts';
import type { StudioSnapshot } from '../../src/studio/index.ts';
import { within } from '../support/time.ts';
import { ask } from './support.ts';

const dist = (file: string): string => fileURLToPath(new URL(`../../dist/${file}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gpuforge-run-'));
const env = { ...process.env, XDG_RUNTIME_DIR: folder };
const children: ChildProcess[] = [];

/** Starts a process; resolves with the first line it prints that fits. */
function start(
  args: readonly string[],
  more: Readonly<Record<string, string>>,
  fits: RegExp,
): Promise<{ child: ChildProcess; line: string; all: () => string }> {
  const child = spawn(process.execPath, args, { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let text = '';
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`nothing like ${fits} within time: ${text}`)), within(6000));
    const take = (d: Buffer): void => {
      text += d.toString('utf8');
      const line = text.split('\n').find((l) => fits.test(l));
      if (line === undefined) return;
      clearTimeout(timer);
      resolve({ child, line, all: () => text });
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('exit', (code) => reject(new Error(`ended with ${code}: ${text}`)));
  });
}

const script = `
  import { createRuntime } from ${JSON.stringify(pathToFileURL(dist('index.js')).href)};
  const rt = await createRuntime({ devices: ['cpu'] });
  console.log('ready ' + process.pid);
  for (let i = 0; ; i++) {
    const [sum] = await rt.ones([1000]).mul(i).sum().data();
    if (sum !== 1000 * i) throw new Error('wrong: ' + sum);
    if (i % 20 === 0) console.log('done ' + i);
    await new Promise((r) => setTimeout(r, 10));
  }`;
const program = (more: Readonly<Record<string, string>>) =>
  start(['--input-type=module', '-e', script], more, /^ready /);

async function enter(url: string): Promise<{ port: number; cookie: string }> {
  const { port, search } = new URL(url);
  const { headers } = await ask(Number(port), { path: `/${search}` });
  return { port: Number(port), cookie: headers['set-cookie']![0]!.split(';')[0]! };
}

const get = async <T>(at: { port: number; cookie: string }, path: string): Promise<T> =>
  JSON.parse((await ask(at.port, { path, headers: { cookie: at.cookie } })).body) as T;

beforeAll(() => chmodSync(folder, 0o700));
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

describe('gpuforge studio attach', () => {
  it('shows a program that offers itself, and killing the studio leaves the program as it was', async () => {
    const { child, line, all } = await program({ GPUFORGE_STUDIO: '1', GPUFORGE_STUDIO_NAME: 'trainer' });
    const pid = line.split(' ')[1]!;
    const socket = join(folder, 'gpuforge', `${pid}.sock`);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'gpuforge')).mode & 0o777).toBe(0o700);

    const studio = await start([dist('cli.js'), 'studio', 'attach', pid, '--json', '--no-open'], {}, /"url"/);
    const at = await enter(JSON.parse(studio.line).url);
    expect(await get(at, '/api/programs')).toEqual({ programs: [{ id: pid, name: `trainer (${pid})` }] });
    const first = await get<StudioSnapshot>(at, '/api/snapshot');
    expect(first.process).toMatchObject({ pid: Number(pid), name: 'trainer' });
    expect(first.runtimes[0]!.snapshot.devices.map((d) => d.id)).toEqual(['cpu']);
    expect((await ask(at.port, { path: '/api/stream', headers: { cookie: 'none' } })).status).toBe(401);
    // It only looks: the program did not say that it may be controlled.
    const post = await ask(at.port, {
      path: '/api/profiling',
      method: 'POST',
      body: '{"on":true}',
      headers: { cookie: at.cookie, origin: `http://127.0.0.1:${at.port}` },
    });
    expect(post.status).toBe(403);

    const before = all().split('done').length;
    studio.child.kill('SIGKILL');
    await vi.waitFor(() => expect(all().split('done').length).toBeGreaterThan(before + 1), within(6000));
    expect(child.exitCode).toBe(null);

    // A program that has ended is told, and the page gets words instead of nothing.
    const again = await start([dist('cli.js'), 'studio', 'attach', '--json', '--no-open'], {}, /"url"/);
    const second = await enter(JSON.parse(again.line).url);
    child.kill('SIGKILL');
    await new Promise((r) => child.on('exit', r));
    const gone = await ask(second.port, { path: '/api/snapshot', headers: { cookie: second.cookie } });
    expect(gone.status).toBe(502);
    expect(JSON.parse(gone.body).error).toContain('does not answer');
    again.child.kill('SIGINT');
    expect(await new Promise((r) => again.child.on('exit', r))).toBe(0);
  });

  it('says what is wrong with a process that cannot be looked at', async () => {
    const attach = (...args: readonly string[]) =>
      spawnSync(process.execPath, [dist('cli.js'), 'studio', 'attach', '--no-open', ...args], {
        env,
        encoding: 'utf8',
        timeout: within(6000),
      });
    const { line, child } = await program({});
    const plain = attach(line.split(' ')[1]!);
    expect(plain).toMatchObject({ status: 1, stderr: expect.stringContaining('GPUFORGE_STUDIO=1') });
    child.kill('SIGKILL');
    expect(attach('999999999')).toMatchObject({ status: 1, stderr: expect.stringContaining('there is no process') });
    expect(attach('me')).toMatchObject({ status: 2, stderr: expect.stringContaining('no process id') });
    expect(attach()).toMatchObject({ status: 2, stderr: expect.stringContaining('GPUFORGE_STUDIO=1') });
    expect(readdirSync(join(folder, 'gpuforge')).filter((f) => f.endsWith('.sock'))).toEqual([]);
  });

  it('a folder that others can enter is closed to them', () => {
    const own = mkdtempSync(join(tmpdir(), 'gpuforge-run-'));
    const at = join(own, 'gpuforge');
    ensureFolder(at);
    chmodSync(at, 0o755);
    ensureFolder(at);
    expect(statSync(at).mode & 0o777).toBe(0o700);
    expect(socketFolder({ XDG_RUNTIME_DIR: '/run/user/7' })).toBe('/run/user/7/gpuforge');
    expect(socketFolder({})).toMatch(/gpuforge-\d+$/);
    rmSync(own, { recursive: true });
  });

  it('a program that ends by itself leaves no socket', () => {
    const ended = `import { createRuntime } from ${JSON.stringify(pathToFileURL(dist('index.js')).href)};
      const rt = await createRuntime({ devices: ['cpu'] });
      console.log((await rt.tensor([1, 2]).sum().data())[0]);
      await rt.close();`;
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', ended], {
      env: { ...env, GPUFORGE_STUDIO: '1' },
      encoding: 'utf8',
      timeout: within(6000),
    });
    expect(run).toMatchObject({ status: 0, stdout: '3\n', stderr: '' });
    expect(existsSync(join(folder, 'gpuforge', `${run.pid}.sock`))).toBe(false);
  });
});

describe('gpuforge studio', () => {
  it('serves this machine and what forge knows of it, and ends at a signal', async () => {
    const { child, line } = await start([dist('cli.js'), 'studio', '--json', '--no-open'], {}, /"url"/);
    const at = await enter(JSON.parse(line).url);
    const snapshot = await get<StudioSnapshot>(at, '/api/snapshot');
    expect(snapshot.runtimes.map((r) => r.name)).toEqual(['this machine']);
    expect(snapshot.runtimes[0]!.snapshot.devices.some((d) => d.id === 'cpu' && d.open)).toBe(true);
    const detect = await get<{ schema: string }>(at, '/api/forge/detect');
    expect(detect.schema).toBe('gpuforge.detect/1');
    const resolved = await get<{ schema: string; status: string }>(
      at,
      '/api/forge/resolve?for=RTX%204090&driver=570&os=linux',
    );
    expect(resolved).toMatchObject({ schema: 'gpuforge.resolve/1', status: 'ok' });
    const files = await get<{ files: { path: string }[] }>(
      at,
      '/api/forge/env?name=demo&for=RTX%204090&driver=570&os=linux&format=uv',
    );
    expect(files.files.map((f) => f.path)).toEqual(['pyproject.toml']);
    child.kill('SIGTERM');
    expect(await new Promise((r) => child.on('exit', r))).toBe(0);
  });

  it('refuses what makes no sense with status 2', () => {
    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, [dist('cli.js'), 'studio', '--no-open', ...args], {
        env,
        encoding: 'utf8',
        timeout: within(6000),
      });
    expect(run('--host', '0.0.0.0')).toMatchObject({ status: 2, stderr: expect.stringContaining('token') });
    expect(run('--port', 'web')).toMatchObject({ status: 2, stderr: expect.stringContaining('port') });
    expect(run('--what')).toMatchObject({ status: 2 });
  });
});
