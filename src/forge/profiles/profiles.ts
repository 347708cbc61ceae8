// Profiles: the eight that ship and those of the user's configuration, looked up by name.
//
// A user's profile stands alone or extends another; it may add packages the tables do not know, written as plain PEP 508
// names with an optional version. Nothing else of PEP 508 (URLs, markers) is accepted: the text ends up in generated files.

import { ArgumentError } from '../../errors.ts';
import { type Infer, list, nearest, number, object, oneOf, text } from '../data/schema.ts';
import type { ProfileRow, Tables } from '../data/schemas.ts';
import { asWord } from '../text/plain.ts';

export const REQUIREMENT =
  /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\[([A-Za-z0-9._-]+)\])?\s*((?:(?:==|>=|<=|~=|!=|<|>)[0-9][A-Za-z0-9.*+!]*)(?:,(?:==|>=|<=|~=|!=|<|>)[0-9][A-Za-z0-9.*+!]*)*)?$/;

export const userProfile = object(
  { packages: list(text(REQUIREMENT, 'a package such as "einops" or "einops>=0.8"')) },
  {
    extends: text(/^[a-z][a-z0-9_]*$/, 'the name of a profile'),
    title: text(),
    intent: text(),
    remove: list(text()),
    minGiB: number({ min: 0 }),
    recommendedGiB: number({ min: 0 }),
    pin: oneOf('range', 'exact'),
  },
);
export type UserProfile = Infer<typeof userProfile>;

export interface Profile extends Omit<ProfileRow, 'source' | 'reviewed'> {
  readonly origin: 'shipped' | 'user';
}

export function allProfiles(tables: Tables, own: Readonly<Record<string, UserProfile>> = {}): readonly Profile[] {
  const found = new Map<string, Profile>();
  for (const { source: _source, reviewed: _reviewed, ...row } of tables.profiles.profiles) {
    found.set(row.name, { ...row, origin: 'shipped' });
  }
  for (const name of Object.keys(own)) found.set(name, fromUser(name, own, found, []));
  return [...found.values()];
}

export function findProfile(profiles: readonly Profile[], name: string): Profile {
  const wanted = asWord(name).replaceAll('-', '_');
  const found = profiles.find((profile) => profile.name === wanted);
  if (found) return found;
  const names = profiles.map((profile) => profile.name);
  const near = nearest(wanted, names);
  throw new ArgumentError({
    code: 'FORGE_UNKNOWN_PROFILE',
    message: `unknown profile "${name}"`,
    fix:
      near === undefined ? `Use one of ${names.join(', ')}.` : `Did you mean ${near}? Known are ${names.join(', ')}.`,
    where: 'forge.profiles',
  });
}

function fromUser(
  name: string,
  own: Readonly<Record<string, UserProfile>>,
  shipped: ReadonlyMap<string, Profile>,
  chain: readonly string[],
): Profile {
  const profile = own[name];
  if (!profile) throw broken(name, `profile "${chain.at(-1)}" extends "${name}", which does not exist`);
  if (chain.includes(name))
    throw broken(name, `profiles extend each other in a circle: ${[...chain, name].join(' → ')}`);
  const base = profile.extends === undefined ? blank : parentOf(profile.extends, own, shipped, [...chain, name]);
  const removed = new Set((profile.remove ?? []).map((entry) => entry.toLowerCase()));
  const keep = (names: readonly string[]) => names.filter((entry) => !removed.has(entry));
  return {
    ...base,
    name,
    title: profile.title ?? (profile.extends ? `${base.title} (${name})` : name),
    intent: profile.intent ?? base.intent,
    base: keep(base.base),
    added: [...new Set([...keep(base.added), ...profile.packages])],
    optional: keep(base.optional),
    minGiB: profile.minGiB ?? base.minGiB,
    recommendedGiB: profile.recommendedGiB ?? Math.max(base.recommendedGiB, profile.minGiB ?? 0),
    pin: profile.pin ?? base.pin,
    origin: 'user',
  };
}

function parentOf(
  name: string,
  own: Readonly<Record<string, UserProfile>>,
  shipped: ReadonlyMap<string, Profile>,
  chain: readonly string[],
): Profile {
  // A user's profile may carry the name of a shipped one and extend it.
  const plain = shipped.get(name);
  if (plain && plain.origin === 'shipped' && (chain.includes(name) || !own[name])) return plain;
  return fromUser(name, own, shipped, chain);
}

const broken = (name: string, message: string): ArgumentError =>
  new ArgumentError({
    code: 'FORGE_BROKEN_PROFILE',
    message,
    fix: `Correct "extends" of the profile ${name} in the configuration file.`,
    where: 'forge.profiles',
  });

const blank: Profile = {
  name: '',
  title: '',
  intent: 'your own',
  base: ['numpy'],
  added: [],
  optional: [],
  jax: [],
  tensorflow: [],
  extras: {},
  minGiB: 0,
  recommendedGiB: 0,
  pin: 'range',
  vision: false,
  use: 'bounded',
  lowMemory: null,
  origin: 'user',
};
