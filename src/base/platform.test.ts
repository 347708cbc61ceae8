import { expect, it } from 'vitest';
import { tooOld } from './platform.ts';

it('says of a Node that is too old which one is needed', () => {
  expect(tooOld('18.20.8')?.message).toBe('gpuforge needs Node 20.19 or later, and this is Node 18.20.8');
  expect(tooOld('20.19.0')).toBe(null);
  expect(tooOld('24.1.0')).toBe(null);
});
