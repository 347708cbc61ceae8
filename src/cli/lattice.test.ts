import { expect, it } from 'vitest';
import { runLattice } from './lattice-show.ts';

const run = async (what: string, flags: object, ends: readonly string[] = []) => {
  const told = { out: '', err: '' };
  const output = {
    isTTY: false,
    width: 80,
    write: (text: string) => {
      told.out += text;
    },
    warn: (text: string) => {
      told.err += text;
    },
  };
  const status = await runLattice(what, flags, output as never, ends);
  return { status, ...told };
};

it('finds paths, with and without JSON', async () => {
  expect(await run('path', { dimensions: '2', size: '4' }, ['0', '5'])).toMatchObject({
    status: 0,
    out: expect.stringMatching(/^0 → 4 → 5\n2 steps/),
  });
  const { out } = await run('path', { json: true }, ['0', '9999']);
  expect(JSON.parse(out)).toMatchObject({ schema: 'gpuforge.lattice/1', command: 'path', length: 36 });
});

it('analyses, around blocked vertices too', async () => {
  expect(JSON.parse((await run('analyse', { json: true })).out)).toMatchObject({
    vertices: 10_000,
    edges: 36_000,
    diameter: 36,
  });
  const { out } = await run('analyse', { dimensions: '2', size: '3', blocked: '3,4,5' });
  expect(out).toMatch(/isConnected\s+false/);
});

it('says what is wrong with its input, with status 2', async () => {
  expect(await run('path', { dimensions: '2', size: '4' }, ['0', '16'])).toMatchObject({
    status: 2,
    out: '',
    err: expect.stringMatching(/16 is no vertex/),
  });
  expect(await run('analyse', { size: 'many' })).toMatchObject({
    status: 2,
    err: expect.stringMatching(/--size is 'many'/),
  });
  expect(await run('path', {}, ['0', 'home'])).toMatchObject({
    status: 2,
    err: expect.stringMatching(/the end is 'home'/),
  });
  expect(await run('analyse', { dimensions: '2', size: '5', blocked: '6,,7' })).toMatchObject({
    status: 2,
    err: expect.stringMatching(/a vertex of --blocked is ''/),
  });
  expect(await run('build', { device: 'banana' })).toMatchObject({
    status: 2,
    err: expect.stringMatching(/asks for banana/),
  });
});

it('shows distances, a path and walks in borrowed memory', async () => {
  const { status, out } = await run('demo', { device: 'cpu' });
  expect(status).toBe(0);
  expect(out).toMatch(/\[ 0\].*\n/);
  expect(out).toMatch(/Memory of its own: 8 bytes/);
});

it('builds, and says how large it is', async () => {
  const { status, out } = await run('build', { dimensions: '2', size: '3', device: 'cpu' });
  expect([status, out]).toEqual([
    0,
    expect.stringMatching(/^vertices +9\nentries +24\nbytes +136\ndevice +cpu\nms .*\n$/),
  ]);
  expect(JSON.parse((await run('build', { dimensions: '2', size: '3', json: true })).out)).toMatchObject({
    command: 'build',
    vertices: 9,
    entries: 24,
  });
});
