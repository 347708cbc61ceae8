// Profiles that the user writes into the configuration.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folder, run, useFolder } from '../../../test/forge/env-plans.ts';
import { machines } from '../../../test/forge/fixtures/targets.ts';

useFolder();

describe('profiles of the user', () => {
  const config = (profiles: unknown): Record<string, string> => {
    const path = join(folder, 'config.json');
    writeFileSync(path, JSON.stringify({ profiles }));
    return { GPUFORGE_CONFIG: path };
  };

  it('extend a shipped one and reach every file', async () => {
    const env = config({
      audio: {
        extends: 'learning',
        packages: ['librosa>=0.11', 'torchcodec[dev]'],
        remove: ['seaborn'],
        recommendedGiB: 6,
      },
    });
    const { status } = await run('demo', { profile: 'audio' }, machines['rtx4090-570']!, env);
    expect(status).toBe(0);
    const text = readFileSync(join(folder, 'demo', 'pyproject.toml'), 'utf8');
    expect(text).toContain('"librosa>=0.11"');
    expect(text).toContain('"torchcodec[dev]"');
    expect(text).toContain('"plotly>=6.0"');
    expect(text).not.toContain('seaborn');
    expect(readFileSync(join(folder, 'demo', 'environment.yml'), 'utf8')).toMatch(/- pip:\n {6}- "librosa>=0\.11"/);
  });

  it('stand alone', async () => {
    const env = config({ bare: { packages: ['einops'] } });
    expect((await run('demo', { profile: 'bare', format: 'uv' }, machines['rtx4090-570']!, env)).status).toBe(0);
    expect(readFileSync(join(folder, 'demo', 'pyproject.toml'), 'utf8')).toMatch(/"numpy>=2\.0",\n {2}"einops",/);
  });

  it('that extend each other in a circle, or nothing, are errors that name them', async () => {
    const circle = await run(
      'demo',
      { profile: 'a' },
      machines['rtx4090-570']!,
      config({ a: { extends: 'b', packages: [] }, b: { extends: 'a', packages: [] } }),
    );
    expect(circle).toMatchObject({ status: 2, err: expect.stringContaining('a → b → a') });
    const lost = await run(
      'demo',
      { profile: 'a' },
      machines['rtx4090-570']!,
      config({ a: { extends: 'lost', packages: [] } }),
    );
    expect(lost).toMatchObject({ status: 2, err: expect.stringContaining('extends "lost", which does not exist') });
  });
});
