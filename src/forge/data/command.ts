// `gpuforge data`: which tables are used, from when, whether their publishers say otherwise, and how to take that over.
//
// `version` asks nobody. `check` and `update` ask the two publishers, unless the network is off; a publisher that does not
// answer is told and is no failure. `update` writes what changed into the cache folder, checked against the schemas first.

import { FormatError } from '../../errors.ts';
import { EXIT, guarded } from '../config/failure.ts';
import { settingOf } from '../config/file.ts';
import type { Ports } from '../ports.ts';
import { prepare, stale } from '../resolve/command.ts';
import { columns, type Output } from '../style.ts';
import { type Comparison, compareTables, type Upstream } from './differences.ts';
import { type FetchText, fetchText } from './fetch.ts';
import { UPDATED } from './in-use.ts';
import { checkTables, type LoadedTables } from './tables.ts';
import { DRIVER_RELEASES, parseDriverReleases, parseReleaseMd, RELEASE_MD } from './upstream.ts';

const DATA_SCHEMA = 'gpuforge.data/1';

export type DataAction = 'version' | 'check' | 'update';

export interface DataFlags {
  readonly data?: string;
  readonly json?: boolean;
  readonly offline?: boolean;
}

export function runData(
  ports: Ports,
  action: DataAction,
  flags: DataFlags,
  output: Output,
  get: FetchText = fetchText,
): Promise<number> {
  return guarded(DATA_SCHEMA, flags.json ?? false, output, async () => {
    const { config, loaded } = prepare(ports, flags);
    const warnings = stale(config, loaded, ports);
    const tables = Object.entries(loaded.tables).map(([name, table]) => ({
      name,
      title: table.title,
      reviewed: table.reviewed,
      from: origin(name, loaded),
    }));
    const offline = flags.offline ?? settingOf<boolean>(config, 'network.offline');
    const asked = action === 'version' ? undefined : offline ? OFFLINE : await ask(get);
    const compared = asked && compareTables(loaded.tables, asked.upstream, dayOf(ports.now()));
    const written = action === 'update' && compared ? write(ports, loaded, compared) : [];
    if (flags.json)
      output.write(
        `${JSON.stringify(
          {
            schema: DATA_SCHEMA,
            reviewed: loaded.reviewed,
            tables,
            warnings,
            ...(asked && compared
              ? { notCompared: asked.missing, differences: compared.differences, updated: written }
              : {}),
          },
          null,
          2,
        )}\n`,
      );
    else {
      output.write(columns(tables.map((row) => [row.name, row.reviewed, row.title, row.from])));
      output.write(warnings.length > 0 ? `\n${warnings.join('\n')}\n` : '\nthe tables are valid and not too old\n');
      if (asked && compared) output.write(told(asked, compared, action, written, ports));
    }
    const no = warnings.length > 0 || (action === 'check' && (compared?.differences.length ?? 0) > 0);
    return action !== 'version' && no ? EXIT.no : EXIT.done;
  });
}

const origin = (name: string, { replaced, renewed }: LoadedTables): string =>
  (replaced as readonly string[]).includes(name)
    ? 'your file'
    : (renewed as readonly string[]).includes(name)
      ? 'updated'
      : '';

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

interface Asked {
  readonly upstream: Upstream;
  /** Why a publisher could not be compared with, a line each. */
  readonly missing: readonly string[];
}

const OFFLINE: Asked = {
  upstream: { pytorch: undefined, branches: undefined },
  missing: ['the network is off: nothing was compared'],
};

async function ask(get: FetchText): Promise<Asked> {
  const missing: string[] = [];
  const read = async <T>(name: string, url: string, parse: (text: string) => T | undefined): Promise<T | undefined> => {
    const page = await get(url);
    const value = page.ok ? parse(page.text) : undefined;
    if (!page.ok) missing.push(`${name} could not be reached (${page.detail})`);
    else if (value === undefined) missing.push(`${name} has another form than this version knows`);
    return value;
  };
  const [pytorch, branches] = await Promise.all([
    read("PyTorch's RELEASE.md", RELEASE_MD, parseReleaseMd),
    read("NVIDIA's releases.json", DRIVER_RELEASES, parseDriverReleases),
  ]);
  return { upstream: { pytorch, branches }, missing };
}

/** The names of the tables that were written. */
function write(ports: Ports, { tables, renewed }: LoadedTables, changed: Comparison): readonly string[] {
  const names = Object.keys(changed.tables);
  if (names.length === 0) return [];
  // What an earlier update brought stays.
  const all = { ...Object.fromEntries(renewed.map((name) => [name, tables[name]])), ...changed.tables };
  const problems = checkTables(all);
  if (problems.length > 0)
    throw new FormatError({
      code: 'FORGE_DATA_INVALID',
      message: `the published facts do not fit the tables: ${problems.slice(0, 3).join('; ')}`,
      fix: 'Nothing was changed. Update gpuforge: a newer version may know the new form.',
      where: 'forge.data',
    });
  ports.cache.write(UPDATED, `${JSON.stringify(all)}\n`);
  if (ports.cache.read(UPDATED) === undefined)
    throw new FormatError({
      code: 'FORGE_DATA_UNWRITTEN',
      message: `cannot write ${UPDATED} into ${ports.cache.folder}`,
      fix: 'Make the folder writable, or name another one with GPUFORGE_CACHE_DIR.',
      where: 'forge.data',
    });
  return names;
}

function told(
  { missing }: Asked,
  { differences }: Comparison,
  action: DataAction,
  written: readonly string[],
  ports: Ports,
): string {
  const lines = [
    ...missing,
    ...differences.map(({ table, text }) => `${table}: ${text}`),
    ...(differences.length === 0 && missing.length === 0 ? ['the publishers say the same'] : []),
    ...(action === 'check' && differences.length > 0 ? ['take it over with: gpuforge data update'] : []),
    ...(written.length > 0 ? [`updated: ${written.join(', ')} (${ports.cache.folder}/${UPDATED})`] : []),
  ];
  return `${lines.join('\n')}\n`;
}
