// Kinds of arguments that functions of profiles take. They load nothing of the runtime: the page of a profile uses them, too.

import { layerKinds } from '../../base/layer-kinds.ts';
import { baselineSchema, profileSchema } from './types.ts';

const schemaOf = (v: unknown): unknown => (v as { readonly schema?: unknown } | null | undefined)?.schema;

const isProfile = (v: unknown): boolean => schemaOf(v) === profileSchema;
const isBaseline = (v: unknown): boolean => schemaOf(v) === baselineSchema;

export const fileKinds = {
  ...layerKinds,
  numbers: {
    is: (v: unknown) => Array.isArray(v) && v.every((x) => typeof x === 'number'),
    words: 'an array of numbers',
  },
  profile: { is: isProfile, words: 'a profile: of profiler.toProfile() or readProfile(text)' },
  baseline: { is: isBaseline, words: 'a baseline: of readBaseline(text) or updateBaseline(profile, null)' },
};
