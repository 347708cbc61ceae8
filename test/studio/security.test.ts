// The door of the studio, line by line: who is let in, by which name, from where, how much and how often; and that no request becomes a
// path on disk or markup on a page.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createField } from '../../src/field/index.ts';
import { Access } from '../../src/studio/http/access.ts';
import { listen } from '../../src/studio/http/listen.ts';
import { type Studio, serveStudio } from '../../src/studio/index.ts';
import { within } from '../support/time.ts';
import { ask, type Got, login, openStream, raw, type Served, served } from './support.ts';

let s: Served;
let port: number;
let cookie: string;

beforeAll(async () => {
  s = await served();
  port = s.studio.port;
  cookie = await login(s.studio);
});
afterAll(() => s[Symbol.asyncDispose]());

describe('the address', () => {
  it('is the loopback address, and nothing else of this machine answers', async () => {
    expect(s.studio.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}$/);
    const others = Object.values(networkInterfaces()).flatMap((l) =>
      (l ?? []).filter((a) => !a.internal && a.family === 'IPv4'),
    );
    for (const { address } of others)
      await expect(fetch(`http://${address}:${port}/`, { signal: AbortSignal.timeout(5000) })).rejects.toThrow();
  });

  it('answers on ::1 too, where there is IPv6', async () => {
    const has6 = Object.values(networkInterfaces()).some((l) => l?.some((a) => a.address === '::1'));
    if (!has6) return expect(s.studio.port).toBeGreaterThan(0);
    expect((await fetch(`http://[::1]:${port}/`)).status).toBe(401);
  });

  it('of the whole network needs a token file', async () => {
    await expect(serveStudio({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'STUDIO_NEEDS_TOKEN' });
    await expect(serveStudio({ host: '192.168.1.5' })).rejects.toMatchObject({ code: 'STUDIO_NEEDS_TOKEN' });
  });

  it('with a token file takes the token of that file, and refuses a short one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gpuforge-studio-'));
    const file = join(folder, 'token');
    try {
      writeFileSync(file, 'too short\n');
      await expect(serveStudio({ host: '0.0.0.0', tokenFile: file })).rejects.toMatchObject({
        code: 'STUDIO_SHORT_TOKEN',
      });
      await expect(serveStudio({ tokenFile: join(folder, 'none') })).rejects.toMatchObject({ code: 'STUDIO_NO_TOKEN' });
      const token = 'k'.repeat(64);
      writeFileSync(file, `${token}\n`);
      await using studio = await serveStudio({ host: '0.0.0.0', tokenFile: file });
      const headers = { authorization: `Bearer ${token}` };
      expect((await ask(studio.port, { path: '/metrics', headers })).status).toBe(200);
      expect((await ask(studio.port, { path: '/metrics', headers: { authorization: 'Bearer nope' } })).status).toBe(
        401,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('the token', () => {
  const paths = [
    '/',
    '/app.js',
    '/app.css',
    '/api/snapshot',
    '/api/stream',
    '/api/history',
    '/api/events',
    '/metrics',
    '/api/forge/detect',
  ];

  it.each(paths)('is needed for %s', async (path) => {
    expect((await ask(port, { path })).status).toBe(401);
  });

  it('of another studio, or none at all in the cookie, is wrong', async () => {
    await using other = await served();
    for (const wrong of [cookie, 'gpuforge_studio=1', `gpuforge_studio_${other.studio.port}=`])
      expect((await ask(other.studio.port, { path: '/api/snapshot', headers: { cookie: wrong } })).status).toBe(401);
  });

  it('opens the page once: a link that was used is wrong', async () => {
    const path = new URL(s.studio.link()).search;
    const first = await ask(port, { path: `/${path}` });
    expect(first.status).toBe(200);
    expect((await ask(port, { path: `/${path}` })).status).toBe(401);
  });

  it('becomes a cookie that no script reads and no other site sends', async () => {
    const { headers } = await ask(port, { path: `/${new URL(s.studio.link()).search}` });
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(/^gpuforge_studio_\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/),
    ]);
  });

  it('that is short, long or nearly right is wrong', async () => {
    await using other = await served();
    const token = new URL(other.studio.link()).searchParams.get('token')!;
    const tokens = ['', token.slice(0, -1), `${token}a`, '%00', 'x'.repeat(2000)];
    for (const wrong of tokens)
      expect((await ask(other.studio.port, { path: `/?token=${wrong}` })).status, wrong).toBe(401);
    expect((await ask(other.studio.port, { path: `/?token=${token}` })).status).toBe(200);
  });

  it('opens the page only: a link is no key to the data', async () => {
    const { search } = new URL(s.studio.link());
    expect((await ask(port, { path: `/api/snapshot${search}` })).status).toBe(401);
  });

  it('has 256 random bits, and is compared by its digest', () => {
    const access = new Access();
    const links = new Set(Array.from({ length: 100 }, () => access.newLink()));
    expect(links.size).toBe(100);
    for (const l of links) expect(Buffer.from(l, 'base64url')).toHaveLength(32);
    expect(access.redeem([...links][99]!)).toMatch(/^[\w-]{43}$/);
    // Links that nobody uses do not pile up.
    expect(access.redeem([...links][0]!)).toBe(null);
  });

  it('guessed wrong five times is answered a second later', async () => {
    await using other = await served();
    const guess = async (): Promise<number> => {
      const from = performance.now();
      expect((await ask(other.studio.port, { path: '/?token=wrong' })).status).toBe(401);
      return performance.now() - from;
    };
    for (let i = 0; i < 5; i++) await guess();
    expect(await guess()).toBeGreaterThanOrEqual(990);
    // Who has the right one does not wait: of several times one at least is short, however busy the machine is.
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const from = performance.now();
      expect((await other.get('/api/snapshot')).status).toBe(200);
      times.push(performance.now() - from);
    }
    expect(Math.min(...times)).toBeLessThan(990);
  });

  it('for programs works in the header alone, and buys a link', async () => {
    const headers = { authorization: `Bearer ${s.studio.token}` };
    expect((await ask(port, { path: '/api/snapshot', headers })).status).toBe(200);
    const { body } = await ask(port, { path: '/api/link', method: 'POST', headers });
    const { search } = new URL(JSON.parse(body).url);
    expect((await ask(port, { path: `/${search}` })).status).toBe(200);
    expect((await ask(port, { path: `/?token=${s.studio.token}` })).status).toBe(401);
  });
});

