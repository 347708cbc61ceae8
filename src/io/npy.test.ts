import { describe, expect, it } from 'vitest';
import {
  anyRecord,
  described,
  expected,
  fixture,
  refusal,
  refusedAtEveryLength,
  survivesDamage,
} from '../../test/support/files.ts';
import fc from '../../test/support/properties.ts';
import { ArgumentError } from '../errors.ts';
import { formatNpy, parseNpy } from './npy.ts';

const files = Object.keys(expected).filter((name) => name.endsWith('.npy'));

/** A version 1.0 file with this header. */
function npy(header: string, data: Uint8Array = new Uint8Array(0), version = 1): Uint8Array {
  const text = Buffer.from(header, 'latin1');
  const length = version === 1 ? [text.length & 255, text.length >> 8] : [text.length & 255, text.length >> 8, 0, 0];
  return Uint8Array.from([0x93, ...Buffer.from('NUMPY'), version, 0, ...length, ...text, ...data]);
}

const header = (descr: string, shape: string, order = 'False'): string =>
  `{'descr': ${descr}, 'fortran_order': ${order}, 'shape': ${shape}, }\n`;

describe('parseNpy', () => {
  it.each(files)('reads %s as NumPy wrote it', (name) => {
    expect(described(parseNpy(fixture(name)))).toEqual(expected[name]);
  });

  it('shares the memory of the file where the layout allows', () => {
    const file = fixture('f32.npy');
    expect(parseNpy(file).bytes.buffer).toBe(file.buffer);
  });

  it('reads from a view into a larger buffer', () => {
    const file = fixture('i64.npy');
    const padded = new Uint8Array(file.length + 20);
    padded.set(file, 13);
    expect(described(parseNpy(padded.subarray(13, 13 + file.length)))).toEqual(expected['i64.npy']);
  });

  it('takes any byte but 0 for true', () => {
    expect([...parseNpy(npy(header("'|b1'", '(3,)'), Uint8Array.of(0, 7, 1))).bytes]).toEqual([0, 1, 1]);
  });

  it('widens int8, int16 and uint16 to i32, in either byte order and column by column', () => {
    const read = (descr: string, shape: string, bytes: readonly number[], order = 'False') => {
      const { dtype, bytes: wide } = parseNpy(npy(header(descr, shape, order), Uint8Array.from(bytes)));
      return [dtype, [...new Int32Array(wide.slice().buffer)]];
    };
    expect(read("'|i1'", '(3,)', [255, 0, 127])).toEqual(['i32', [-1, 0, 127]]);
    expect(read("'<i2'", '(2,)', [0xfe, 0xff, 1, 0])).toEqual(['i32', [-2, 1]]);
    expect(read("'>u2'", '(2,)', [0xff, 0xfe, 0, 1])).toEqual(['i32', [65534, 1]]);
    expect(read("'<i2'", '(2, 2)', [1, 0, 2, 0, 3, 0, 4, 0], 'True')).toEqual(['i32', [1, 3, 2, 4]]);
    expect(read("'<i2'", '(0,)', [])).toEqual(['i32', []]);
  });

  it('takes keys in any order, other quotes, and sizes as Python 2 wrote them', () => {
    const file = npy(`{"shape": (2L,), "fortran_order": False, "descr": "<u1"}`, Uint8Array.of(1, 2));
    expect(described(parseNpy(file))).toEqual({ dtype: 'u8', shape: [2], hex: '0102' });
  });

  it('reads V2 as bf16, as it writes it', () => {
    expect(parseNpy(npy(header("'<V2'", '(1,)'), Uint8Array.of(0x80, 0x3f))).dtype).toBe('bf16');
  });

  it.each<[string, Uint8Array, string, RegExp]>([
    ['other bytes', Uint8Array.from(Buffer.from('PK\x03\x04 this is a zip')), 'NOT_NPY', /93 4e 55/],
    ['version 4', npy(header("'<f4'", '(0,)'), undefined, 4), 'BAD_VERSION', /4\.0 at byte 6/],
    ['a structured dtype', npy(header("[('x', '<f4')]", '(0,)')), 'DTYPE_UNSUPPORTED', /named fields/],
    ['complex numbers', npy(header("'<c8'", '(0,)')), 'DTYPE_UNSUPPORTED', /<c8/],
    ['text', npy(header("'<U4'", '(0,)')), 'DTYPE_UNSUPPORTED', /<U4/],
    ['a pickled object', npy(header("'|O'", '(0,)')), 'DTYPE_UNSUPPORTED', /\|O/],
    [
      'more data than the shape',
      npy(header("'<f4'", '(2,)'), new Uint8Array(12)),
      'TRAILING_BYTES',
      /12 bytes .* but 8/,
    ],
    ['less data than the shape', npy(header("'<f4'", '(4,)'), new Uint8Array(12)), 'TRUNCATED', /\[4\].* 12 bytes/],
    ['a shape of 2^80 elements', npy(header("'<f4'", '(1099511627776, 1099511627776)')), 'TRUNCATED', /shape/],
    ['a product that wraps to the length', npy(header("'<f8'", '(4611686018427387904, 4)')), 'BAD_SHAPE', /shape/],
    ['a negative size', npy(header("'<f4'", '(-1,)')), 'BAD_HEADER', /a size/],
    ['a missing key', npy("{'descr': '<f4', 'shape': (0,)}"), 'BAD_HEADER', /descr, shape/],
    ['a key too many', npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), 'x': True}"), 'BAD_HEADER', /x/],
    ['a key twice', npy("{'descr': '<f4', 'descr': '<f4'}"), 'BAD_HEADER', /twice/],
    ['code in place of a literal', npy("{'descr': __import__('os'), }"), 'BAD_HEADER', /__import__/],
    ['something after the header', npy(`${header("'<f4'", '(0,)')}x`), 'BAD_HEADER', /end of the header/],
    ['no header', npy(''), 'BAD_HEADER', /its end at byte 10/],
    ['version 3 text that is not UTF-8', npy('{\xff', undefined, 3), 'BAD_HEADER', /utf-8/],
  ])('refuses %s', async (_, file, code, message) => {
    const error = await refusal(() => parseNpy(file));
    expect(error?.code).toBe(code);
    expect(error?.message).toMatch(message);
    expect(error?.fix).not.toBe('');
  });

  it.each(['i32-big.npy', 'fortran.npy', 'version3.npy'])('refuses %s cut off at any byte', (name) =>
    refusedAtEveryLength(fixture(name), parseNpy),
  );

  it('never fails but by a FormatError, whatever the bytes', async () => {
    expect(await survivesDamage(fixture('fortran.npy'), parseNpy, 1500)).toBeGreaterThan(100);
  });
});

describe('formatNpy', () => {
  it('round-trips every dtype and shape', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        expect(parseNpy(formatNpy(record))).toEqual(record);
      }),
    );
  });

  it.each(files.filter((name) => !/big|fortran|version/.test(name)))(
    'writes %s byte for byte as NumPy does',
    (name) => {
      expect(formatNpy(parseNpy(fixture(name)))).toEqual(fixture(name));
    },
  );

  it('aligns the data to 64 bytes', () => {
    for (let rank = 0; rank < 40; rank++) {
      const shape = new Array<number>(rank).fill(1);
      expect((formatNpy({ dtype: 'u8', shape, bytes: Uint8Array.of(1) }).length - 1) % 64).toBe(0);
    }
  });

  it('refuses a record whose bytes do not fit its shape', () => {
    const record = { dtype: 'f32', shape: [2, 2], bytes: new Uint8Array(15) } as const;
    expect(() => formatNpy(record)).toThrow(ArgumentError);
    expect(() => formatNpy(record)).toThrow(/\[2, 2\].*15 bytes/);
  });
});
