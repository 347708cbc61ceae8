// Whether something is a profile or a baseline, by the name of its form.

import { baselineSchema, profileSchema } from './types.ts';

const schemaOf = (v: unknown): unknown => (v as { readonly schema?: unknown } | null | undefined)?.schema;

export const isProfile = (v: unknown): boolean => schemaOf(v) === profileSchema;
export const isBaseline = (v: unknown): boolean => schemaOf(v) === baselineSchema;
