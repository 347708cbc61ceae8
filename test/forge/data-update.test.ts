// `gpuforge data check` and `update` against pages as their publishers write them.

import { describe, expect, it } from 'vitest';
import { capture } from '../../src/forge/config/testing.ts';
import { runData } from '../../src/forge/data/command.ts';
import { compareTables } from '../../src/forge/data/differences.ts';
import type { FetchText } from '../../src/forge/data/fetch.ts';
import { loadTables, shipped } from '../../src/forge/data/tables.ts';
import { parseDriverReleases, parseReleaseMd } from '../../src/forge/data/upstream.ts';
import { runDoctor } from '../../src/forge/doctor/command.ts';
import { runResolve } from '../../src/forge/resolve/command.ts';
import { memoryCache, play } from './fixtures/fixture.ts';
import { machine } from './fixtures/machines.ts';
import { worldOf } from './fixtures/world.ts';

const KNOWN = `## Release Compatibility Matrix

| PyTorch version | Python | C++ | Stable CUDA | Experimental CUDA | Stable ROCm |
| --- | --- | --- | --- | --- | --- |
NEW| 2.14 | >=3.10, <=(3.15, 3.15t experimental) | C++20 | CUDA 12.6 (CUDNN 9.10.2.21) (NCCL 2.29.3), CUDA 13.0 (CUDNN 9.24.0.43), CUDA 13.2 (CUDNN 9.24.0.43) | -- | ROCm 7.14 |
| 2.13 | >=3.10, <=(3.15, 3.15t experimental) | C++20 | CUDA 12.6, CUDA 13.0 | CUDA 13.2 | ROCm 7.2 |
| 2.12 | >=3.10, <=(3.14, 3.14t experimental) | C++17 | CUDA 12.6, CUDA 13.0 | CUDA 13.2 | ROCm 7.2 |
| 2.11 | >=3.10, <=(3.14, 3.14t experimental) | C++17 | CUDA 12.6, CUDA 12.8, CUDA 13.0 | -- | ROCm 7.2 |
| 2.10 | >=3.10, <=(3.14, 3.14t experimental) | C++17 | CUDA 12.6, CUDA 12.8 | CUDA 13.0 | ROCm 7.1 |
| 2.9 | >=3.10, <=(3.14, 3.14t experimental) | C++17 | CUDA 12.6, CUDA 12.8 | CUDA 13.0 | ROCm 6.4 |
| 2.8 | >=3.9, <=3.13, (3.13t experimental) | C++17 | CUDA 12.6, CUDA 12.8 | CUDA 12.9 | ROCm 6.4 |
| 2.7 | >=3.9, <=3.13, (3.13t experimental) | C++17 | CUDA 11.8, CUDA 12.6 | CUDA 12.8 | ROCm 6.3 |
| 2.6 | >=3.9, <=3.13, (3.13t experimental) | C++17 | CUDA 11.8, CUDA 12.4 | CUDA 12.6 | ROCm 6.2.4 |
| 2.5 | >=3.9, <=3.12, (3.13 experimental) | C++17 | CUDA 11.8, CUDA 12.1, CUDA 12.4, CUDNN 9.1.0.70  | None | ROCm 6.2 |
| 2.4 | >=3.8, <=3.12 | C++17 | CUDA 11.8, CUDA 12.1, CUDNN 9.1.0.70  | CUDA 12.4, CUDNN 9.1.0.70 | ROCm 6.1 |
| 2.3 | >=3.8, <=3.11, (3.12 experimental) | C++17 | CUDA 11.8, CUDNN 8.7.0.84 | CUDA 12.1, CUDNN 8.9.2.26 | ROCm 6.0 |
| 2.2 | >=3.8, <=3.11, (3.12 experimental) | C++17 | CUDA 11.8, CUDNN 8.7.0.84 | CUDA 12.1, CUDNN 8.9.2.26 | ROCm 5.7 |
| 2.1 | >=3.8, <=3.11 | C++17 | CUDA 11.8, CUDNN 8.7.0.84 | CUDA 12.1, CUDNN 8.9.2.26 | ROCm 5.6 |
| 2.0 | >=3.8, <=3.11 | C++14 | CUDA 11.7, CUDNN 8.5.0.96 | CUDA 11.8, CUDNN 8.7.0.84 | ROCm 5.4 |
| 1.13 | >=3.7, <=3.10 | C++14 | CUDA 11.6, CUDNN 8.3.2.44 | CUDA 11.7, CUDNN 8.5.0.96 | ROCm 5.2 |

### PyTorch CUDA Support Matrix

For Release 2.12, 2.13 and 2.14 PyTorch Supports following CUDA Architectures:

| CUDA | architectures supported for Linux x86 and Windows builds | notes |
| --- | --- | --- |
| 12.6.3 | Maxwell(5.0), Pascal(6.0), Volta(7.0), Turing(7.5), Ampere(8.0, 8.6), Hopper(9.0) | |
| 13.0.2 | Turing(7.5), Ampere(8.0, 8.6), Hopper(9.0), Blackwell(10.0, 12.0+PTX) | +PTX available on linux builds only |
| 13.2.1 | Turing(7.5), Ampere(8.0, 8.6), Hopper(9.0), Blackwell(10.0, 12.0+PTX) | +PTX available on linux builds only |

| CUDA | architectures supported for Linux aarch64 builds |
| --- | --- |
| 13.0.2 | Ampere(8.0), Hopper(9.0), Blackwell(10.0, 11.0, 12.0+PTX) |

### Release cadence table

| Minor Version | Release branch cut | Release date | First patch release date | Second patch release date|
| --- | --- | --- | --- | --- |
| 2.13 | 8 Jun 2026 | 8 Jul 2026 | (Aug 2026) | Not planned |
| 2.14 | 10 Aug 2026 | 2 Sept 2026 | (Oct 2026) | Not planned |
| 2.15 | 5 Oct 2026 | 28 Oct 2026 | (Nov 2026) | Not planned |
| 2.16 | 30 Nov 2026 | 22 Dec 2026 | (Jan 2027) | Not planned |
`;
const LEGACY = '5.0 6.0 7.0 7.5 8.0 8.6 9.0';
const BLACKWELL = '7.5 8.0 8.6 9.0 10.0 12.0';
const row = (minor: string) => `| ${minor} | >=3.11, <=3.15 | C++20 | CUDA 13.0, CUDA 13.2 | -- | ROCm 7.14 |\n`;
const same = KNOWN.replace('NEW', '');
const newer = KNOWN.replace('NEW', row('2.15'));
const drivers = (more: Record<string, { type: string }> = {}) =>
  JSON.stringify({
    '535': { type: 'lts branch' },
    '580': { type: 'lts branch' },
    '595': { type: 'production branch' },
    ...more,
  });

