import { expect, it } from 'vitest';
import { shortLine } from './format.ts';

it('a line of a stack trace is shortened to what finds it', () => {
  expect(shortLine('step (file:///home/me/app/src/main.ts:5:22)')).toBe('src/main.ts:5:22');
  expect(shortLine('async Runner.step (C:\\app\\src\\main.ts:5:22)')).toBe('src\\main.ts:5:22');
  expect(shortLine('file:///home/me/app/src/main.ts:5:22')).toBe('src/main.ts:5:22');
  expect(shortLine('step@https://example.com/app/main.js:5:22')).toBe('app/main.js:5:22');
  expect(shortLine('main.ts:5:22')).toBe('main.ts:5:22');
});
