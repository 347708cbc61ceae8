import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runConfigGet, runConfigList, runConfigPath, runConfigSet } from './command.ts';
import { guarded } from './failure.ts';
import { type ConfigPlace, changeConfig, configPath, loadConfig, settingOf } from './file.ts';
import { settings } from './settings.ts';
import { capture } from './testing.ts';

let folder = '';
let file = '';
let place: ConfigPlace;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpuforge-config-'));
  file = join(folder, 'deep', 'config.json');
  place = { platform: 'linux', home: folder, env: { GPUFORGE_CONFIG: file } };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (content: string): void => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
};

describe('the place of the file', () => {
  it.each([
    ['linux', {}, '/h/.config/gpuforge/config.json'],
    ['linux', { XDG_CONFIG_HOME: '/x' }, '/x/gpuforge/config.json'],
    ['macos', {}, '/h/Library/Application Support/gpuforge/config.json'],
    ['windows', { APPDATA: '/a' }, '/a/gpuforge/config.json'],
    ['linux', { GPUFORGE_CONFIG: '/own.json' }, '/own.json'],
  ] as const)('on %s with %o is %s', (platform, env, expected) => {
    expect(configPath({ platform, home: '/h', env })).toBe(expected);
  });
});

describe('reading', () => {
  it('gives defaults where there is no file', () => {
    const config = loadConfig(place);
    expect(config.file.state).toBe('absent');
    expect(config.problems).toEqual([]);
    expect(settingOf(config, 'env.framework')).toBe('pytorch');
    for (const row of config.values) expect(row.origin).toBe('default');
  });

  it('lets variables beat the file, and the file the defaults', () => {
    put('{"env": {"framework": "jax", "python": "3.11"}}');
    const config = loadConfig({ ...place, env: { ...place.env, GPUFORGE_FRAMEWORK: 'tensorflow' } });
    expect(config.values.find((row) => row.setting.key === 'env.framework')).toMatchObject({
      value: 'tensorflow',
      origin: 'variable',
    });
    expect(config.values.find((row) => row.setting.key === 'env.python')).toMatchObject({
      value: '3.11',
      origin: 'file',
    });
    expect(config.values.find((row) => row.setting.key === 'cache.enabled')).toMatchObject({
      value: true,
      origin: 'default',
    });
  });

  it('names the line of an unknown key and of a bad value, and uses the rest', () => {
    put('{\n  "env": {\n    "framwork": "jax",\n    "python": 3.12\n  },\n  "cache": { "lifeHours": 2 }\n}');
    const config = loadConfig(place);
    expect(config.file.state).toBe('flawed');
    expect(config.problems).toContain(`${file}:3: env.framwork: unknown key (did you mean framework?)`);
    expect(config.problems.some((problem) => problem.startsWith(`${file}:4: env.python: expected a version`))).toBe(
      true,
    );
    expect(settingOf(config, 'cache.lifeHours')).toBe(2);
    expect(settingOf(config, 'env.python')).toBeNull();
  });

  it('names the line of broken syntax and goes on with defaults', () => {
    put('{\n  "env": {\n    "framework": "jax",\n  }\n}');
    const config = loadConfig(place);
    expect(config.file.state).toBe('broken');
    expect(config.problems).toEqual([`${file}:4:3: a comma before the closing bracket`]);
    expect(settingOf(config, 'env.framework')).toBe('pytorch');
  });

  it('says when a variable makes no sense', () => {
    const config = loadConfig({
      ...place,
      env: { ...place.env, GPUFORGE_CACHE: 'maybe', GPUFORGE_FRAMEWORK: 'mxnet' },
    });
    expect(config.problems).toEqual([
      'GPUFORGE_CACHE: makes no sense: maybe',
      'GPUFORGE_FRAMEWORK: expected one of pytorch, tensorflow, jax, found "mxnet"',
    ]);
  });

  it('reads profiles of the user', () => {
    put('{"profiles": {"audio": {"extends": "learning", "packages": ["librosa>=0.11", "soundfile"]}}}');
    expect(loadConfig(place).profiles.audio?.packages).toEqual(['librosa>=0.11', 'soundfile']);
    put('{"profiles": {"bad": {"packages": ["x; rm -rf /"]}}}');
    expect(loadConfig(place).profiles).toEqual({});
    expect(loadConfig(place).problems[0]).toMatch(/profiles\.bad\.packages\[0\]: expected a package/);
  });
});