const NOW = Date.UTC(2026, 10, 20);
const TODAY = '2026-11-20';

function pages(release: string | undefined, list: string | undefined): FetchText & { asked: number } {
  const get = async (url: string) => {
    get.asked++;
    const text = url.endsWith('.md') ? release : list;
    return text === undefined ? ({ ok: false, detail: 'ENOTFOUND' } as const) : ({ ok: true, text } as const);
  };
  get.asked = 0;
  return get;
}

const portsOf = (env: Record<string, string> = {}) =>
  play(machine('h200'), { now: () => NOW, cache: memoryCache(), env });

describe('the pages of the publishers', () => {
  it('are read as they are written', () => {
    const read = parseReleaseMd(newer)!;
    expect(read.releases[0]).toEqual({
      minor: '2.15',
      pythonMin: '3.11',
      pythonMax: '3.15',
      pythonTried: '3.15',
      stable: ['13.0', '13.2'],
      experimental: [],
      released: '2026-10',
      day: '2026-10-28',
    });
    expect(read.releases).toContainEqual(
      expect.objectContaining({ minor: '2.5', pythonMax: '3.12', pythonTried: '3.13' }),
    );
    expect(read.kernelsOf).toEqual(['2.12', '2.13', '2.14']);
    expect(read.x64.get('13.0')).toEqual({
      cubins: ['7.5', '8.0', '8.6', '9.0', '10.0', '12.0'],
      ptx: '12.0',
      ptxOnlyLinux: true,
    });
    expect(read.arm64.get('13.0')?.cubins).toEqual(['8.0', '9.0', '10.0', '11.0', '12.0']);
    expect(parseDriverReleases(drivers())).toContainEqual({ branch: 580, kind: 'long-term' });
  });

  it.each(['', '# Releasing PyTorch', '| PyTorch version | Python |', '<html>404</html>', '{"580":5}', '[]', 'null'])(
    'of another form give nothing: %s',
    (text) => {
      expect(parseReleaseMd(text)).toBeUndefined();
      expect(parseDriverReleases(text)).toBeUndefined();
    },
  );

  it.each([
    ['2.11.0', { cu126: LEGACY, cu128: BLACKWELL, cu130: BLACKWELL }],
    ['2.10.0', { cu126: LEGACY, cu128: `7.0 ${BLACKWELL}`, cu130: `${BLACKWELL}+PTX` }],
    ['2.9.1', { cu126: LEGACY, cu128: `7.0 ${BLACKWELL}`, cu130: `${BLACKWELL}+PTX` }],
    ['2.8.0', { cu126: LEGACY, cu128: `7.0 ${BLACKWELL}`, cu129: `7.0 ${BLACKWELL}+PTX` }],
    ['2.7.1', { cu118: `3.7 ${LEGACY}`, cu126: LEGACY, cu128: `${BLACKWELL}+PTX` }],
    ['2.6.0', { cu118: `3.7 ${LEGACY}`, cu124: LEGACY, cu126: LEGACY }],
    ['2.4.1', { cu118: `3.7 ${LEGACY}`, cu121: LEGACY, cu124: LEGACY }],
    ['2.0.1', { cu117: `3.7 ${LEGACY.replace(' 9.0', '')}`, cu118: `3.7 ${LEGACY}` }],
  ])('PyTorch %s has the kernels that its build scripts list', (release, builds) => {
    const rows = loadTables().tables.pytorch.cuda.filter(
      (row) => row.release === release && row.platforms.includes('linux-x64'),
    );
    const listed = rows.map((row) => [row.variant, `${row.cubins.join(' ')}${row.ptx ? '+PTX' : ''}`]);
    expect(Object.fromEntries(listed)).toEqual(builds);
  });

  it('find nothing to say against the shipped tables', () => {
    const { tables } = loadTables();
    const upstream = { pytorch: parseReleaseMd(same), branches: parseDriverReleases(drivers()) };
    expect(compareTables(tables, upstream, TODAY)).toEqual({ differences: [], tables: {} });
  });
});

