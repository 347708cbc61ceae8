import { describe, expect, it } from 'vitest';
import fc from '../../test/support/properties.ts';
import { ShapeError } from '../errors.ts';
import {
  axesInOrder,
  broadcast,
  checkShape,
  normalizeAxes,
  normalizeAxis,
  sameShape,
  show,
  sizeOf,
  stridesOf,
} from './shape.ts';

/** The error a call throws, which must be a ShapeError. */
function shapeError(run: () => unknown): ShapeError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(ShapeError);
    return error as ShapeError;
  }
  throw new Error('did not throw');
}

describe('sizes and strides', () => {
  it('count elements, one for a scalar, none if any size is 0', () => {
    expect([sizeOf([]), sizeOf([3, 4]), sizeOf([3, 0, 4])]).toEqual([1, 12, 0]);
  });

  it('are row-major', () => {
    expect(stridesOf([2, 3, 4])).toEqual([12, 4, 1]);
    expect(stridesOf([])).toEqual([]);
  });

  it('compare by value', () => {
    expect(sameShape([2, 3], [2, 3])).toBe(true);
    expect(sameShape([2, 3], [3, 2])).toBe(false);
    expect(sameShape([2], [2, 1])).toBe(false);
    expect(show([2, 3])).toBe('[2, 3]');
  });
});

describe('checkShape', () => {
  it.each([[[-1]], [[1.5]], [[Number.NaN]], [[Number.POSITIVE_INFINITY]], [[2, 2 ** 60]]])('refuses %j', (shape) => {
    expect(shapeError(() => checkShape(shape, 'zeros')).code).toBe('BAD_SIZE');
  });

  it('refuses more elements than can be counted, but takes any shape without elements', () => {
    const error = shapeError(() => checkShape([2 ** 40, 2 ** 40], 'zeros'));
    expect(error.code).toBe('TOO_LARGE');
    expect(error.message).toContain('zeros: shape [1099511627776, 1099511627776]');
    expect(() => checkShape([0, 2 ** 40, 2], 'zeros')).not.toThrow();
    expect(() => checkShape([], 'zeros')).not.toThrow();
  });
});

describe('broadcast', () => {
  it.each([
    [[2, 3], [3], [2, 3]],
    [
      [2, 1],
      [1, 3],
      [2, 3],
    ],
    [[], [4], [4]],
    [[0], [1], [0]],
    [[1], [0], [0]],
    [
      [5, 1, 2],
      [7, 1],
      [5, 7, 2],
    ],
  ])('of %j and %j is %j, in both orders', (a, b, want) => {
    expect(broadcast(a, b, 'add')).toEqual(want);
    expect(broadcast(b, a, 'add')).toEqual(want);
  });

  it('refuses sizes that differ, naming shapes, sizes and axis', () => {
    const error = shapeError(() => broadcast([2, 3], [4, 3], 'add'));
    expect(error.code).toBe('SHAPE_MISMATCH');
    expect(error.message).toContain('add: shapes [2, 3] and [4, 3] do not broadcast: 2 against 4 on axis -2');
    expect(error.fix).not.toBe('');
    expect(shapeError(() => broadcast([0], [2], 'add')).code).toBe('SHAPE_MISMATCH');
  });
});

describe('axes', () => {
  it('count from the end when negative', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.nat(7), (rank, i) => {
        const axis = i % rank;
        expect(normalizeAxis(axis - rank, rank, 'sum')).toBe(axis);
        expect(normalizeAxis(axis, rank, 'sum')).toBe(axis);
      }),
    );
  });

  it.each([
    [2, 2],
    [-3, 2],
    [0.5, 2],
    [0, 0],
    [Number.NaN, 1],
  ])('refuse %j of rank %j', (axis, rank) => {
    const error = shapeError(() => normalizeAxis(axis, rank, 'sum'));
    expect(error.code).toBe('BAD_AXIS');
    expect(error.fix).toMatch(rank === 0 ? /no axes/ : /whole number from/);
  });

  it('come sorted; none given means all', () => {
    expect(normalizeAxes(undefined, 3, 'sum')).toEqual([0, 1, 2]);
    expect(normalizeAxes(-1, 3, 'sum')).toEqual([2]);
    expect(normalizeAxes([2, 0], 3, 'sum')).toEqual([0, 2]);
    expect(normalizeAxes([], 3, 'sum')).toEqual([]);
  });

  it('keep their order where another list goes with them', () => {
    expect(axesInOrder([2, -3], 3, 'windows')).toEqual([2, 0]);
    expect(shapeError(() => axesInOrder([2, 0, -1], 3, 'windows')).message).toContain('axis 2 is named twice');
  });

  it('may be named once only', () => {
    expect(shapeError(() => normalizeAxes([1, -2], 3, 'sum')).message).toContain('axis 1 is named twice');
  });
});
