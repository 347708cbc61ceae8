// For the tests of the file formats: the files that NumPy wrote, and records of every dtype.

import { readFileSync } from 'node:fs';
import { byteSize, type DType, dtypes } from '../../src/base/dtype.ts';
import { sizeOf } from '../../src/base/shape.ts';
import { FormatError } from '../../src/errors.ts';
import type { ArrayRecord } from '../../src/io/record.ts';
import fc from './properties.ts';

interface Described {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly hex: string;
}

const folder = new URL('../io/fixtures/', import.meta.url);

export const fixture = (name: string): Uint8Array => new Uint8Array(readFileSync(new URL(name, folder)));

export const expected = JSON.parse(readFileSync(new URL('expected.json', folder), 'utf8')) as Record<
  string,
  Described | Record<string, Described>
>;

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
export const described = ({ dtype, shape, bytes }: ArrayRecord): Described => ({ dtype, shape, hex: hex(bytes) });
export const describedAll = (records: ReadonlyMap<string, ArrayRecord>): Record<string, Described> =>
  Object.fromEntries([...records].map(([name, record]) => [name, described(record)]));

/** Any record: every dtype, ranks 0 to 4, empty ones too, any bits. */
export const anyRecord: fc.Arbitrary<ArrayRecord> = fc
  .tuple(fc.constantFrom(...dtypes), fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 }))
  .chain(([dtype, shape]) => {
    const length = sizeOf(shape) * byteSize(dtype);
    const most = dtype === 'bool' ? 1 : 255;
    return fc
      .array(fc.integer({ min: 0, max: most }), { minLength: length, maxLength: length })
      .map((bytes) => ({ dtype, shape, bytes: Uint8Array.from(bytes) }));
  });

export const anyNamedRecords = fc.uniqueArray(fc.tuple(fc.string({ unit: 'grapheme', maxLength: 8 }), anyRecord), {
  maxLength: 5,
  selector: ([name]) => name,
});

/** What a reader does with bytes it may not like: null if it takes them, its FormatError if not. Anything else throws. */
export async function refusal(read: () => unknown): Promise<FormatError | null> {
  try {
    await read();
    return null;
  } catch (error) {
    if (error instanceof FormatError) return error;
    throw error;
  }
}

/** Asserts that every beginning of a file is refused. */
export async function refusedAtEveryLength(file: Uint8Array, read: (bytes: Uint8Array) => unknown): Promise<void> {
  for (let n = 0; n < file.length; n++) {
    if ((await refusal(() => read(file.slice(0, n)))) === null)
      throw new Error(`took the first ${n} of ${file.length} bytes`);
  }
}

/** Changes some bytes of a file at random; the reader may take the result or refuse it by a FormatError, nothing else. */
export async function survivesDamage(
  file: Uint8Array,
  read: (bytes: Uint8Array) => unknown,
  runs: number,
): Promise<number> {
  let refused = 0;
  const change = fc.tuple(fc.nat(file.length - 1), fc.integer({ min: 0, max: 255 }));
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
      const damaged = file.slice();
      for (const [at, value] of changes) damaged[at] = value;
      if (await refusal(() => read(damaged))) refused++;
    }),
    { numRuns: runs },
  );
  return refused;
}
