// The page of a profile, loaded by those who want one.

import { checked } from '../../base/signatures.ts';
import { fileKinds } from '../file/kinds.ts';
import type { ProfileFile } from '../file/types.ts';
import type { PageOptions } from './html.ts';

/** The pieces of a page that shows a profile; without one, of a page that loads files which are dropped on it. */
export const profilePage = checked(
  'profilePage',
  'async profile:profile|null options:{title:text}?',
  async (profile: ProfileFile | null, options?: PageOptions): Promise<string[]> => {
    const { htmlText } = await import('./html.ts');
    return htmlText(profile, options);
  },
  fileKinds,
);