describe('the name and the origin', () => {
  it.each([
    'evil.example',
    `evil.example:{port}`,
    '127.0.0.1',
    '127.0.0.1:1',
    `127.0.0.1.evil.example:{port}`,
    `localhost.:{port}`,
    `[::1]`,
  ])('refuses the Host "%s" with 421, session or not', async (host) => {
    const headers = { cookie, host: host.replace('{port}', String(port)) };
    expect((await ask(port, { path: '/api/snapshot', headers })).status).toBe(421);
  });

  it('refuses a request without a Host', async () => {
    const { ended } = raw(port, 'GET / HTTP/1.0\r\n\r\n');
    expect(await ended).toMatch(/^HTTP\/1\.1 421/);
  });

  it('accepts localhost, 127.0.0.1 and [::1] with its port', async () => {
    for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '[::1]'])
      expect((await ask(port, { path: '/api/snapshot', headers: { cookie, host: `${host}:${port}` } })).status).toBe(
        200,
      );
  });

  it('a name of another site that points here (DNS rebinding) gets nothing, not even the page', async () => {
    const path = `/${new URL(s.studio.link()).search}`;
    const got = await ask(port, { path, headers: { host: `rebound.example:${port}` } });
    expect(got.status).toBe(421);
    expect(got.headers['set-cookie']).toBe(undefined);
    // And the link is not spent by it.
    expect((await ask(port, { path })).status).toBe(200);
  });

  it.each([
    'http://evil.example',
    'null',
    'https://127.0.0.1:{port}',
    'http://127.0.0.1:1',
    'http://localhost:{port}',
    undefined,
  ])('refuses to change anything for the Origin %s', async (origin) => {
    const sent = origin?.replace('{port}', String(port));
    const headers = { cookie, ...(sent ? { origin: sent } : {}) };
    const got = await ask(port, { path: '/api/link', method: 'POST', headers });
    expect(got.status).toBe(403);
    expect(JSON.parse(got.body).fix).not.toBe('');
  });

  it('changes things for its own page', async () => {
    const headers = { cookie, origin: `http://127.0.0.1:${port}` };
    expect((await ask(port, { path: '/api/link', method: 'POST', headers })).status).toBe(200);
  });

  it('a page of another site cannot read data, whatever the browser sends along', async () => {
    const headers = { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' };
    expect((await ask(port, { path: '/api/snapshot', headers })).status).toBe(403);
  });

  it('sends no CORS header, and answers no preflight', async () => {
    const headers = { cookie, origin: 'http://evil.example' };
    const got = await ask(port, { path: '/api/snapshot', headers });
    expect(Object.keys(got.headers).filter((h) => h.startsWith('access-control'))).toEqual([]);
    expect((await ask(port, { path: '/api/snapshot', method: 'OPTIONS', headers })).status).toBe(405);
  });
});

