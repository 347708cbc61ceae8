// A profile as text, piece by piece: one line for each entry, kernel and transfer. What is null, false or empty is left out.

import { lists, type Row, rowShapes, usual } from './shapes.ts';
import type { ProfileFile } from './types.ts';

type ListName = (typeof lists)[number];

const isLeftOut = (value: unknown): boolean =>
  value === null || value === undefined || value === false || (Array.isArray(value) && value.length === 0);

function compact(row: Row, name: ListName): Row {
  const kept: Record<string, unknown> = {};
  const defaults = usual[name];
  for (const key in rowShapes[name]) {
    const value = row[key];
    if (!isLeftOut(value) && value !== defaults?.[key]) kept[key] = value;
  }
  return kept;
}

const rowsAtOnce = 200;

/** Pieces of some kilobytes; together they are the file. */
export function* profileText(profile: ProfileFile): Generator<string> {
  let separator = '{\n';
  for (const [key, value] of Object.entries(profile)) {
    yield `${separator}${JSON.stringify(key)}:`;
    separator = ',\n';
    if (!(lists as readonly string[]).includes(key)) {
      yield JSON.stringify(value);
      continue;
    }
    const rows = value as readonly Row[];
    yield '[';
    for (let i = 0; i < rows.length; i += rowsAtOnce) {
      const lines = rows.slice(i, i + rowsAtOnce).map((row) => JSON.stringify(compact(row, key as ListName)));
      yield `${i === 0 ? '\n' : ',\n'}${lines.join(',\n')}`;
    }
    yield rows.length === 0 ? ']' : '\n]';
  }
  yield '\n}\n';
}
