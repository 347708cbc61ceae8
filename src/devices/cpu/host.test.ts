import { afterEach, describe, expect, it, vi } from 'vitest';
import { within } from '../../../test/support/time.ts';
import { createCpuDevice } from './device.ts';
import { openHost } from './host.ts';
import { cgroupLimit } from './node-host.ts';

const files =
  (content: Readonly<Record<string, string>>) =>
  (path: string): string => {
    const text = content[path];
    if (text === undefined) throw new Error(`no ${path}`);
    return text;
  };

describe('the number of threads', () => {
  it.each([
    ['no container', {}, Infinity],
    ['a quota of two and a half CPUs', { '/sys/fs/cgroup/cpu.max': '250000 100000\n' }, 3],
    ['a quota below one CPU', { '/sys/fs/cgroup/cpu.max': '5000 100000\n' }, 1],
    ['no quota', { '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, Infinity],
    [
      'an old container',
      { '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '400000', '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000' },
      4,
    ],
    [
      'an old container without a quota',
      { '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1', '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000' },
      Infinity,
    ],
  ])('follows the container: %s', (_, content, cpus) => {
    expect(cgroupLimit(files(content as Record<string, string>))).toBe(cpus);
  });

  it('is at least one on this machine', async () => {
    expect((await openHost()).parallelism).toBeGreaterThanOrEqual(1);
  });
});

describe('a browser', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('runs workers from a blob and tells them their memory by message', async () => {
    const made: { url: string; sent: unknown[]; terminated: boolean; onerror?: () => void }[] = [];
    class FakeWorker {
      sent: unknown[] = [];
      terminated = false;
      readonly url: string;
      constructor(url: string) {
        this.url = url;
        made.push(this);
      }
      postMessage(data: unknown): void {
        this.sent.push(data);
      }
      terminate(): void {
        this.terminated = true;
      }
    }
    vi.stubGlobal('Worker', FakeWorker);
    vi.stubGlobal('navigator', { hardwareConcurrency: 6 });
    const host = await openHost(null);
    expect(host).toMatchObject({ parallelism: 6, require: null });
    let gone = 0;
    const thread = host.spawn('onmessage = () => {}', { me: 1 }, () => gone++)!;
    expect(made[0]).toMatchObject({ sent: [{ me: 1 }], terminated: false });
    expect(made[0]!.url).toMatch(/^blob:/);
    made[0]!.onerror!();
    await thread.terminate();
    expect([made[0]!.terminated, gone]).toEqual([true, 1]);
    await vi.waitFor(() => expect(gone).toBe(2), within(3000));
  });

  it('without workers or isolation computes on one thread and unshared memory', async () => {
    vi.stubGlobal('crossOriginIsolated', false);
    const device = await createCpuDevice({ threads: 4 });
    expect(device.caps.details).toMatchObject({ threads: 1, shared: false });
    await device.close();
    vi.unstubAllGlobals();
    vi.stubGlobal('Worker', undefined);
    expect((await openHost(null)).spawn('', {}, () => {})).toBeNull();
  });
});
