// Short names for the patterns of the catalogue; types.ts says how much each kind tells.

import type { Kind, Pattern } from './types.ts';

const of =
  (kind: Kind) =>
  (re: RegExp, along?: RegExp): Pattern =>
    along ? { kind, re, along } : { kind, re };

export const code = of('code');
export const capture = of('capture');
export const phrase = of('phrase');
export const symptom = of('symptom');
export const weak = of('weak');
/** A symptom that a library names: its class is beyond doubt, its reason is not told. */
export const named = (re: RegExp): Pattern => ({ ...symptom(re), named: true });
