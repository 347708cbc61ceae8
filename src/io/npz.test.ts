import { describe, expect, it } from 'vitest';
import {
  anyNamedRecords,
  describedAll,
  expected,
  fixture,
  refusal,
  refusedAtEveryLength,
  survivesDamage,
} from '../../test/support/files.ts';
import fc from '../../test/support/properties.ts';
import { crc32 } from './crc32.ts';
import { formatNpy } from './npy.ts';
import { formatNpz, parseNpz } from './npz.ts';
import type { ArrayRecord } from './record.ts';
import { writeZip } from './zip.ts';

const files = Object.keys(expected).filter((name) => name.endsWith('.npz'));
const record = (n: number): ArrayRecord => ({ dtype: 'u8', shape: [n], bytes: new Uint8Array(n).fill(7) });

/** A copy with some bytes replaced, at a place found by its content. */
function patch(
  file: Uint8Array,
  find: readonly number[],
  shift: number,
  bytes: readonly number[],
  last = false,
): Uint8Array {
  const copy = file.slice();
  const buffer = Buffer.from(copy.buffer);
  const at = last ? buffer.lastIndexOf(Buffer.from(find)) : buffer.indexOf(Buffer.from(find));
  expect(at).toBeGreaterThanOrEqual(0);
  copy.set(bytes, at + shift);
  return copy;
}

const central = [0x50, 0x4b, 1, 2];
const end = [0x50, 0x4b, 5, 6];

describe('parseNpz', () => {
  it('reads int16 beside other arrays, and names the entry it cannot read', async () => {
    const short = formatNpy({ dtype: 'f16', shape: [2], bytes: Uint8Array.of(0xff, 0xff, 2, 0) });
    const as = (descr: string): Uint8Array => patch(short, [...Buffer.from("'<f2'")], 1, [...Buffer.from(descr)]);
    const archive = (descr: string) =>
      writeZip(
        [
          ['a.npy', formatNpy(record(3))],
          ['s.npy', as(descr)],
        ],
        false,
        () => new Error('not written'),
      );
    const arrays = await parseNpz(await archive('<i2'));
    expect(arrays.get('a')).toEqual(record(3));
    expect(arrays.get('s')).toEqual({
      dtype: 'i32',
      shape: [2],
      bytes: new Uint8Array(Int32Array.of(-1, 2).buffer),
    });
    const refused = await refusal(async () => parseNpz(await archive('<c2')));
    expect(refused?.code).toBe('DTYPE_UNSUPPORTED');
    expect(refused?.message).toMatch(/in the entry "s\.npy": the array has the dtype "<c2"/);
  });

  it('refuses an archive that unpacks to more than it may, before unpacking anything', async () => {
    const file = await formatNpz([['zeros', { dtype: 'u8', shape: [100_000], bytes: new Uint8Array(100_000) }]], {
      compress: true,
    });
    expect(file.length).toBeLessThan(1000);
    expect((await parseNpz(file)).size).toBe(1);
    const refused = await refusal(() => parseNpz(file, { maxBytes: 100_000 }));
    expect(refused?.code).toBe('EXPANDS_TOO_FAR');
    // 2 GiB claimed by a few hundred bytes: more than the default allows.
    const bomb = patch(file, central, 24, [0, 0, 0, 0x80]);
    expect((await refusal(() => parseNpz(bomb)))?.code).toBe('EXPANDS_TOO_FAR');
    expect((await refusal(() => parseNpz(bomb, { maxBytes: Number.POSITIVE_INFINITY })))?.code).toBe('BAD_CHECKSUM');
    await expect(parseNpz(file, { maxBytes: Number.NaN })).rejects.toThrow(/maxBytes is NaN/);
  });

  it.each(files)('reads %s as NumPy wrote it', async (name) => {
    expect(describedAll(await parseNpz(fixture(name)))).toEqual(expected[name]);
  });

  it('reads an archive with a comment behind it', async () => {
    const file = await formatNpz([['a', record(3)]]);
    const commented = new Uint8Array(file.length + 5);
    commented.set(patch(file, end, 20, [5, 0]));
    expect((await parseNpz(commented)).get('a')).toEqual(record(3));
  });

  it('reads sizes from a zip64 directory', async () => {
    const file = await formatNpz([['a', record(3)]]);
    const at = Buffer.from(file).lastIndexOf(Buffer.from(end));
    const view = new DataView(file.buffer);
    const end64 = Buffer.alloc(56 + 20);
    end64.writeUInt32LE(0x06064b50, 0);
    end64.writeBigUInt64LE(44n, 4);
    end64.writeBigUInt64LE(1n, 24);
    end64.writeBigUInt64LE(1n, 32);
    end64.writeBigUInt64LE(BigInt(view.getUint32(at + 12, true)), 40);
    end64.writeBigUInt64LE(BigInt(view.getUint32(at + 16, true)), 48);
    end64.writeUInt32LE(0x07064b50, 56);
    end64.writeBigUInt64LE(BigInt(at), 64);
    const tail = file.slice(at);
    tail.fill(0xff, 8, 20);
    const whole = Uint8Array.from([...file.slice(0, at), ...end64, ...tail]);
    expect((await parseNpz(whole)).get('a')).toEqual(record(3));
    end64.writeBigUInt64LE(2n ** 63n, 48);
    const lying = Uint8Array.from([...file.slice(0, at), ...end64, ...tail]);
    expect((await refusal(() => parseNpz(lying)))?.message).toMatch(/place of the directory/);
  });

  it('refuses damage to the data by its checksum, stored or deflated', async () => {
    for (const compress of [false, true]) {
      const file = await formatNpz([['a', record(300)]], { compress });
      const damaged = patch(file, [...Buffer.from('a.npy')], 40, [file[80]! ^ 0x55]);
      expect((await refusal(() => parseNpz(damaged)))?.code).toBe('BAD_CHECKSUM');
    }
  });

  it('refuses data that unpacks to more than it claims, without unpacking it all', async () => {
    const file = await formatNpz([['a', record(5_000_000)]], { compress: true });
    expect(file.length).toBeLessThan(10_000);
    const lying = patch(file, central, 24, [100, 0, 0, 0]);
    const error = await refusal(() => parseNpz(lying));
    expect(error?.message).toMatch(/more than the 100 bytes it claims/);
  });

  it.each<[string, readonly number[], number, readonly number[], string]>([
    ['an unknown compression', central, 10, [99, 0], 'BAD_ZIP'],
    ['an encrypted entry', central, 8, [1, 8], 'ENCRYPTED'],
    ['an entry beyond the end', central, 42, [0xff, 0xff, 0xff, 0x7f], 'BAD_ZIP'],
    ['an entry that is not where the directory says', central, 42, [1, 0, 0, 0], 'BAD_ZIP'],
    ['sizes left to a zip64 field that is missing', central, 20, [0xff, 0xff, 0xff, 0xff], 'BAD_ZIP'],
    ['a directory that is not where it should be', end, 16, [3, 0, 0, 0], 'BAD_ZIP'],
    ['a directory beyond the end', end, 16, [0xff, 0xff, 0xff, 0x7f], 'TRUNCATED'],
    ['more entries than the directory has room for', end, 10, [0xff, 0x7f], 'BAD_ZIP'],
  ])('refuses %s', async (_, find, shift, bytes, code) => {
    const file = await formatNpz([['a', record(3)]]);
    expect((await refusal(() => parseNpz(patch(file, find, shift, bytes))))?.code).toBe(code);
  });

  it('refuses entries that share their data', async () => {
    const file = await formatNpz([
      ['a', record(64)],
      ['b', record(64)],
    ]);
    const overlapping = patch(file, central, 42, [0, 0, 0, 0], true);
    expect((await refusal(() => parseNpz(overlapping)))?.message).toMatch(/runs into/);
  });

  it('refuses entries that are no arrays, and names used twice', async () => {
    const file = await formatNpz([
      ['a', record(3)],
      ['b', record(3)],
    ]);
    const rename = (to: string): Uint8Array => patch(file, [...Buffer.from('b.npy')], 0, [...Buffer.from(to)], true);
    expect((await refusal(() => parseNpz(rename('b.txt'))))?.code).toBe('NOT_AN_ARRAY');
    expect((await refusal(() => parseNpz(rename('a.npy'))))?.message).toMatch(/twice/);
  });

  it.each(['stored.npz', 'deflated.npz', 'streamed.npz'])('refuses %s cut off at any byte', (name) =>
    refusedAtEveryLength(fixture(name), parseNpz),
  );

  it.each(['stored.npz', 'deflated.npz', 'streamed.npz'])(
    'takes %s damaged anywhere without any other failure',
    async (name) => {
      expect(await survivesDamage(fixture(name), parseNpz, 400)).toBeGreaterThan(100);
    },
  );
});

