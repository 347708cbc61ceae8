// Kinds of arguments that functions of profiles take. They load nothing of the runtime: the page of a profile uses them, too.

import { layerKinds } from '../../base/layer-kinds.ts';
import { baselineSchema, profileSchema } from './types.ts';

const schemaOf = (v: unknown): unknown => (v as { readonly schema?: unknown } | null | undefined)?.schema;

const isProfile = (v: unknown): boolean => schemaOf(v) === profileSchema;
const isBaseline = (v: unknown): boolean => schemaOf(v) === baselineSchema;

export const fileKinds = {
  ...layerKinds,
  numbers: {
    is: (v: unknown) => Array.isArray(v) && v.every((x) => typeof x === 'number' && !Number.isNaN(x)),
    words: 'an array of numbers without NaN',
  },
  times: {
    is: (v: unknown) => Number.isSafeInteger(v) && (v as number) >= 1 && (v as number) <= 1e8,
    words: 'a whole number from 1 to 100 million',
  },
  profile: { is: isProfile, words: 'a profile: of profiler.toProfile() or readProfile(text)' },
  baseline: { is: isBaseline, words: 'a baseline: of readBaseline(text) or updateBaseline(profile, null)' },
};
