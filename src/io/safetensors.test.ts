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
import { ArgumentError } from '../errors.ts';
import { formatSafetensors, parseSafetensors } from './safetensors.ts';

const name = 'all.safetensors';

/** A file with this header and so many bytes of data. */
function file(header: unknown, data = 0, length?: bigint): Uint8Array {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const head = Buffer.alloc(8);
  head.writeBigUInt64LE(length ?? BigInt(text.length));
  return Uint8Array.from([...head, ...text, ...new Uint8Array(data)]);
}

const tensor = (over: object = {}): object => ({ x: { dtype: 'F32', shape: [2], data_offsets: [0, 8], ...over } });

describe('parseSafetensors', () => {
  it('reads every dtype and the metadata', () => {
    const { tensors, metadata } = parseSafetensors(fixture(name));
    expect(describedAll(tensors)).toEqual(expected[name]);
    expect(tensors.size).toBe(10);
    expect(metadata).toEqual({ format: 'pt', note: 'ä' });
  });

  it('shares the memory of the file', () => {
    const bytes = fixture(name);
    expect(parseSafetensors(bytes).tensors.get('f32.x')?.bytes.buffer).toBe(bytes.buffer);
  });

  it('widens I8, I16 and U16 to i32', () => {
    const { tensors } = parseSafetensors(
      file(
        {
          a: { dtype: 'I16', shape: [2], data_offsets: [0, 4] },
          b: { dtype: 'I8', shape: [1], data_offsets: [4, 5] },
          c: { dtype: 'U16', shape: [1], data_offsets: [5, 7] },
        },
        7,
      ),
    );
    expect([...tensors.values()].map(({ dtype, bytes }) => [dtype, bytes.length])).toEqual([
      ['i32', 8],
      ['i32', 4],
      ['i32', 4],
    ]);
  });

  it('takes one name in several places, and braces and quotes in names', () => {
    const names = ['shape', 'x', 'a"b', '{', '"', '\\\\', ','];
    const header = Object.fromEntries(names.map((n) => [n, { dtype: 'U8', shape: [0, 1], data_offsets: [0, 0] }]));
    const metadata = { x: 'shape', shape: '"shape"' };
    const parsed = parseSafetensors(file({ ...header, __metadata__: metadata }));
    expect([[...parsed.tensors.keys()], parsed.metadata]).toEqual([names, metadata]);
  });

  it('takes scalars and tensors without elements', () => {
    const header = {
      s: { dtype: 'F32', shape: [], data_offsets: [0, 4] },
      none: { dtype: 'I64', shape: [0, 5], data_offsets: [4, 4] },
    };
    const { tensors } = parseSafetensors(file(header, 4));
    expect(tensors.get('s')?.shape).toEqual([]);
    expect(tensors.get('none')?.bytes.length).toBe(0);
  });

  it.each<[string, Uint8Array, string, RegExp]>([
    ['a header longer than the file', file({}, 0, 2n ** 40n), 'TRUNCATED', /1099511627776 bytes/],
    ['a header of 2^64-1 bytes', file({}, 0, 2n ** 64n - 1n), 'TRUNCATED', /18446744073709551615/],
    ['text that is not JSON', file('{"x": '), 'BAD_HEADER', /not JSON/],
    ['text that is not UTF-8', Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 0x7b, 0xff), 'BAD_HEADER', /not JSON/],
    ['JSON that is no object', file('[1]'), 'BAD_HEADER', /not a JSON object/],
    ['a tensor twice', file('{"x": {}, "\\u0078": {}}'), 'BAD_HEADER', /"x" twice/],
    ['metadata twice', file('{"__metadata__": {}, "__metadata__": {}}'), 'BAD_HEADER', /"__metadata__" twice/],
    ['a claim twice', file('{"x": {"shape": [1, 2], "shape": [2]}}'), 'BAD_HEADER', /"shape" twice/],
    ['metadata that is no text', file({ __metadata__: { a: 1 } }), 'BAD_HEADER', /__metadata__/],
    ['an entry that is no object', file({ x: 3 }), 'BAD_HEADER', /"x"/],
    ['a dtype we do not have', file(tensor({ dtype: 'F8_E4M3' }), 8), 'DTYPE_UNSUPPORTED', /F8_E4M3/],
    ['8-bit floats', file(tensor({ dtype: 'F8_E4M3' }), 8), 'DTYPE_UNSUPPORTED', /"F8_E4M3"/],
    ['no dtype', file(tensor({ dtype: undefined }), 8), 'DTYPE_UNSUPPORTED', /none/],
    ['a negative size', file(tensor({ shape: [-2] }), 8), 'BAD_SHAPE', /-2/],
    ['a fractional size', file(tensor({ shape: [0.5] }), 8), 'BAD_SHAPE', /0.5/],
    ['a shape beyond all memory', file(tensor({ shape: [2 ** 40, 2 ** 40] }), 8), 'BAD_OFFSETS', /1099511627776/],
    ['a shape that is not that of the data', file(tensor({ shape: [3] }), 8), 'BAD_OFFSETS', /\[3\] but has 8 bytes/],
    ['offsets beyond the end', file(tensor(), 4), 'BAD_OFFSETS', /of the 4 bytes/],
    ['offsets backwards', file(tensor({ data_offsets: [8, 0] }), 8), 'BAD_OFFSETS', /\[8,0\]/],
    ['no offsets', file(tensor({ data_offsets: undefined }), 8), 'BAD_OFFSETS', /no place/],
    ['a gap', file(tensor({ data_offsets: [4, 12] }), 12), 'BAD_OFFSETS', /begins at byte/],
    ['bytes that belong to no tensor', file(tensor(), 9), 'TRAILING_BYTES', /1 bytes/],
    [
      'tensors that overlap',
      file({ ...tensor(), y: { dtype: 'F32', shape: [2], data_offsets: [4, 12] } }, 12),
      'BAD_OFFSETS',
      /"y" begins/,
    ],
  ])('refuses %s', async (_, bytes, code, message) => {
    const error = await refusal(() => parseSafetensors(bytes));
    expect(error?.code).toBe(code);
    expect(error?.message).toMatch(message);
  });

  it('refuses a file cut off at any byte', () => refusedAtEveryLength(fixture(name), parseSafetensors));

  it('never fails but by a FormatError, whatever the bytes', async () => {
    expect(await survivesDamage(fixture(name), parseSafetensors, 1500)).toBeGreaterThan(100);
  });
});

