import { describe, expect, it } from 'vitest';
import { accuracy } from '../../src/kernel/decompose/accuracy.ts';
import { difference, exact, ulpAt } from './compare.ts';
import { caseFiles, readCases } from './files.ts';
import { type Case, type HostTensor, parseTensor } from './format.ts';
import { toleranceOf } from './tolerance.ts';

const f32 = (...values: number[]): HostTensor => ({
  dtype: 'f32',
  shape: [values.length],
  data: Float32Array.of(...values),
});

describe('comparison', () => {
  it('tells the sign of zero, infinities and NaN apart', () => {
    expect(difference(f32(0), f32(-0), exact)).toContain('expected -0');
    expect(difference(f32(Infinity), f32(-Infinity), exact)).not.toBeNull();
    expect(difference(f32(NaN), f32(0), { ulp: 1e9, absolute: 1e9 })).not.toBeNull();
    expect(difference(f32(3.4e38), f32(Infinity), { ulp: 1e9, absolute: 1e9 })).not.toBeNull();
    expect(difference(f32(NaN, -0, Infinity), f32(NaN, -0, Infinity), exact)).toBeNull();
  });

  it('counts in units of the last place of the expected value, subnormals included', () => {
    const next = 1 + 2 ** -23;
    expect(difference(f32(next), f32(1), exact)).toContain('1.00 ulp off');
    expect(difference(f32(next), f32(1), { ulp: 1, absolute: 0 })).toBeNull();
    expect(difference(f32(2 ** -149), f32(0), { ulp: 1, absolute: 0 })).toBeNull();
    expect(difference(f32(2 ** -148), f32(0), { ulp: 1, absolute: 0 })).not.toBeNull();
    expect(ulpAt('f64', 0)).toBe(2 ** -1074);
    expect(ulpAt('f16', 1)).toBe(2 ** -10);
    expect(ulpAt('bf16', 3)).toBe(2 ** -6);
  });

  it('accepts zero for a subnormal only where the device says it flushes', () => {
    expect(difference(f32(0), f32(2 ** -140), exact)).not.toBeNull();
    expect(difference(f32(0), f32(2 ** -140), { ...exact, flushes: true })).toBeNull();
    expect(difference(f32(0), f32(2 ** -120), { ...exact, flushes: true })).not.toBeNull();
  });

  it('refuses another dtype, shape or kind of array', () => {
    const i32: HostTensor = { dtype: 'i32', shape: [1], data: Int32Array.of(1) };
    expect(difference(f32(1), i32, exact)).toContain('dtype');
    expect(difference({ ...f32(1), shape: [1, 1] }, f32(1), exact)).toContain('shape');
    expect(difference({ ...f32(1), data: Float64Array.of(1) }, f32(1), exact)).toContain('Float64Array');
  });
});

describe('case data', () => {
  it('keeps the bits of every dtype', () => {
    expect(parseTensor('f16[2]:AHwBAA').data).toEqual(Float32Array.of(Infinity, 2 ** -24));
    expect(parseTensor('bf16[1]:gD8').data).toEqual(Float32Array.of(1));
    expect(parseTensor('i64[]://////////8').data).toEqual(BigInt64Array.of(-1n));
    expect(parseTensor('u8[0,3]:')).toEqual({ dtype: 'u8', shape: [0, 3], data: new Uint8Array(0) });
    expect(() => parseTensor('f32[2]:AACAPw')).toThrow('has 4 bytes');
  });

  it('holds at least 5,000 cases that all parse', () => {
    const cases = caseFiles().flatMap(readCases);
    expect(cases.length).toBeGreaterThan(5000);
    expect(cases.every((c) => (c.throws === undefined) === c.outputs.length > 0)).toBe(true);
  });
});

describe('tolerance', () => {
  const base: Case = {
    at: 'x:1',
    op: 'add',
    inputs: [],
    args: [],
    outputs: [],
    many: false,
    acc: undefined,
    throws: undefined,
  };

  it('is zero for exact ops, in ulp for functions, and follows the terms of a sum', () => {
    expect(toleranceOf(base, 'f32', {})).toMatchObject({ ulp: 0, absolute: 0 });
    expect(toleranceOf({ ...base, op: 'exp' }, 'f32', {}).ulp).toBe(accuracy.exp.f32 + 0.5);
    expect(toleranceOf({ ...base, op: 'exp' }, 'i32', {}).ulp).toBe(0);
    const sum = toleranceOf({ ...base, op: 'sum', acc: [100, 50] }, 'f16', {});
    expect(sum.absolute).toBeCloseTo(2 ** -23 * 50 * 23, 12);
    expect(toleranceOf(base, 'f32', { ulp: { add: 3 } }).ulp).toBe(3);
  });
});
