// The tables that ship with this version, and how a file of the user's replaces some of them.
//
// The shipped files are embedded by the bundler and checked against their schemas by the tests, so loading them validates
// nothing. A file named by --data is checked in full before any of it is used: a broken one changes nothing. What
// `data update` left in the cache counts only where it is valid and younger than what ships.

import { ArgumentError, FormatError } from '../../errors.ts';
import { readRegular } from '../regular-file.ts';
import compute from './compute.json' with { type: 'json' };
import cuda from './cuda.json' with { type: 'json' };
import jax from './jax.json' with { type: 'json' };
import { parseJson } from './json.ts';
import packages from './packages.json' with { type: 'json' };
import profiles from './profiles.json' with { type: 'json' };
import python from './python.json' with { type: 'json' };
import pytorch from './pytorch.json' with { type: 'json' };
import rocm from './rocm.json' with { type: 'json' };
import { isObject, suggestion } from './schema.ts';
import { schemas, type TableName, type Tables } from './schemas.ts';
import tensorflow from './tensorflow.json' with { type: 'json' };
import xid from './xid.json' with { type: 'json' };

/** The tables of this version, exactly as they ship. */
export const shipped: Readonly<Record<TableName, unknown>> = {
  cuda,
  compute,
  pytorch,
  rocm,
  tensorflow,
  jax,
  python,
  xid,
  packages,
  profiles,
};

export interface LoadedTables {
  readonly tables: Tables;
  /** The tables that came from the user's file. */
  readonly replaced: readonly TableName[];
  /** The tables that `data update` renewed. */
  readonly renewed: readonly TableName[];
  /** The oldest review date of all tables: "2026-11-15". */
  readonly reviewed: string;
}

/** The shipped tables, with those of `file`, else the younger ones of `update` (text of the cache), in their place. */
export function loadTables(file?: string, update?: string): LoadedTables {
  const own = file === undefined ? {} : readOverride(file);
  const younger = update === undefined ? {} : readUpdate(update);
  // The tests hold the shipped files to their schemas; the others were checked just now.
  const tables = { ...shipped, ...younger, ...own } as unknown as Tables;
  const reviewed = Object.values(tables)
    .map((table) => table.reviewed)
    .reduce((oldest, day) => (day < oldest ? day : oldest));
  return { tables, replaced: Object.keys(own) as TableName[], renewed: Object.keys(younger) as TableName[], reviewed };
}

/** An update that is broken, or older than this version, is as if it were not there. */
function readUpdate(source: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    return {};
  }
  if (!isObject(value) || checkTables(value).length > 0) return {};
  const dayOf = (table: unknown): string => (table as { readonly reviewed: string }).reviewed;
  return Object.fromEntries(
    Object.entries(value).filter(([name, table]) => dayOf(table) > dayOf(shipped[name as TableName])),
  );
}

/** Every problem of a set of tables, by table; empty when all fit. */
export function checkTables(tables: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(tables).flatMap(([name, table]) =>
    isTable(name)
      ? schemas[name].check(table, name)
      : [
          `${name}: no such table${suggestion(name, Object.keys(schemas))}; known are ${Object.keys(schemas).join(', ')}`,
        ],
  );
}

const isTable = (name: string): name is TableName => Object.hasOwn(schemas, name);

function readOverride(file: string): Readonly<Record<string, unknown>> {
  let source: string;
  try {
    source = readRegular(file);
  } catch (cause) {
    throw new ArgumentError({
      code: 'FORGE_DATA_UNREADABLE',
      message: `--data: cannot read ${file}`,
      fix: 'Name a JSON file that exists, or leave --data out to use the tables that ship with this version.',
      where: 'forge.data',
      cause,
    });
  }
  const value = parseJson(source, file);
  const problems = isObject(value) ? checkTables(value) : [`${file}: expected an object of tables`];
  if (problems.length > 0) {
    throw new FormatError({
      code: 'FORGE_DATA_INVALID',
      message: `${file}: ${problems.length === 1 ? '1 problem' : `${problems.length} problems`}\n  ${problems.slice(0, 8).join('\n  ')}`,
      fix: 'Correct the rows named above; the tables that ship with this version stay in use until then.',
      where: 'forge.data',
    });
  }
  return value as Record<string, unknown>;
}

/** Whole months between a review date and now. */
export function ageInMonths(reviewed: string, now: Date): number {
  const [year = 0, month = 1, day = 1] = reviewed.split('-').map(Number);
  const months =
    (now.getUTCFullYear() - year) * 12 + (now.getUTCMonth() + 1 - month) - (now.getUTCDate() < day ? 1 : 0);
  return Math.max(0, months);
}

/** The warning to show when the tables are older than `limit` months; undefined when they are not. */
export function staleness(reviewed: string, now: Date, limit: number): string | undefined {
  const age = ageInMonths(reviewed, now);
  return age > limit
    ? `the compatibility tables were last reviewed on ${reviewed}, ${age} months ago: newer releases are unknown to this version`
    : undefined;
}
