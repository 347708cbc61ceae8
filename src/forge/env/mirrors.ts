// Mirrors of the package indexes, from the configuration. Only the start of an address is replaced, so the variant stays.

import { type Config, settingOf } from '../config/file.ts';
import type { Choice } from '../resolve/types.ts';

export interface Mirrors {
  readonly pypi?: string;
  /** In place of https://download.pytorch.org/whl */
  readonly pytorch?: string;
  /** In place of https://stable.repo.amd.com */
  readonly amd?: string;
}

const OFFICIAL = { pytorch: 'https://download.pytorch.org/whl', amd: 'https://stable.repo.amd.com' } as const;

export function mirrored(choice: Choice, mirrors: Mirrors | undefined): Choice {
  if (!choice.index || !mirrors) return choice;
  for (const key of ['pytorch', 'amd'] as const) {
    const mirror = mirrors[key];
    if (mirror !== undefined && choice.index.url.startsWith(OFFICIAL[key])) {
      const url = `${mirror.replace(/\/$/, '')}${choice.index.url.slice(OFFICIAL[key].length)}`;
      return { ...choice, index: { ...choice.index, url } };
    }
  }
  return choice;
}

/** The mirrors of the configuration, for the addresses that are printed and written. */
export function mirrorsOf(config: Config): Mirrors {
  return Object.fromEntries(
    ['pypi', 'pytorch', 'amd'].flatMap((key) => {
      const url = settingOf<string | null>(config, `mirrors.${key}`);
      return url === null ? [] : [[key, url]];
    }),
  );
}