describe('formatSafetensors', () => {
  it('round-trips every dtype, shape and name, with metadata', () => {
    const metadata = fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }));
    fc.assert(
      fc.property(anyNamedRecords, metadata, (entries, meta) => {
        fc.pre(!entries.some(([n]) => n === '__metadata__'));
        const back = parseSafetensors(formatSafetensors(entries, meta));
        expect(new Map([...back.tensors].sort())).toEqual(new Map([...entries].sort()));
        expect(Object.entries(back.metadata).sort()).toEqual(Object.entries(meta).sort());
      }),
    );
  });

  it('aligns every tensor to its element size', () => {
    const one = (dtype: 'u8' | 'f16' | 'f64', n: number) => ({ dtype, shape: [1], bytes: new Uint8Array(n) }) as const;
    const bytes = formatSafetensors([
      ['a', one('u8', 1)],
      ['b', one('f64', 8)],
      ['c', one('f16', 2)],
    ]);
    for (const [n, size] of [
      ['b', 8],
      ['c', 2],
    ] as const) {
      expect((parseSafetensors(bytes).tensors.get(n)?.bytes.byteOffset ?? 1) % size).toBe(0);
    }
  });

  it('refuses reserved names, names used twice, and bytes that do not fit', () => {
    const record = { dtype: 'u8', shape: [1], bytes: Uint8Array.of(1) } as const;
    expect(() => formatSafetensors([['__metadata__', record]])).toThrow(/reserved/);
    expect(() =>
      formatSafetensors([
        ['a', record],
        ['a', record],
      ]),
    ).toThrow(/twice/);
    expect(() => formatSafetensors([['a', { ...record, shape: [2] }]])).toThrow(ArgumentError);
  });
});