describe('gpuforge data check', () => {
  it('tells every difference, and ends with status 1', async () => {
    const output = capture();
    const status = await runData(
      portsOf(),
      'check',
      {},
      output,
      pages(
        newer.replace('<=(3.15, 3.15t experimental)', '<=3.14'),
        drivers({ '595': { type: 'lts branch' }, '640': { type: 'new feature branch' } }),
      ),
    );
    expect(output.out).toContain('pytorch: PyTorch 2.15 is out (2026-10); the tables end with 2.14.1');
    expect(output.out).toContain('pytorch: PyTorch 2.14.1: Python 3.10 to 3.15 here, 3.10 to 3.14 there');
    expect(output.out).toContain('cuda: driver branch 595: production here, long-term there');
    expect(output.out).toContain('cuda: driver branch 640 (feature) is out; the tables end with 615');
    expect(output.out).toContain('gpuforge data update');
    expect(status).toBe(1);
  });

  it('does not take a release for out before its day', async () => {
    const output = capture();
    expect(await runData(portsOf(), 'check', {}, output, pages(KNOWN.replace('NEW', row('2.16')), drivers()))).toBe(0);
    expect(output.out).toContain('the publishers say the same');
  });

  it('never fails without the network, and does not ask where it is off', async () => {
    const output = capture();
    expect(await runData(portsOf(), 'check', {}, output, pages(undefined, undefined))).toBe(0);
    expect(output.out).toContain("PyTorch's RELEASE.md could not be reached (ENOTFOUND)");
    for (const [env, flags] of [
      [{ GPUFORGE_OFFLINE: '1' }, {}],
      [{}, { offline: true }],
    ] as const) {
      const get = pages(newer, drivers());
      const quiet = capture();
      expect(await runData(portsOf(env), 'update', flags, quiet, get)).toBe(0);
      expect(get.asked).toBe(0);
      expect(quiet.out).toContain('the network is off');
    }
  });
});

