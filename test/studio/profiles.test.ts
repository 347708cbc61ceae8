// Profiles in the studio: listed, checked, compared, opened as their own page; a bad one is a message, never a blank page, and an upload never
// reaches the disk.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/index.ts';
import { Profiler } from '../../src/profile/index.ts';
import { type ProfileRow, type Studio, serveStudio } from '../../src/studio/index.ts';
import { ask, type Got, login } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'gpuforge-profiles-'));
let text: string;
let studio: Studio;
let profiler: Profiler;
let close: () => Promise<void>;
let cookie: string;

beforeAll(async () => {
  const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
  profiler = new Profiler({ enabled: true, runtimes: [rt] });
  await profiler.ready();
  for (let i = 0; i < 6; i++) await profiler.profile('<b>step</b>', () => rt.ones([200_000]).mul(i).sum().data());
  text = await profiler.exportJSON();
  const good = join(folder, 'good.json');
  const broken = join(folder, 'broken.json');
  const other = join(folder, 'other.json');
  writeFileSync(good, text);
  writeFileSync(broken, text.slice(0, 500));
  writeFileSync(other, JSON.stringify({ schema: 'gpuforge.profile/2' }));
  studio = await serveStudio({
    runtimes: [rt],
    profilers: [profiler],
    profiles: [good, broken, other, join(folder, 'none.json')],
  });
  cookie = await login(studio);
  close = async () => {
    await studio.close();
    profiler.dispose();
    await rt.close();
  };
});
afterAll(async () => {
  await close();
  rmSync(folder, { recursive: true });
});

const get = (path: string): Promise<Got> => ask(studio.port, { path, headers: { cookie } });
const list = async (): Promise<ProfileRow[]> => JSON.parse((await get('/api/profiles')).body).profiles;
const upload = (body: string | Buffer, name = 'mine.json'): Promise<Got> =>
  ask(studio.port, {
    path: `/api/profiles?name=${name}`,
    method: 'POST',
    body,
    headers: { cookie, origin: `http://127.0.0.1:${studio.port}` },
  });

describe('the list', () => {
  it('has profilers and files, and says what is wrong with a file', async () => {
    const [own, good, broken, other, none] = await list();
    expect(own).toMatchObject({ name: 'this program', from: 'profiler', problem: null, operations: 1, calls: 6 });
    expect(good).toMatchObject({ name: 'good.json', from: 'file', problem: null, operations: 1, calls: 6 });
    expect(good!.first).toMatchObject({ device: 'cpu', count: 6, share: expect.any(Number) });
    expect(broken!.problem).toMatch(/no JSON.*byte \d+/);
    expect(other!.problem).toContain('gpuforge.profile/2');
    expect(none!.problem).toContain('ENOENT');
  });
});

describe('an upload', () => {
  it('is checked, listed, and forgotten when there are many', async () => {
    const got = await upload(text);
    expect(got.status).toBe(200);
    expect(JSON.parse(got.body)).toMatchObject({ name: 'mine.json', from: 'upload', problem: null });
    for (let i = 0; i < 9; i++) await upload(text, `more-${i}.json`);
    const uploads = (await list()).filter((p) => p.from === 'upload');
    expect(uploads.map((p) => p.name)).toEqual(Array.from({ length: 8 }, (_, i) => `more-${i + 1}.json`));
  });

  it('that is no profile is refused in words', async () => {
    for (const [body, says] of [
      ['', 'JSON'],
      ['not json', 'JSON'],
      ['[]', 'object'],
      ['{"schema":"other/1"}', 'schema'],
      [text.replace('"wallMs":', '"wallMs":-'), 'wallMs'],
    ] as const) {
      const got = await upload(body);
      expect(got.status, body).toBe(400);
      expect(JSON.parse(got.body).error, body).toContain(says);
    }
  });

  it('of more than 64 MB is refused', async () => {
    expect((await upload(Buffer.alloc(64 * 2 ** 20 + 1, 32))).status).toBe(413);
  });
});

describe('a profile', () => {
  it('opens as its own page, under a policy that names its script and style by their hashes', async () => {
    const [own] = await list();
    const { status, headers, body } = await get(`/profile/${own!.id}`);
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'.*; frame-ancestors 'none'$/,
    );
    expect(body).not.toContain('<b>step</b>');
    expect(body).toContain('\\u003cb>step');
    for (const path of ['/profile/nope', '/profile/p999']) expect((await get(path)).status, path).toBe(400);
    for (const path of ['/profile/', '/profile/../x', '/profile/p1/x', '/api/profiles/x', '/profile/..%2fgood.json'])
      expect((await get(path)).status, path).toBe(404);
  });

  it('is compared with another', async () => {
    const [own, good] = await list();
    const got = JSON.parse((await get(`/api/profiles/compare?before=${good!.id}&after=${own!.id}`)).body);
    expect(got).toMatchObject({
      sameMachine: true,
      rows: [{ operation: '<b>step</b>', class: 'no_change', calls: [6, 6] }],
    });
    expect((await get('/api/profiles/compare?before=x')).status).toBe(400);
  });
});
