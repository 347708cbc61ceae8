// The configuration file: where it is, reading it, changing it.
//
// Reading never fails: a broken file is reported with its line and counts as empty, an unknown key or a bad value is
// reported and left out. Writing is atomic; a broken file is kept beside the new one before it is replaced.

import { copyFileSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { makeFolder } from '../../base/folder.ts';
import { ArgumentError } from '../../errors.ts';
import { lineOfKey, parseJson } from '../data/json.ts';
import { isObject, nearest } from '../data/schema.ts';
import type { Platform } from '../machine.ts';
import type { UserProfile } from '../profiles/profiles.ts';
import { readRegular } from '../regular-file.ts';
import { fileSchema, fromText, profilesSchema, type Setting, settings } from './settings.ts';

export const CONFIG_SCHEMA = 'gpuforge.config/1';

export interface ConfigPlace {
  readonly platform: Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** GPUFORGE_CONFIG, else the platform's folder for configuration. */
export function configPath({ platform, home, env }: ConfigPlace): string {
  if (env.GPUFORGE_CONFIG) return env.GPUFORGE_CONFIG;
  switch (platform) {
    case 'windows':
      return join(env.APPDATA || join(home, 'AppData', 'Roaming'), 'gpuforge', 'config.json');
    case 'macos':
      return join(
        whole(env.XDG_CONFIG_HOME) ?? join(home, 'Library', 'Application Support'),
        'gpuforge',
        'config.json',
      );
    case 'linux':
    case 'other':
      return join(whole(env.XDG_CONFIG_HOME) ?? join(home, '.config'), 'gpuforge', 'config.json');
    default:
      return platform satisfies never;
  }
}

/** XDG's rule: a path that is not whole counts as none. */
const whole = (folder: string | undefined): string | undefined =>
  folder !== undefined && isAbsolute(folder) ? folder : undefined;

export interface ConfigFile {
  readonly path: string;
  readonly state: 'absent' | 'ok' | 'flawed' | 'broken';
  /** The file as it stands, also the parts that are not understood. */
  readonly content: Readonly<Record<string, unknown>>;
  /** One line each, with the line of the file. */
  readonly problems: readonly string[];
}

function readConfig(path: string): ConfigFile {
  let source: string;
  try {
    source = readRegular(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { path, state: 'absent', content: {}, problems: [] };
    const why = code === 'ENOTREG' ? 'is not a regular file' : `cannot be read (${code ?? String(error)})`;
    return { path, state: 'broken', content: {}, problems: [`${path}: ${why}`] };
  }
  let content: unknown;
  try {
    content = parseJson(source, path);
  } catch (error) {
    return { path, state: 'broken', content: {}, problems: [(error as Error).message.split('\n')[0]!] };
  }
  if (!isObject(content)) return { path, state: 'broken', content: {}, problems: [`${path}:1: expected an object`] };
  const problems = fileSchema.check(content, 'config').map((problem) => {
    const key = /^config\.([\w.]+)/.exec(problem)?.[1] ?? '';
    const line = lineOfKey(source, key);
    return `${path}${line === undefined ? '' : `:${line}`}: ${problem.replace(/^config\./, '')}`;
  });
  return { path, state: problems.length > 0 ? 'flawed' : 'ok', content, problems };
}

export interface Value {
  readonly setting: Setting;
  readonly value: unknown;
  readonly origin: 'variable' | 'file' | 'default';
}

export interface Config {
  readonly file: ConfigFile;
  readonly values: readonly Value[];
  readonly profiles: Readonly<Record<string, UserProfile>>;
  readonly problems: readonly string[];
}

/** The settings in force, and what was wrong on the way. */
export function loadConfig(place: ConfigPlace): Config {
  const file = readConfig(configPath(place));
  const problems = [...file.problems];
  const values = settings.map((setting): Value => {
    const given = setting.variable === null ? undefined : place.env[setting.variable];
    if (given !== undefined && given !== '') {
      const value = fromText(setting, given);
      const faults =
        value === undefined ? [`makes no sense: ${given}`] : setting.schema.check(value, setting.variable!);
      if (faults.length === 0) return { setting, value, origin: 'variable' };
      problems.push(value === undefined ? `${setting.variable}: ${faults[0]}` : faults[0]!);
    }
    const value = at(file.content, setting.key);
    if (value !== undefined && setting.schema.check(value, setting.key).length === 0)
      return { setting, value, origin: 'file' };
    return { setting, value: setting.fallback, origin: 'default' };
  });
  const own = file.content.profiles;
  const profiles =
    own !== undefined && profilesSchema.check(own, 'profiles').length === 0 ? (own as Record<string, UserProfile>) : {};
  return { file, values, profiles, problems };
}

/** One setting's value in the type its row promises. */
export function settingOf<T>(config: Config, key: string): T {
  return config.values.find((row) => row.setting.key === key)!.value as T;
}

function at(content: unknown, key: string): unknown {
  let value = content;
  for (const part of key.split('.')) value = isObject(value) ? value[part] : undefined;
  return value;
}

export function findSetting(key: string): Setting {
  const found = settings.find((setting) => setting.key === key);
  if (found) return found;
  const names = settings.map((setting) => setting.key);
  const near = nearest(key, names) ?? names.find((name) => name.endsWith(`.${key}`));
  throw new ArgumentError({
    code: 'FORGE_UNKNOWN_SETTING',
    message: `unknown setting "${key}"`,
    fix: `${near ? `Did you mean ${near}? ` : ''}gpuforge config list shows them all.`,
    where: 'forge.config',
  });
}

export interface Change {
  readonly path: string;
  /** Where the broken file was kept, if it was broken. */
  readonly kept: string | null;
}

/** Sets a value, or with undefined removes it. */
export function changeConfig(path: string, key: string, source: string | undefined): Change {
  const setting = findSetting(key);
  const value = source === undefined ? undefined : fromText(setting, source);
  const problems =
    source === undefined
      ? []
      : value === undefined
        ? [`${key}: expected ${setting.kind === 'switch' ? 'true or false' : `a ${setting.kind}`}, found "${source}"`]
        : setting.schema.check(value, key);
  if (problems.length > 0) {
    throw new ArgumentError({
      code: 'FORGE_BAD_SETTING',
      message: problems.join('; '),
      fix: `${key}: ${setting.about}. Nothing was changed.`,
      where: 'forge.config',
    });
  }
  const file = readConfig(path);
  const kept = file.state === 'broken' ? keep(path) : null;
  const [group = '', name = ''] = key.split('.');
  const content: Record<string, unknown> = { ...file.content };
  const entries = { ...(isObject(content[group]) ? content[group] : {}) };
  if (value === undefined) delete entries[name];
  else entries[name] = value;
  if (Object.keys(entries).length > 0) content[group] = entries;
  else delete content[group];
  writeAtomically(path, `${JSON.stringify(content, null, 2)}\n`);
  return { path, kept };
}

function keep(path: string): string {
  const copy = `${path}.broken-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  copyFileSync(path, copy);
  return copy;
}

function writeAtomically(path: string, content: string): void {
  const staged = join(dirname(path), `.config-${crypto.randomUUID()}.tmp`);
  try {
    makeFolder({ statSync, mkdirSync }, dirname(path));
    writeFileSync(staged, content, { flag: 'wx', mode: 0o600 });
    renameSync(staged, path);
  } catch (cause) {
    try {
      rmSync(staged, { force: true });
    } catch {
      // The folder cannot be reached either: the first error tells it.
    }
    throw new ArgumentError({
      code: 'FORGE_WRITE_FAILED',
      message: `cannot write ${path}: ${cause instanceof Error ? cause.message : String(cause)}`,
      fix: 'Check the permissions of the folder, or set GPUFORGE_CONFIG to another file.',
      where: 'forge.config',
      cause,
    });
  }
}