describe('formatNpz', () => {
  it.each([false, true])('round-trips every dtype, shape and name (compress: %s)', async (compress) => {
    await fc.assert(
      fc.asyncProperty(anyNamedRecords, async (entries) => {
        expect(await parseNpz(await formatNpz(entries, { compress }))).toEqual(new Map(entries));
      }),
      { numRuns: 60 },
    );
  });

  it('gives the same bytes for the same arrays, and fewer when compressed', async () => {
    const plain = await formatNpz([['a', record(4000)]]);
    expect(await formatNpz([['a', record(4000)]])).toEqual(plain);
    expect((await formatNpz([['a', record(4000)]], { compress: true })).length).toBeLessThan(plain.length / 4);
  });

  it('refuses two arrays of one name, and names that no archive can hold', async () => {
    const twice: [string, ArrayRecord][] = [
      ['a', record(1)],
      ['a', record(2)],
    ];
    expect((await refusal(() => formatNpz(twice)))?.code).toBe('BAD_NAME');
    expect((await refusal(() => formatNpz([['x'.repeat(70000), record(1)]])))?.code).toBe('BAD_NAME');
  });
});

describe('crc32', () => {
  it('is the checksum of zip files, in one go or in parts', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(100), (bytes, cut) => {
        const want = crcBySteps(bytes);
        expect(crc32(bytes)).toBe(want);
        expect(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut)))).toBe(want);
      }),
    );
    expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926);
  });
});

/** Straight from the definition, one bit at a time. */
function crcBySteps(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const b of bytes) {
    c ^= b;
    for (let i = 0; i < 8; i++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  }
  return ~c >>> 0;
}