describe('every answer', () => {
  it.each(['/', '/app.js', '/app.css', '/api/snapshot', '/metrics', '/nothing', '/api/why'])(
    'of %s has the policy',
    async (path) => {
      const { headers } = await s.get(path);
      expect(headers).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-store',
      });
    },
  );

  it('to somebody unknown has it too', async () => {
    const { headers, body } = await ask(port, { path: '/' });
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(body).not.toContain('<script');
  });
});

describe('without allowControl', () => {
  it('nothing can be changed', async () => {
    const headers = { cookie, origin: `http://127.0.0.1:${port}` };
    const got = await ask(port, { path: '/api/profiling', method: 'POST', headers, body: '{"on":true}' });
    expect(got.status).toBe(403);
    expect(JSON.parse(got.body).fix).toContain('allowControl');
    expect(s.studio.snapshot().runtimes[0]!.work.profiling).toBe(false);
  });

  it('settings of a field are changed only with allowControl, by its own page or with the token, and if they make sense', async () => {
    await using field = await createField({ runtime: s.rt, device: 'cpu', resolution: 4, channels: 32 });
    const before = { ...field.options.settings };
    await using looks = await serveStudio({ fields: [field] });
    await using may = await serveStudio({ fields: [{ field, studioName: 'arm' }], allowControl: true });
    const post = async (of: Studio, body: string, more: Record<string, string> = {}): Promise<Got> => {
      const headers = { cookie: await login(of), origin: `http://127.0.0.1:${of.port}`, ...more };
      return ask(of.port, { path: '/api/field/settings', method: 'POST', headers, body });
    };
    const change = '{"field":"arm","settings":{"keep":0.5}}';
    const refused = await post(looks, change.replace('arm', 'field'));
    expect([refused.status, JSON.parse(refused.body).fix]).toEqual([403, expect.stringContaining('allowControl')]);
    for (const [body, status, words] of [
      ['{"field":"leg","settings":{}}', 404, 'no field'],
      ['{"field":"arm","settings":{"keep":2}}', 400, 'keep is 2'],
      ['{"field":"arm","settings":{"keep":"0.5"}}', 400, 'keep is 0.5'],
      ['{"field":"arm","settings":{"keep":0.5,"readout":"slab"}}', 400, 'readout is fixed'],
      ['{"field":"arm","settings":{"__proto__":{"keep":0.5}}}', 400, '__proto__'],
      ['{"field":"arm","settings":[0.5]}', 400, 'settings'],
      ['{"field":"arm"}', 400, 'settings'],
      ['keep', 400, 'body'],
      ['null', 404, 'no field'],
      [`{"field":"arm","settings":{"${'k'.repeat(70_000)}":1}}`, 413, 'more than'],
    ] as const) {
      const got = await post(may, body);
      expect([got.status, JSON.parse(got.body).error], body.slice(0, 60)).toEqual([
        status,
        expect.stringContaining(words),
      ]);
    }
    expect((await post(may, change, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await post(may, change, { cookie: 'gpuforge=wrong' })).status).toBe(401);
    expect(field.options.settings).toEqual(before);
    const headers = { authorization: `Bearer ${may.token}` };
    const got = await ask(may.port, { path: '/api/field/settings', method: 'POST', headers, body: change });
    expect([got.status, JSON.parse(got.body).settings.keep, field.options.settings.keep]).toEqual([200, 0.5, 0.5]);
  });

  it.each(['PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'])('%s is not taken', async (method) => {
    expect((await ask(port, { path: '/api/snapshot', method, headers: { cookie } })).status).toBe(405);
  });

  it('the wrong method for a path is refused', async () => {
    const headers = { cookie, origin: `http://127.0.0.1:${port}` };
    for (const path of ['/', '/app.js', '/api/snapshot', '/metrics', '/api/forge/detect'])
      expect((await ask(port, { path, method: 'POST', headers })).status, path).toBe(405);
    expect((await s.get('/api/link')).status).toBe(405);
  });
});

describe('limits', () => {
  it('a body of more than 64 KB is refused, announced or not', async () => {
    await using other = await served({ allowControl: true });
    const at = other.studio.port;
    const headers = { cookie: await login(other.studio), origin: `http://127.0.0.1:${at}` };
    const body = 'x'.repeat(64 * 1024 + 1);
    expect((await ask(at, { path: '/api/profiling', method: 'POST', headers, body })).status).toBe(413);
    const chunked = { ...headers, 'transfer-encoding': 'chunked' };
    expect((await ask(at, { path: '/api/profiling', method: 'POST', headers: chunked, body })).status).toBe(413);
  });

  it('headers of more than 16 KB, and of 10 MB, end the connection', async () => {
    const got = await ask(port, { path: '/api/snapshot', headers: { cookie, 'x-large': 'a'.repeat(17_000) } });
    expect(got.status).toBe(431);
    const { ended } = raw(port, `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Large: `, 'a'.repeat(10 * 2 ** 20));
    expect((await ended).slice(0, 12)).toMatch(/^(HTTP\/1\.1 431|)$/);
    expect((await s.get('/api/snapshot')).status).toBe(200);
  });

  it('a request that comes byte by byte is ended in time', async () => {
    const slow = await listen((_, r) => r.end('late'), { hosts: ['127.0.0.1'], port: 0, requestMs: 300 });
    const { socket, ended } = raw(slow.port, 'GET / HTTP/1.1\r\nHost: x\r\n');
    const drip = setInterval(() => socket.write('X-A: b\r\n'), 50);
    const from = performance.now();
    expect(await ended).not.toContain('late');
    clearInterval(drip);
    expect(performance.now() - from).toBeLessThan(within(3000));
    await slow.close();
  });

  it('the 101st connection is closed, and the others go on', async () => {
    await using other = await served();
    const all = Array.from({ length: 110 }, () => raw(other.studio.port));
    let turnedAway = 0;
    for (const { ended } of all) void ended.then(() => turnedAway++);
    await vi.waitFor(() => expect(turnedAway).toBeGreaterThanOrEqual(10), within(2000));
    await wait(300);
    expect(turnedAway).toBeLessThan(20);
    for (const { socket } of all) socket.destroy();
    // That they have gone is noticed in a later turn.
    await vi.waitFor(async () => expect((await other.get('/api/snapshot')).status).toBe(200), within(2000));
  });

  it('streams are counted: the 33rd gets 503, and a closed one makes room', async () => {
    await using other = await served();
    const key = await login(other.studio);
    const streams = await Promise.all(Array.from({ length: 32 }, () => openStream(other.studio.port, key)));
    await expect(openStream(other.studio.port, key)).rejects.toThrow('503');
    streams[0]!.close();
    const again = await vi.waitFor(() => openStream(other.studio.port, key), within(2000));
    for (const stream of [...streams, again]) stream.close();
  });

  it('a reader that never reads costs little memory', async () => {
    await using other = await served();
    const key = await login(other.studio);
    const { socket } = raw(
      other.studio.port,
      `GET /api/stream?every=250 HTTP/1.1\r\nHost: 127.0.0.1:${other.studio.port}\r\nCookie: ${key}\r\n\r\n`,
    );
    socket.pause();
    for (let i = 0; i < 40; i++) {
      for (let k = 0; k < 200; k++) other.rt.tensor([i, k]).add(1).dataSync();
      await wait(25);
    }
    expect(process.memoryUsage().arrayBuffers + process.memoryUsage().external).toBeLessThan(200 * 2 ** 20);
    socket.destroy();
  });

  it('too many requests at once get 429', async () => {
    await using other = await served();
    const one = `GET / HTTP/1.1\r\nHost: 127.0.0.1:${other.studio.port}\r\n`;
    // In one breath, over one connection, while no time passes: the last one ends it.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    const { ended } = raw(other.studio.port, `${one}\r\n`.repeat(900), `${one}Connection: close\r\n\r\n`);
    const text = await ended.finally(() => clock.mockRestore());
    expect(text.match(/HTTP\/1\.1 401/g)!.length).toBeGreaterThanOrEqual(300 - 5);
    expect(text.match(/HTTP\/1\.1 429/g)!.length).toBeGreaterThan(0);
  });

  it('an upgrade to another protocol is closed', async () => {
    const { ended } = raw(
      port,
      `GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: ${cookie}\r\n\r\n`,
    );
    expect(await ended).toBe('');
  });
});

describe('paths', () => {
  it.each([
    '/../package.json',
    '/..%2fpackage.json',
    '/..%2f..%2fetc%2fpasswd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/....//etc/passwd',
    '/app.js/../../../etc/passwd',
    '/app.js%00.css',
    '//etc/passwd',
    '/file:///etc/passwd',
    '/api/../package.json',
    '/__proto__',
    '/api/constructor',
    '/C:\\Windows\\win.ini',
  ])('%s is nothing', async (path) => {
    const got = await s.get(path);
    expect(got.status).toBe(404);
    expect(got.body).not.toMatch(/root:|"version"/);
  });

  it('flags of forge that would be paths are not taken', async () => {
    for (const flag of ['data=/etc/passwd', 'output=/tmp/x', 'cacheFolder=/tmp', 'wheelhouse=/tmp/x'])
      expect((await s.get(`/api/forge/env?name=demo&${flag}`)).status, flag).toBe(400);
    expect((await s.get('/api/forge/env?name=../../etc')).status).toBe(400);
  });
});

describe('text from programs', () => {
  it('is data in JSON, with a type that no browser takes for a page', async () => {
    const { headers } = await s.get('/api/why?op=%3Cimg%20src=x%20onerror=alert(1)%3E&size=10');
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
  });
});

describe('the process', () => {
  it('is not kept alive by the server or by a page that is open', () => {
    const script = `
      import { createRuntime } from ${JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)))};
      import { serveStudio } from ${JSON.stringify(fileURLToPath(new URL('../../dist/studio.js', import.meta.url)))};
      const rt = await createRuntime({ devices: ['cpu'] });
      const studio = await serveStudio({ runtimes: [rt] });
      studio.on('alert', () => {});
      await rt.close();
      console.log('end');`;
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      timeout: within(5000),
      encoding: 'utf8',
    });
    expect(out).toBe('end\n');
  });
});

describe('bad input', () => {
  it('a port in use is named, with the way out', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port: at } = taken.address() as { port: number };
    await expect(serveStudio({ port: at })).rejects.toMatchObject({
      code: 'STUDIO_EADDRINUSE',
      message: expect.stringContaining(String(at)),
      fix: expect.stringContaining('0'),
    });
    taken.close();
  });

  it.each([
    [{ port: -1 }],
    [{ port: 65_536 }],
    [{ port: 1.5 }],
    [{ history: 0 }],
    [{ history: 1e9 }],
    [{ runtimes: ['rt'] }],
    [{ runtimes: {} }],
    [{ alerts: [{ name: 'x' }] }],
    [{ colour: 'red' }],
  ])('%o is refused', async (options) => {
    await expect(serveStudio(options as never)).rejects.toMatchObject({
      name: 'ArgumentError',
      fix: expect.stringMatching(/\w/),
    });
  });
});

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
