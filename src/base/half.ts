// f16 and bf16 on the host: bit patterns to numbers and back, rounding to nearest, ties to even.

const scratch = new DataView(new ArrayBuffer(8));

/** The f32 bit pattern of a number, after rounding to f32. */
function bitsOf(value: number): number {
  scratch.setFloat32(0, value);
  return scratch.getUint32(0);
}

function fromBits(bits: number): number {
  scratch.setUint32(0, bits);
  return scratch.getFloat32(0);
}

export function f16ToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const mantissa = bits & 1023;
  if (exponent === 31) return mantissa ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}

/** Rounds once, straight from the double: going through f32 first would round twice. */
export function numberToF16(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const a = Math.abs(value);
  if (Number.isNaN(a)) return 0x7e00;
  if (a >= 65520) return sign | 0x7c00;
  if (a < 2 ** -14) return sign | roundEven(a * 2 ** 24);
  const exponent = exponentOf(a);
  // A mantissa that rounds up to 2048 carries into the exponent by itself.
  return sign | (((exponent + 15) << 10) + roundEven((a * 2 ** -exponent - 1) * 1024));
}

export const bf16ToNumber = (bits: number): number => fromBits((bits & 0xffff) * 65536);

export function numberToBf16(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0;
  // Round the double to odd in f32 first, so that the second rounding sees whether anything was below the tie.
  const f = Math.fround(value);
  let bits = bitsOf(f);
  if (f !== value && Number.isFinite(f)) {
    const tooFar = Math.abs(f) > Math.abs(value);
    if (tooFar) bits -= 1;
    bits |= 1;
  } else if (!Number.isFinite(f) && Number.isFinite(value)) {
    return value < 0 ? 0xff80 : 0x7f80;
  }
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

export const roundToF16 = (v: number): number => f16ToNumber(numberToF16(v));
export const roundToBf16 = (v: number): number => bf16ToNumber(numberToBf16(v));

function roundEven(v: number): number {
  const r = Math.round(v);
  return r - v === 0.5 && r % 2 !== 0 ? r - 1 : r;
}

function exponentOf(a: number): number {
  scratch.setFloat64(0, a);
  return ((scratch.getUint16(0) >> 4) & 0x7ff) - 1023;
}
