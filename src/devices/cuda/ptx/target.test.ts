import { describe, expect, it } from 'vitest';
import { chooseTarget, ptxVersionOf } from './target.ts';

describe('the target of generated PTX', () => {
  it.each([
    [11000, 70],
    [11080, 78],
    [12000, 80],
    [12050, 85],
    [12060, 85],
    [12080, 87],
    [13000, 90],
  ])('CUDA %i reads PTX up to %i', (driver, ptx) => {
    expect(ptxVersionOf(driver)).toBe(ptx);
  });

  it('is the device itself where the driver knows it', () => {
    expect(chooseTarget(90, 13000)).toEqual({ sm: 90, ptx: 78 });
    expect(chooseTarget(75, 13000)).toEqual({ sm: 75, ptx: 70 });
    expect(chooseTarget(120, 13000)).toEqual({ sm: 120, ptx: 87 });
  });

  it('is an older architecture where the driver or we do not know the device yet', () => {
    expect(chooseTarget(90, 11040)).toEqual({ sm: 87, ptx: 74 });
    expect(chooseTarget(999, 13000)!.sm).toBe(121);
  });

  it('does not exist for drivers before CUDA 11 and devices before Volta', () => {
    expect(chooseTarget(80, 10020)).toBeUndefined();
    expect(chooseTarget(61, 13000)).toBeUndefined();
  });
});
