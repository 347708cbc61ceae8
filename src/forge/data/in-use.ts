// Which tables a command uses: the file of its --data flag or of the setting, else what `data update` brought, else what ships.

import { type Config, settingOf } from '../config/file.ts';
import type { Ports } from '../ports.ts';
import { type LoadedTables, loadTables } from './tables.ts';

/** The file in the cache folder that `data update` writes. */
export const UPDATED = 'tables.json';

export function tablesInUse(ports: Ports, config: Config, flag?: string): LoadedTables {
  const file = flag ?? settingOf<string | null>(config, 'data.file') ?? undefined;
  return file === undefined ? loadTables(undefined, ports.cache.read(UPDATED)) : loadTables(file);
}
