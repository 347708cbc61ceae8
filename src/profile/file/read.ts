// Reads a profile: text or data, checked value by value. What is wrong is said by its path.

import { checked } from '../../base/signatures.ts';
import { FormatError } from '../../errors.ts';
import {
  type Check,
  checkShape,
  flag,
  listOf,
  plainObject,
  positive,
  type Shape,
  text,
  whole,
  wrong,
} from './check.ts';
import { fileKinds } from './kinds.ts';
import { deviceShape, headShape, kernelShape, lists, maybe, rowShapes, summaryShape, usual } from './shapes.ts';
import { type ProfileFile, profileSchema } from './types.ts';

/**
 * A profile from the text of a file, or from data that was parsed already.
 * @throws FormatError with the path of the value that is wrong, or the byte at which the text is no JSON.
 */
export const readProfile = checked(
  'readProfile',
  'source:text|object',
  (source: string | object): ProfileFile => {
    const data = typeof source === 'string' ? parse(source) : source;
    if (plainObject(data) !== null) throw wrong('the file', data, 'an object');
    const file = data as Record<string, unknown>;
    checkSchema(file.schema);
    checkShape(file, headShape, '');
    const { machine, options, summary, kernelSummary, dropped } = file as unknown as ProfileFile;
    checkShape(machine, { cpu: text, cores: positive, devices: listOf(plainObject) }, 'machine');
    for (const [i, d] of machine.devices.entries()) checkShape(d, deviceShape, `machine.devices[${i}]`);
    checkShape(options, { detailed: flag, capacity: positive, slowdown: maybe }, 'options');
    checkShape(dropped, { entries: whole, kernels: whole, transfers: whole }, 'dropped');
    for (const [name, s] of Object.entries(summary)) checkShape(s, summaryShape, `summary.${name}`);
    for (const [name, s] of Object.entries(kernelSummary)) checkShape(s, kernelShape, `kernelSummary.${name}`);
    const read = { ...file };
    for (const name of lists) read[name] = readList(file[name], name);
    const profile = read as unknown as ProfileFile;
    checkTree(profile);
    return profile;
  },
  fileKinds,
);

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const at = /position (\d+)/.exec(said)?.[1];
    const before = at === undefined ? json : json.slice(0, Number(at));
    const byte = new TextEncoder().encode(before).length;
    throw new FormatError({
      code: 'BAD_JSON',
      message: `the profile is no JSON: it breaks off or goes wrong at byte ${byte}`,
      fix: 'The file may be truncated: write or copy it again.',
      where: 'readProfile',
      cause: error,
    });
  }
}

function checkSchema(schema: unknown): void {
  if (schema === profileSchema) return;
  const version = typeof schema === 'string' && /^gpuforge\.profile\/(\d+)$/.exec(schema)?.[1];
  throw new FormatError({
    code: 'BAD_SCHEMA',
    message: version
      ? `this is version ${version} of the format (${String(schema)}); this release reads version 1`
      : `this is no profile: its schema is ${JSON.stringify(schema) ?? 'missing'}`,
    fix: version ? 'Use the release that wrote the file, or a newer one.' : `Give a file with schema ${profileSchema}.`,
    where: 'readProfile',
  });
}

/** What a key that was left out stands for. */
function absent(check: Check): unknown {
  for (const value of [null, false, []]) if (check(value) === null) return value;
  return undefined;
}

function readList(value: unknown, name: (typeof lists)[number]): unknown[] {
  if (!Array.isArray(value)) throw wrong(name, value, 'a list');
  const shape = rowShapes[name];
  const blank: Record<string, unknown> = {};
  for (const [key, check] of Object.entries(shape)) {
    const filled = usual[name]?.[key] ?? absent(check);
    if (filled !== undefined) blank[key] = filled;
  }
  return value.map((row, i) => {
    if (plainObject(row) !== null) throw wrong(`${name}[${i}]`, row, 'an object');
    const full = inOrder(shape, blank, row as Record<string, unknown>);
    checkShape(full, shape, `${name}[${i}]`);
    return full;
  });
}

/** The keys of a row in the order of the schema, what is missing filled in. Others are left out. */
function inOrder(shape: Shape, blank: Record<string, unknown>, row: Record<string, unknown>): Record<string, unknown> {
  const full: Record<string, unknown> = {};
  for (const key in shape) full[key] = Object.hasOwn(row, key) ? row[key] : blank[key];
  return full;
}

/** No id twice, no scope inside itself. A parent that is not there was dropped: its children are roots. */
function checkTree({ entries, kernels, transfers }: ProfileFile): void {
  const parents = new Map<number, number | null>();
  entries.forEach((e, i) => {
    if (parents.has(e.id)) throw wrong(`entries[${i}].id`, e.id, 'a number of its own: another entry has it');
    parents.set(e.id, e.parentId);
  });
  for (const [name, list] of [
    ['kernels', kernels],
    ['transfers', transfers],
  ] as const) {
    const seen = new Set<number>();
    list.forEach(({ id }, i) => {
      if (seen.has(id)) throw wrong(`${name}[${i}].id`, id, 'a number of its own: another one has it');
      seen.add(id);
    });
  }
  const fine = new Set<number>();
  entries.forEach(({ id }, i) => {
    const path = new Set<number>();
    for (let at: number | null | undefined = id; at != null && !fine.has(at); at = parents.get(at)) {
      if (path.has(at))
        throw wrong(`entries[${i}].parentId`, parents.get(id), 'a scope around it: it is inside itself');
      path.add(at);
    }
    for (const p of path) fine.add(p);
  });
}
