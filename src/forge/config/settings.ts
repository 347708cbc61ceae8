// Every setting there is: its type, default, variable and meaning. A setting that no command reads does not exist.
//
// Flags beat environment variables, those beat the file, that beats the default. The file holds no secrets: an address with
// a password in it is refused.

import { dictionary, flag, list, number, object, oneOf, type Schema, text } from '../data/schema.ts';
import { userProfile } from '../profiles/profiles.ts';

type Kind = 'switch' | 'number' | 'text' | 'list';

export interface Setting {
  readonly key: string;
  readonly kind: Kind;
  readonly schema: Schema<unknown>;
  readonly fallback: string | number | boolean | readonly string[] | null;
  readonly variable: string | null;
  readonly about: string;
}

const address = text(/^https?:\/\/(?![^/]*@)[^\s"'\\]+$/, 'an http(s) address without a user name or password');
const path = text(/^[^\p{Cc}]+$/u, 'a path');
export const FRAMEWORKS = ['pytorch', 'tensorflow', 'jax'] as const;
const USUAL = ['uv', 'requirements', 'conda', 'pixi', 'docker', 'devcontainer', 'verify'] as const;
const FORMATS = [...USUAL, 'apptainer', 'cloud-init'] as const;

const row = (
  key: string,
  kind: Kind,
  schema: Schema<unknown>,
  fallback: Setting['fallback'],
  variable: string | null,
  about: string,
): Setting => ({
  key,
  kind,
  schema,
  fallback,
  variable,
  about,
});

export const settings: readonly Setting[] = [
  row('cache.enabled', 'switch', flag, true, 'GPUFORGE_CACHE', 'keep detection results on disk'),
  row(
    'cache.lifeHours',
    'number',
    number({ min: 0.1, max: 8760 }),
    24,
    'GPUFORGE_CACHE_HOURS',
    'how long a complete result is used',
  ),
  row('data.file', 'text', path, null, 'GPUFORGE_DATA', 'tables to use in place of the shipped ones'),
  row(
    'data.maxAgeMonths',
    'number',
    number({ min: 1, max: 120, whole: true }),
    6,
    'GPUFORGE_DATA_MONTHS',
    'warn when the tables are older',
  ),
  row('env.framework', 'text', oneOf(...FRAMEWORKS), 'pytorch', 'GPUFORGE_FRAMEWORK', 'framework when none is named'),
  row(
    'env.profile',
    'text',
    text(/^[a-z][a-z0-9_]*$/, 'the name of a profile'),
    null,
    'GPUFORGE_PROFILE',
    'profile when none is named; none: by the hardware',
  ),
  row(
    'env.python',
    'text',
    text(/^3\.\d{1,2}$/, 'a version such as 3.12'),
    null,
    'GPUFORGE_PYTHON',
    'Python when none is named; none: by the build',
  ),
  row('env.formats', 'list', list(oneOf(...FORMATS)), USUAL, null, 'files to write'),
  row('env.backup', 'switch', flag, false, null, 'keep a copy of files that --force replaces'),
  row('mirrors.pypi', 'text', address, null, 'GPUFORGE_PYPI', 'in place of https://pypi.org/simple'),
  row('mirrors.pytorch', 'text', address, null, 'GPUFORGE_PYTORCH', 'in place of https://download.pytorch.org/whl'),
  row('mirrors.amd', 'text', address, null, 'GPUFORGE_AMD', 'in place of https://stable.repo.amd.com'),
  row('network.offline', 'switch', flag, false, 'GPUFORGE_OFFLINE', 'no command uses the network'),
  row(
    'env.install',
    'text',
    oneOf('ask', 'always', 'never'),
    'ask',
    'GPUFORGE_INSTALL',
    'whether --install asks before it downloads',
  ),
  row('output.color', 'text', oneOf('auto', 'never'), 'auto', null, 'colours on a terminal'),
  row('output.verbose', 'switch', flag, false, 'GPUFORGE_VERBOSE', 'as if -v were given'),
];

/** The profiles of the user, by name, under the key "profiles". */
export const profilesSchema = dictionary(userProfile, /^[a-z][a-z0-9_]*$/);

const groups = [...new Set(settings.map((setting) => setting.key.split('.')[0]!))];

/** The schema of the whole file: every group optional, every key in it optional, nothing else. */
export const fileSchema = object(
  {},
  {
    ...Object.fromEntries(
      groups.map((group) => [
        group,
        object(
          {},
          Object.fromEntries(
            settings
              .filter(({ key }) => key.startsWith(`${group}.`))
              .map(({ key, schema }) => [key.slice(group.length + 1), schema]),
          ),
        ),
      ]),
    ),
    profiles: profilesSchema,
  },
);

/** The value of a setting from text, as the command line and the environment give it; undefined when it makes no sense. */
export function fromText(setting: Setting, source: string): unknown {
  switch (setting.kind) {
    case 'switch':
      if (/^(?:true|on|yes|1)$/i.test(source)) return true;
      return /^(?:false|off|no|0)$/i.test(source) ? false : undefined;
    case 'number':
      return source.trim() !== '' && Number.isFinite(Number(source)) ? Number(source) : undefined;
    case 'list':
      return source
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '');
    case 'text':
      return source;
    default:
      return setting.kind satisfies never;
  }
}
