// A Redis of one's own for tests: Debian's redis-server on a free port of the loopback address, in a temporary folder.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Why there is none; null if there is. */
export const noRedis =
  spawnSync('redis-server', ['--version']).status === 0
    ? null
    : 'redis-server is not installed (on Debian: apt-get install redis-server)';

export interface TestRedis {
  readonly url: string;
  /** As by kill -9. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(1000, () => socket.destroy());
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => {
      socket.destroy();
      // One that wants a password answers too.
      resolve(/^(\+PONG|-NOAUTH)/.test(data.toString()));
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });

/** `password`: that whoever connects has to give. */
export async function startRedis(password?: string): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'gpuforge-redis-'));
  const port = await freePort();
  let child: ChildProcess | null = null;
  const start = async (): Promise<void> => {
    const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    const durable = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction'];
    const secret = password === undefined ? [] : ['--requirepass', password];
    child = spawn('redis-server', [...settings, ...durable, ...secret], { stdio: 'ignore' });
    for (const end = Date.now() + 30_000; Date.now() < end; ) {
      if (await answers(port)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('redis-server does not answer');
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const running = child;
    child = null;
    if (!running || running.exitCode !== null) return;
    const gone = new Promise((resolve) => running.once('exit', resolve));
    running.kill(signal);
    await gone;
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    kill: () => end('SIGKILL'),
    stop: async () => {
      await end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