describe('gpuforge data update', () => {
  it('writes valid tables that every command then uses', async () => {
    const ports = portsOf();
    const output = capture();
    expect(await runData(ports, 'update', { json: true }, output, pages(newer, drivers()))).toBe(0);
    expect(JSON.parse(output.out)).toMatchObject({ updated: ['pytorch'], notCompared: [] });

    const resolved = capture();
    expect(await runResolve(ports, { json: true }, resolved)).toBe(0);
    const { choice } = JSON.parse(resolved.out);
    expect(choice).toMatchObject({ version: '2.15.0', variant: 'cu130', companions: expect.anything() });
    expect(JSON.stringify(choice)).toContain('0.30.*');

    const again = capture();
    expect(await runData(ports, 'check', {}, again, pages(newer, drivers()))).toBe(0);
    expect(again.out).toMatch(/pytorch +2026-11-20 .* updated/);
    expect(again.out).toContain('the publishers say the same');

    // A second update keeps what the first one brought.
    await runData(ports, 'update', {}, capture(), pages(newer, drivers({ '640': { type: 'new feature branch' } })));
    expect(loadTables(undefined, ports.cache.read('tables.json')).renewed).toEqual(['pytorch', 'cuda']);
  });

  it('changes nothing when the publishers say the same', async () => {
    const ports = portsOf();
    await runData(ports, 'update', {}, capture(), pages(same, drivers()));
    expect(ports.cache.read('tables.json')).toBeUndefined();
  });

  it.each([
    ['broken', '{"pytorch":'],
    ['of another kind', '{"pytorch":{"schema":1}}'],
    ['older than what ships', JSON.stringify({ pytorch: { ...(shipped.pytorch as object), reviewed: '2020-01-01' } })],
  ])('counts for nothing when it is %s', (_name, text) => {
    expect(loadTables(undefined, text).renewed).toEqual([]);
    expect(loadTables(undefined, text).tables.pytorch).toBe(shipped.pytorch);
  });
});

describe('the settings for the tables', () => {
  it('are honoured by doctor: an age limit, and a file that cannot be used', async () => {
    const tools = { fixPort: { create: () => 'failed' as const } };
    const old = capture();
    await runDoctor(
      worldOf(machine('h200'), { now: () => Date.UTC(2027, 2, 1), env: { GPUFORGE_DATA_MONTHS: '2' } }),
      { json: true, offline: true },
      old,
      tools,
    );
    expect(old.out).toContain('DATA-OLD');
    const broken = capture();
    await runDoctor(
      worldOf(machine('h200'), { env: { GPUFORGE_DATA: '/nowhere/tables.json' } }),
      { offline: true },
      broken,
      tools,
    );
    expect(broken.err).toContain('data.file is not used');
    expect(broken.out).toContain('tables reviewed on');
  });
});
