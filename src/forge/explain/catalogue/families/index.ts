// The last resort of each class: a line that names its subject and says that something went wrong.
//
// Wordings are endless, subjects and troubles are few. A family scores lowest of all, so any pattern of a class's own comes
// before it, and of two families the first in this list: it goes from the narrow subject to the wide one. Where no line has
// both, second-look.ts takes the subject from the lines around the trouble.

import type { Pattern } from '../../types.ts';
import { builds, installers } from './builds.ts';
import { faults } from './faults.ts';
import { graphics } from './graphics.ts';
import { libraries } from './libraries.ts';
import { leftovers, pairs } from './matrix.ts';
import { places } from './places.ts';
import { processes } from './processes.ts';
import { programs } from './programs.ts';
import type { Family } from './types.ts';

export type { Family } from './types.ts';

/** From the narrow subject to the wide one. */
export const families: readonly Family[] = [
  ...installers,
  ...pairs,
  ...faults,
  ...libraries,
  ...processes,
  ...places,
  ...graphics,
  ...builds,
  ...programs,
];

/** Classes that a compiler's line may lead to. */
export const buildCodes: ReadonlySet<string> = new Set([
  ...[...installers, ...builds].map(({ code }) => code),
  'dkms-build',
  'webgpu-failed',
]);

/** All that the second look may join: the families, and what is left of a speaker's troubles. */
export const joined: readonly Family[] = [...families, ...leftovers];

/** The pattern of each family, by the class it belongs to. Letters count the same in both cases. */
export const familiesOf: ReadonlyMap<string, readonly Pattern[]> = (() => {
  const found = new Map<string, Pattern[]>();
  families.forEach(({ code, subject, trouble }, rank) => {
    found.set(code, [...(found.get(code) ?? []), patternOf(subject, trouble, rank)]);
  });
  return found;
})();

/** Most texts lack most subjects: the pattern is made when a text has the words of both for the first time. */
function patternOf(subject: RegExp, trouble: RegExp, rank: number): Pattern {
  let made: RegExp | undefined;
  return {
    kind: 'weak',
    get re() {
      made ??= new RegExp(`^(?=[^\\n]*(?:${subject.source}))(?=[^\\n]*(?:${trouble.source}))[^\\n]*`, 'im');
      return made;
    },
    parts: [subject, trouble],
    rank,
    family: true,
  };
}