describe('changing', () => {
  it('writes atomically, keeps other keys, and leaves no temporary file', () => {
    put('{"env": {"python": "3.11"}, "mine": 1}');
    changeConfig(file, 'env.framework', 'jax');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ env: { python: '3.11', framework: 'jax' }, mine: 1 });
    expect(readdirSync(dirname(file))).toEqual(['config.json']);
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o077).toBe(0);
    changeConfig(file, 'env.framework', undefined);
    changeConfig(file, 'env.python', undefined);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ mine: 1 });
  });

  it.each([
    ['env.framework', 'mxnet', /expected one of pytorch, tensorflow, jax/],
    ['cache.lifeHours', 'soon', /expected a number/],
    ['cache.lifeHours', '-1', /expected a number from 0\.1/],
    ['cache.enabled', 'perhaps', /expected true or false/],
    ['mirrors.pypi', 'https://user:secret@mirror.example/simple', /without a user name or password/],
    ['env.formats', 'uv,exe', /expected one of uv/],
    ['env.python', '2.7', /a version such as 3\.12/],
    ['nonsense', '1', /unknown setting/],
  ])('refuses %s = %s and changes nothing', (key, value, message) => {
    put('{"env": {"python": "3.11"}}');
    expect(() => changeConfig(file, key, value)).toThrow(message);
    expect(readFileSync(file, 'utf8')).toBe('{"env": {"python": "3.11"}}');
  });

  it('quotes no more of what was given than tells it', async () => {
    const errors: string[] = [];
    const output = { write: () => {}, warn: (part: string) => void errors.push(part), isTTY: false, columns: 80 };
    const status = await guarded('x/1', false, output, () => {
      changeConfig(file, 'x'.repeat(50_000), '1');
      return 0;
    });
    expect(status).toBe(2);
    expect(errors.join('').length).toBeLessThan(1000);
    expect(errors.join('')).toMatch(/unknown setting "x+…x+"/);
  });

  it('repeats no password of an address', () => {
    expect(() => changeConfig(file, 'mirrors.pypi', 'https://ada:secret@mirror.example/simple')).toThrow(
      expect.objectContaining({ message: expect.not.stringMatching(/secret|ada/) }),
    );
  });

  it('keeps a copy of a broken file before it begins anew', () => {
    put('{ broken');
    const { kept } = changeConfig(file, 'env.framework', 'jax');
    expect(readFileSync(kept!, 'utf8')).toBe('{ broken');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ env: { framework: 'jax' } });
  });

  it('names the nearest setting', () => {
    expect(() => changeConfig(file, 'env.framewrk', 'jax')).toThrow(/Did you mean env\.framework/);
    expect(() => changeConfig(file, 'framework', 'jax')).toThrow(/Did you mean env\.framework/);
  });
});

describe('the commands', () => {
  it('set, get, list and path go round', async () => {
    const output = capture();
    expect(await runConfigSet(place, 'env.formats', 'uv, verify', {}, output)).toBe(0);
    expect(output.out).toBe('env.formats = uv,verify\n');
    const got = capture();
    expect(await runConfigGet(place, 'env.formats', { json: true }, got)).toBe(0);
    expect(JSON.parse(got.out)).toMatchObject({ schema: 'gpuforge.config/1', value: ['uv', 'verify'], origin: 'file' });
    const listed = capture();
    expect(await runConfigList(place, {}, listed)).toBe(0);
    for (const { key } of settings) expect(listed.out).toContain(key);
    const path = capture();
    expect(runConfigPath(place, {}, path)).toBe(0);
    expect(path.out).toBe(`${file}\n`);
  });

  it('answer errors with status 2, as JSON where asked', async () => {
    const output = capture();
    expect(await runConfigSet(place, 'env.framework', 'mxnet', { json: true }, output)).toBe(2);
    expect(JSON.parse(output.out)).toMatchObject({ schema: 'gpuforge.config/1', error: { code: 'FORGE_BAD_SETTING' } });
    expect(existsSync(file)).toBe(false);
    const plain = capture();
    expect(await runConfigGet(place, 'nope', {}, plain)).toBe(2);
    expect(plain.err).toMatch(/^error: unknown setting "nope"/);
    expect(plain.out).toBe('');
  });

  it('list a flawed file with status 1', async () => {
    put('{"x": 1}');
    const output = capture();
    expect(await runConfigList(place, {}, output)).toBe(1);
    expect(output.err).toMatch(/config\.json:1: x: unknown key/);
  });

  it('say that a broken file was kept', async () => {
    put('[');
    const output = capture();
    expect(await runConfigSet(place, 'cache.enabled', 'off', {}, output)).toBe(0);
    expect(output.err).toMatch(/was broken; it was kept as .*config\.json\.broken-/);
  });
});
