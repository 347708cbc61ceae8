// The recorded sessions of the pages run again: what a page shows is what the commands print.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { settings } from '../../forge/config/settings.ts';
import { catalogue } from '../../forge/explain/catalogue/index.ts';
import { register as completion } from './completion.ts';
import { register as config } from './config.ts';
import { register as env } from './env.ts';
import { register as explain } from './explain.ts';
import { register as resolve } from './resolve.ts';

const page = (name: string): string => readFileSync(new URL(`../../../docs/forge/${name}.md`, import.meta.url), 'utf8');

interface Shown {
  readonly command: string;
  readonly output: string;
}

/** The commands of a page's console blocks with the output shown under each. */
function sessions(text: string): readonly (readonly Shown[])[] {
  return [...text.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map((block) =>
    block[1]!
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [command = '', ...lines] = part.split('\n');
        return { command, output: lines.join('\n').trimEnd() };
      }),
  );
}

const words = (line: string): readonly string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2]!);

async function run(line: string): Promise<string> {
  const [command = '', ...filters] = line.split(' | ');
  let text = '';
  const [program, ...args] = words(command);
  if (program === 'head') text = readFileSync(args[1]!, 'utf8').split('\n').slice(0, -Number(args[0])).join('\n');
  else {
    expect(program).toBe('gpuforge');
    const root = new Command('gpuforge').exitOverride();
    for (const register of [resolve, env, explain, config, completion]) register(root);
    let errors = '';
    const out = vi.spyOn(process.stdout, 'write').mockImplementation((part) => {
      text += part;
      return true;
    });
    const err = vi.spyOn(process.stderr, 'write').mockImplementation((part) => {
      errors += part;
      return true;
    });
    try {
      await root.parseAsync([...args], { from: 'user' });
    } finally {
      out.mockRestore();
      err.mockRestore();
      process.exitCode = 0;
    }
    text += errors;
  }
  for (const filter of filters) {
    const [tool, count] = filter.split(' ');
    expect(tool).toBe('head');
    text = text.split('\n').slice(0, -Number(count)).join('\n');
  }
  return text.trimEnd();
}

describe.each(['resolve', 'env', 'explain', 'config'])('docs/forge/%s.md', (name) => {
  const before = { cwd: process.cwd(), env: { ...process.env } };
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gpuforge-docs-'));
    process.chdir(folder);
    for (const key of Object.keys(process.env)) if (/^GPUFORGE_|^XDG_|_COLOR$/.test(key)) delete process.env[key];
    Object.assign(process.env, {
      HOME: folder,
      GPUFORGE_CONFIG: join(folder, 'config.json'),
      GPUFORGE_CACHE_DIR: join(folder, 'cache'),
      NO_COLOR: '1',
    });
  });
  afterAll(() => {
    process.chdir(before.cwd);
    process.env = before.env;
    rmSync(folder, { recursive: true, force: true });
  });

  const all = sessions(page(name));
  it('shows at least one session', () => expect(all.flat().length).toBeGreaterThan(0));

  it.each(all.flat().map((shown) => [shown.command, shown] as const))('$ %s', async (_command, shown) => {
    expect(await run(shown.command)).toBe(shown.output);
  });
});

describe('the lists of the pages', () => {
  it('name every error class', () => {
    const text = page('explain');
    for (const row of catalogue) expect(text).toContain(`| \`${row.code}\` | ${row.severity} | ${row.title} |`);
  });

  it('name every setting with its variable', () => {
    const text = page('config');
    for (const row of settings)
      expect(text).toMatch(new RegExp(`\\| \`${row.key}\` \\|.*${row.variable ?? '–'}.*${row.about.slice(0, 10)}`));
  });

  it.each([
    ['resolve', resolve],
    ['env', env],
    ['explain', explain],
  ] as const)('name every option of %s', (name, register) => {
    const root = new Command('gpuforge');
    register(root);
    const text = page(name);
    for (const option of root.commands[0]!.options) expect(text, option.long ?? '').toContain(option.long);
  });
});
